/** Reads a whole environment the way a server would. LMDB ends the process where it meets what it does not expect. */
import { EVERY_KEY } from "../storage/lmdb/key-range.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { damagedStore } from "../storage/corrupt-data-error.ts";

/**
 * Throws `collection_unavailable` unless every entry comes; gives how many there are.
 * @param thorough Whether to go through all pages first.
 */
export async function proveEnvironment(folder: string, name: string, thorough: boolean): Promise<number> {
  const disk = createDiskSpace(folder);
  const environment = new LmdbEnvironment({ folder, name, disk, thorough, readOnly: true });
  try {
    // LMDB's own walk, entry by entry: `count` may be answered from what the pages say.
    const found = environment.iterate(EVERY_KEY);
    let entries = 0;
    while (found.next().done !== true) entries += 1;
    const {
      whole: { entryCount },
    } = environment;
    if (entries !== entryCount) throw damagedStore(name, `${entries} of ${entryCount} entries come`);
    return entries;
  } finally {
    await environment.close();
  }
}
