/** The entries of a store in a chain of backups, read without LMDB. */
import { type Entry, overlaid } from "../storage/entries.ts";
import { DamagedFile, LmdbFile } from "../storage/lmdb/lmdb-file.ts";
import { PageWalk } from "../storage/lmdb/page-walk.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { readChanges } from "./entry-changes.ts";

/** All entries in order. Throws `DamagedFile` with what is wrong with the pages of the whole store. */
export function* storedEntries({ whole, changes }: StoreParts): Generator<Entry> {
  const file = new LmdbFile(whole);
  try {
    const walk = new PageWalk(file, (problem) => {
      throw new DamagedFile(problem);
    });
    let entries: Iterable<Entry> = walk.entries();
    for (const path of changes) entries = overlaid(entries, readChanges(path));
    yield* entries;
  } finally {
    file.close();
  }
}
