/** Removes one snapshot from the cache and the blobs that no other one refers to. */
import { readdir, readFile, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../graph/model-file.ts";
import type { RepositoryCache } from "./hub-cache.ts";
import { filesOf, realTarget } from "./verify-files.ts";

export interface RemovedSnapshot {
  readonly commit: string;
  readonly freedBytes: number;
}

export async function removeSnapshot(cache: RepositoryCache, commit: string): Promise<RemovedSnapshot> {
  const doomed = await blobsOf(cache, cache.snapshot(commit));
  for (const other of await namesIn(cache.snapshots)) {
    if (other === commit) continue;
    for (const blob of await blobsOf(cache, cache.snapshot(other))) doomed.delete(blob);
  }
  // Refs first: without them the model counts as absent, whatever is left by an interruption.
  for (const name of await namesIn(cache.refs)) {
    const ref = join(cache.refs, name);
    if ((await readFile(ref, "utf8").catch(() => "")).trim() === commit) await rm(ref);
  }
  await rm(cache.snapshot(commit), { recursive: true, force: true });
  let freedBytes = 0;
  for (const blob of doomed) {
    freedBytes += (await stat(blob)).size;
    await rm(blob);
  }
  for (const name of await namesIn(cache.blobs)) {
    if (name.endsWith(".incomplete")) await rm(join(cache.blobs, name));
  }
  for (const folder of [cache.blobs, cache.snapshots, cache.refs, cache.folder]) await removeIfEmpty(folder);
  return { commit, freedBytes };
}

async function blobsOf(cache: RepositoryCache, snapshot: string): Promise<Set<string>> {
  const targets = await Promise.all(
    (await filesIn(snapshot)).map((file) => realTarget(join(snapshot, file))),
  );
  const blobs = await realTarget(cache.blobs);
  return new Set(targets.filter((target) => target !== null && dirname(target) === blobs) as string[]);
}

function filesIn(folder: string): Promise<readonly string[]> {
  return orNone(filesOf(folder));
}

function namesIn(folder: string): Promise<readonly string[]> {
  return orNone(readdir(folder));
}

async function orNone(names: Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await names;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (errorCode(error) !== "ENOTEMPTY" && errorCode(error) !== "ENOENT") throw error;
  }
}
