/** Reads a whole environment the way a server would. LMDB ends the process where it meets what it does not expect. */
import { LmdbEnvironment } from "../storage/lmdb-environment.ts";
import { createDiskSpace } from "../storage/disk-space.ts";
import { describe } from "./finding.ts";

const EVERYTHING = { start: Uint8Array.of(0x00), end: Uint8Array.of(0xff) };

/** What is wrong; `null`: every entry came. */
export async function proveEnvironment(folder: string, name: string): Promise<string | null> {
  try {
    const environment = new LmdbEnvironment({ folder, name, disk: createDiskSpace(folder), readOnly: true });
    try {
      // LMDB's own walk, entry by entry: `count` may be answered from what the pages say.
      const found = environment.iterate(EVERYTHING);
      let entries = 0;
      while (found.next().done !== true) entries += 1;
      const { entryCount } = environment;
      return entries === entryCount ? null : `${entries} of ${entryCount} entries come`;
    } finally {
      await environment.close();
    }
  } catch (error) {
    return describe(error);
  }
}
