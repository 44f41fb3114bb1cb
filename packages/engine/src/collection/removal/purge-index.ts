/** Removes for good what died in the files of a collection's index. */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CancelSignal } from "@sheaf/protocol";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { CollectionPool } from "../collection-pool.ts";

export interface IndexPurge {
  readonly folder: DataFolder;
  readonly pool: Pick<CollectionPool, "use">;
  /** Damaged files that were set aside longer ago are removed: nothing dies in them any more. */
  readonly quarantineMs: number;
}

/** Returns up to which operation an opening needs no changes. */
export async function purgeIndex(
  id: string,
  { folder, pool, quarantineMs }: IndexPurge,
  signal: CancelSignal,
): Promise<number> {
  if (!existsSync(folder.collectionIndex(id))) return Infinity;
  await removeQuarantined(join(folder.collectionIndex(id), "quarantine"), quarantineMs);
  return pool.use(id, signal, async ({ keeper }, aborted) => (await keeper?.purge(aborted)) ?? Infinity);
}

async function removeQuarantined(path: string, olderThanMs: number): Promise<void> {
  for (const name of await readdir(path).catch(() => [])) {
    const { ctimeMs } = await stat(join(path, name));
    if (Date.now() - ctimeMs >= olderThanMs) await rm(join(path, name));
  }
}
