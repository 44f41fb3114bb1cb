/**
 * When a collection was purged last, and the state of its store then. Without a mark, or with one that cannot be read, the
 * age of the store counts: what is in it cannot be older.
 */
import { existsSync, lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { DataFolder } from "../../storage/folder/data-folder.ts";

export interface PurgeMark {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Of the store's head; 0: never purged. */
  readonly sequence: number;
  readonly nextOffset: number;
  /** Ids of the records that operations up to this one removed are gone, too. */
  readonly forgotten: number;
}

export function readPurgeMark(folder: DataFolder, id: string): PurgeMark {
  try {
    const value: unknown = JSON.parse(readFileSync(folder.purgeMark(id), "utf8"));
    if (isMark(value)) return value;
  } catch {
    // Not there, or not written to its end.
  }
  const { birthtimeMs = 0 } = statSync(folder.collectionFile(id), { throwIfNoEntry: false }) ?? {};
  return { at: birthtimeMs, sequence: 0, nextOffset: 0, forgotten: 0 };
}

export function writePurgeMark(folder: DataFolder, id: string, mark: PurgeMark): void {
  const path = folder.purgeMark(id);
  removeFolder(`${path}.new`);
  writeFileSync(`${path}.new`, JSON.stringify(mark));
  removeFolder(path);
  renameSync(`${path}.new`, path);
}

/** A fork has what its source has, also of what was deleted there, which is as old. One of nothing has nothing. */
export function copyPurgeMark(folder: DataFolder, from: string, to: string): void {
  if (existsSync(folder.collection(to))) writePurgeMark(folder, to, readPurgeMark(folder, from));
}

/** One that lies in the place of a file would be in its way for ever. */
function removeFolder(path: string): void {
  const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) rmSync(path, { recursive: true });
}

/** Records were only added since: each has an offset of its own, and nothing was replaced or removed. */
export function hasOnlyAdded(
  { sequence, nextOffset }: PurgeMark,
  now: Pick<PurgeMark, "sequence" | "nextOffset">,
): boolean {
  return now.sequence - sequence === now.nextOffset - nextOffset;
}

function isMark(value: unknown): value is PurgeMark {
  if (typeof value !== "object" || value === null) return false;
  const { at, sequence, nextOffset, forgotten } = value as Record<keyof PurgeMark, unknown>;
  return [at, sequence, nextOffset, forgotten].every((field) => Number.isFinite(field));
}
