/**
 * Looks at a data file before LMDB does: a file whose meta pages are damaged ends the process that opens it. Its other
 * pages are only gone through where there is reason to, for that takes about as long as reading all of it.
 */
import { statSync } from "node:fs";
import { damagedStore } from "../corrupt-data-error.ts";
import { DamagedFile, LmdbFile } from "./lmdb-file.ts";
import { checkPages } from "./page-walk.ts";

/**
 * Throws `collection_unavailable` naming `store`. An empty file is left to LMDB, which makes a new one of it.
 * @param thorough Whether to go through all pages in any case.
 */
export function checkFile(path: string, store: string, thorough: boolean): void {
  if (statSync(path).size === 0) return;
  try {
    const file = new LmdbFile(path);
    try {
      // Free pages at the end may be missing, so a short file is not always a damaged one.
      if (thorough || file.pages <= file.meta.lastPage) checkPages(file);
    } finally {
      file.close();
    }
  } catch (error) {
    throw error instanceof DamagedFile ? damagedStore(store, error.message, error) : error;
  }
}
