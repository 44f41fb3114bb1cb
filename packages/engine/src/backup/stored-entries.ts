/** The entries of a store in a chain of backups, read without LMDB. */
import { type Entry, overlaid } from "../storage/entries.ts";
import { DamagedFile, LmdbFile } from "../storage/lmdb/lmdb-file.ts";
import { PageWalk } from "../storage/lmdb/page-walk.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { readChanges } from "./entry-changes.ts";

/** All entries in order. Throws `DamagedFile` with what is wrong with the pages of a whole store. */
export function* storedEntries({ whole, changes }: StoreParts): Generator<Entry> {
  const file = whole === null ? null : new LmdbFile(whole);
  try {
    let entries: Iterable<Entry> = file === null ? [] : wholeEntries(file);
    for (const list of changes) entries = overlaid(entries, readChanges(list));
    yield* entries;
  } finally {
    file?.close();
  }
}

function wholeEntries(file: LmdbFile): Iterable<Entry> {
  const walk = new PageWalk(file, (problem) => {
    throw new DamagedFile(problem);
  });
  return walk.entries();
}
