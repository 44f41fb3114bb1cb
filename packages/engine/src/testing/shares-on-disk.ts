/** Which shares of environments have entries, as they lie in a data folder that nobody uses. */
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { EVERY_KEY } from "../storage/lmdb/key-range.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { SHARE_ID_BYTES } from "../storage/lmdb/shared-space.ts";
import { sharedNames } from "../storage/folder/shared-names.ts";

/** Ids in hexadecimal. */
export async function sharesOnDisk(dataFolder: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const name of sharedNames()) {
    const folder = join(dataFolder, name);
    if (!LmdbEnvironment.exists(folder)) continue;
    const disk = createDiskSpace(dataFolder);
    const environment = new LmdbEnvironment({ folder, name, disk, readOnly: true });
    for (const { key } of environment.iterate(EVERY_KEY))
      ids.add(Buffer.from(key.subarray(0, SHARE_ID_BYTES)).toString("hex"));
    await environment.close();
  }
  return ids;
}

export function hexOf({ id }: CollectionRef): string {
  return id.replaceAll("-", "");
}
