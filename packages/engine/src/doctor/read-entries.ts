/** All entries of a data file that can be reached without LMDB, and what is wrong with its pages. */
import type { Entry } from "../storage/entries.ts";
import { DamagedFile, LmdbFile } from "../storage/lmdb/lmdb-file.ts";
import { PageWalk } from "../storage/lmdb/page-walk.ts";

/** Calls `visit` for each entry in order; returns what is wrong with the pages. */
export function readEntries(path: string, visit: (entry: Entry) => void): readonly string[] {
  const problems: string[] = [];
  let file: LmdbFile;
  try {
    file = new LmdbFile(path, (problem) => problems.push(problem));
  } catch (error) {
    if (error instanceof DamagedFile) return [...problems, error.message];
    throw error;
  }
  try {
    const walk = new PageWalk(file, (problem) => problems.push(problem));
    for (const entry of walk.entries()) visit(entry);
    walk.checkFreePages();
  } finally {
    file.close();
  }
  return problems;
}
