/** The entries of a store in a chain of backups, read without LMDB. */
import type { Entry } from "../storage/lmdb/lmdb-environment.ts";
import { DamagedFile, LmdbFile } from "../storage/lmdb/lmdb-file.ts";
import { PageWalk } from "../storage/lmdb/page-walk.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { changed, readChanges } from "./entry-changes.ts";

/** All entries in order. Throws `DamagedFile` with what is wrong with the pages of the whole store. */
export function* storedEntries({ whole, changes }: StoreParts): Generator<Entry> {
  const file = new LmdbFile(whole);
  try {
    const walk = new PageWalk(file, (problem) => {
      throw new DamagedFile(problem);
    });
    let entries: Iterable<Entry> = walk.entries();
    for (const path of changes) entries = changed(entries, readChanges(path));
    yield* entries;
  } finally {
    file.close();
  }
}
