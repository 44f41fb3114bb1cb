/** Makes a store of what a chain of backups has of it: a whole one, and what has changed since. */
import { mkdirSync } from "node:fs";
import { copyFile as copyPlainFile } from "node:fs/promises";
import { join } from "node:path";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { syncFile, syncFolders } from "../storage/folder/sync-files.ts";
import type { EntryWrite } from "../storage/entries.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { readChanges } from "./entry-changes.ts";

/** Of changes that go into one commit. */
const COMMIT_BYTES = 16 * 2 ** 20;

/** Makes a store in a folder that has none. It is on disk when this resolves. */
export async function restoreStore(
  { whole, changes }: StoreParts,
  folder: string,
  name: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "data.mdb");
  if (whole !== null) await copyPlainFile(whole, path);
  if (changes.length > 0) {
    const environment = new LmdbEnvironment({ folder, name, disk: createDiskSpace(folder) });
    try {
      for (const list of changes) await apply(environment, readChanges(list));
    } finally {
      await environment.close();
    }
  }
  await syncFile(path);
  syncFolders(folder);
}

async function apply(environment: LmdbEnvironment, changes: Iterable<EntryWrite>): Promise<void> {
  let batch: EntryWrite[] = [];
  let bytes = 0;
  const commit = (): Promise<void> =>
    environment.transact(() => {
      for (const { key, value } of batch) {
        if (value === null) environment.remove(key);
        else environment.put(key, value);
      }
    });
  for (const change of changes) {
    batch.push(change);
    bytes += change.key.length + (change.value?.length ?? 0);
    if (bytes < COMMIT_BYTES) continue;
    await commit();
    [batch, bytes] = [[], 0];
  }
  await commit();
}
