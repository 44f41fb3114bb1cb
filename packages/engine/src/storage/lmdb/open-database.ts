/** Opens the one database of an LMDB environment, with binary keys and values, as all of Sheaf's are. */
import { renameSync } from "node:fs";
import { basename, extname, join } from "node:path";
import * as lmdb from "lmdb";
import { type RootDatabase, open } from "lmdb";
import { replaceStore } from "../folder/replace-store.ts";

export type BinaryDatabase = RootDatabase<Uint8Array, Uint8Array>;

/** More than there ever are: lmdb-js makes whoever has described a batch too far ahead of its thread wait. */
const MOST_IN_A_BATCH = 2 ** 30;

export function openDatabase(folder: string, readOnly = false): BinaryDatabase {
  return open<Uint8Array, Uint8Array>({
    path: folder,
    noSubdir: false,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 1,
    // With the default a resolved commit is visible but not yet on disk.
    overlappingSync: false,
    eventTurnBatching: false,
    // Its types leave this out.
    ...({ batchStartThreshold: MOST_IN_A_BATCH } as object),
    readOnly,
  });
}

/**
 * Opens a copy and puts it in the place of an environment that may be open in this process, and in no other. Whoever has that
 * one open goes on with the former file, and must not write to it any more.
 */
export async function openInPlace(staged: string, folder: string): Promise<BinaryDatabase> {
  const database = openDatabase(staged);
  forgetDatabase(staged, database);
  try {
    replaceStore(staged, folder);
  } catch (error) {
    await database.close();
    throw error;
  }
  // Each file goes with its own table of readers.
  renameSync(join(staged, "lock.mdb"), join(folder, "lock.mdb"));
  return database;
}

/** An empty one where there is none. */
export function greatestKey(database: BinaryDatabase): Uint8Array {
  for (const key of database.getKeys({ reverse: true, limit: 1 })) return key;
  return new Uint8Array();
}

/**
 * lmdb-js keeps every database that it has ever opened in a map of its own, which its types leave out. To be called once the
 * database of the folder is closed.
 */
export function forgetDatabase(folder: string, database: unknown): void {
  const { allDbs } = lmdb as unknown as { readonly allDbs: Map<string, unknown> };
  const name = basename(folder, extname(folder));
  if (allDbs.get(name) === database) allDbs.delete(name);
}
