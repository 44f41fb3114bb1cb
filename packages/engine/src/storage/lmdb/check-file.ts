/**
 * Looks at a data file before LMDB does: a file whose meta pages are damaged ends the process that opens it. Its other
 * pages are only gone through where there is reason to, for that takes about as long as reading all of it.
 */
import { statSync } from "node:fs";
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
  if (found.isFile() && found.size === 0) return;
  try {
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
