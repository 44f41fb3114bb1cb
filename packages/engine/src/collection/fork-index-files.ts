/**
 * Gives a fork the index files of its source: the files that the newest manifest names, which never change, under a second
 * name each, and a manifest of the fork's own. Before the records are copied, so that the copy is not behind the manifest.
 *
 * Until that manifest is there the links are files that no manifest names; until the fork is in the catalog, its folder is
 * one that nobody knows. Without files the fork's index is made of its records.
 */
import type { CancelSignal } from "@sheaf/protocol";
import type { FolderFiles } from "../storage/files/folder-files.ts";
import { type Manifest, installManifest, readManifest } from "../storage/files/manifest.ts";

export interface ForkedFiles {
  readonly from: FolderFiles;
  readonly to: FolderFiles;
  /** UUIDs of the logs of source and fork. */
  readonly lineage: string;
  readonly forkLineage: string;
}

/** The source may replace its files at any time: then those of its next manifest are taken, and what is lost of that is. */
const MOST_TRIES = 5;

/** `false`: the source has no files that the fork could have. */
export async function forkIndexFiles(
  { from, to, lineage, forkLineage }: ForkedFiles,
  signal: CancelSignal | undefined,
): Promise<boolean> {
  let before = -1;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { manifest } = await readManifest(from, { signal });
    if (manifest === null || manifest.lineage !== lineage) return false;
    const isWhole = await linkAll(manifest, { from, to });
    // A file goes after a newer manifest is there, or because it was damaged: then the fork lacks it, too.
    const isLost = !isWhole && manifest.n === before;
    before = manifest.n;
    if (!isWhole && !isLost) continue;
    await installManifest(to, { ...manifest, n: 0, lineage: forkLineage });
    return true;
  }
  return false;
}

/** All there are; `false`: one has gone. */
async function linkAll(
  { segments, deadRows }: Manifest,
  { from, to }: Pick<ForkedFiles, "from" | "to">,
): Promise<boolean> {
  let isWhole = true;
  for (const { name } of deadRows === null ? segments : [...segments, deadRows])
    if (!(await to.take(from, name))) isWhole = false;
  return isWhole;
}
