/** Removes for good what died in the files of a collection's index. */
import { existsSync, lstatSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CancelSignal } from "@sheaf/protocol";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { CollectionPool } from "../collection-pool.ts";

export interface IndexPurge {
  readonly folder: DataFolder;
  readonly pool: Pick<CollectionPool, "use">;
}

/** Returns up to which operation an opening needs no changes. */
export async function purgeIndex(
  id: string,
  { folder, pool }: IndexPurge,
  signal: CancelSignal,
): Promise<number> {
  if (!existsSync(folder.collectionIndex(id))) return Infinity;
  return pool.use(id, signal, async ({ keeper }, aborted) => (await keeper?.purge(aborted)) ?? Infinity);
}

/**
 * Removes damaged files that were set aside so long ago, whether or not anything died in the collection since: they may hold
 * what was deleted before or after. Whatever lies there goes: links themselves, and folders with all that is in them. Throws
 * once it has tried all of them.
 */
export async function removeQuarantined(index: string, olderThanMs: number): Promise<void> {
  const path = join(index, "quarantine");
  if (!existsSync(path)) return;
  const problems: unknown[] = [];
  for (const name of await readdir(path)) {
    try {
      // Of many, the oldest go when another is set aside.
      const { ctimeMs = Infinity } = lstatSync(join(path, name), { throwIfNoEntry: false }) ?? {};
      if (Date.now() - ctimeMs >= olderThanMs) await rm(join(path, name), { recursive: true, force: true });
    } catch (error) {
      problems.push(error);
    }
  }
  if (problems.length > 0) throw problems[0];
}
