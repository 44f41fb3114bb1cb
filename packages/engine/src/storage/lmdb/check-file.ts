/**
 * Looks at a data file before LMDB does: a file whose meta pages are damaged ends the process that opens it. Its other
 * pages are only gone through where there is reason to, for that takes about as long as reading all of it.
 */
import { lstatSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { damagedStore } from "../corrupt-data-error.ts";
import type { Entry } from "../entries.ts";
import { DamagedFile, LmdbFile } from "./lmdb-file.ts";
import { checkPages } from "./page-walk.ts";

export type EntryCheck = (entry: Entry) => void;

/**
 * Throws `collection_unavailable` naming `store`. An empty file is left to LMDB, which makes a new one of it.
 * @param thorough Whether to go through all pages in any case; a function is given each entry then, and may throw.
 */
export function checkFile(path: string, store: string, thorough: boolean | EntryCheck): void {
  const found = statSync(path);
  try {
    requireLockFile(join(dirname(path), "lock.mdb"));
    if (found.isFile() && found.size === 0) return;
    const file = new LmdbFile(path);
    try {
      // Free pages at the end may be missing, so a short file is not always a damaged one.
      if (thorough !== false || file.pages <= file.meta.lastPage)
        checkPages(file, typeof thorough === "function" ? thorough : () => {});
    } finally {
      file.close();
    }
  } catch (error) {
    throw error instanceof DamagedFile ? damagedStore(store, error.message, error) : error;
  }
}

/** Where something else lies in its place, LMDB ends the process. It makes one where there is none. */
function requireLockFile(path: string): void {
  const place = lstatSync(path, { throwIfNoEntry: false });
  if (place === undefined || place.isFile()) return;
  if (!place.isSymbolicLink() || !leadsToFile(path))
    throw new DamagedFile(`${path} is no file, and has to be removed`);
}

function leadsToFile(link: string): boolean {
  try {
    return statSync(link).isFile();
  } catch {
    return false;
  }
}
