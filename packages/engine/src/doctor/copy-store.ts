/** A copy of one environment without what was removed, proven to hold the same, for `compactFolder`. Runs in the inspection process. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { damagedStore } from "../storage/corrupt-data-error.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { copyEntries } from "../storage/lmdb/copy-entries.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { proveEnvironment } from "./prove-environment.ts";

export interface StoreCopy {
  readonly folder: string;
  /** Path inside the data folder, for messages. */
  readonly name: string;
  /** A folder that does not exist yet. */
  readonly to: string;
}

export interface CopiedStore {
  /** Sizes of the files. */
  readonly before: number;
  readonly after: number;
}

/** Throws `collection_unavailable` where the store is damaged, `storage_full` without room for the copy. */
export async function copyStore({ folder, name, to }: StoreCopy): Promise<CopiedStore> {
  // The copy is what makes room, so it may use the reserve.
  const disk = createDiskSpace(folder, { diskReserve: 0 });
  const environment = new LmdbEnvironment({ folder, name, disk, thorough: true, readOnly: true });
  let entries: number;
  try {
    entries = environment.whole.entryCount;
    await copyInto(to, environment);
  } finally {
    await environment.close();
  }
  const copied = await proveEnvironment(to, `the copy of ${name}`, true);
  if (copied !== entries) throw damagedStore(name, `${copied} of ${entries} entries were copied`);
  const size = (path: string): number => statSync(join(path, "data.mdb")).size;
  return { before: size(folder), after: size(to) };
}

/** Entry by entry: in a copy of pages, keys of removed entries stay where they once divided two of them. */
async function copyInto(folder: string, environment: LmdbEnvironment): Promise<void> {
  const copy = new LmdbEnvironment({ folder, name: "the copy", disk: environment.disk });
  try {
    await copyEntries(environment, copy);
  } finally {
    await copy.close();
  }
}
