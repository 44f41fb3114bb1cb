/**
 * Bounds what an archive takes: a segment goes when all of it is older than the archive is kept for, and the newest backup of
 * before that time needs none of it. Where no backup was made, it goes after twice that time.
 */
import { rmSync, statSync } from "node:fs";
import type { BaseBody } from "./archive-entries.ts";
import { listSegments } from "./archive-format.ts";

export interface RetentionSettings {
  readonly folder: string;
  readonly keepMs: number;
}

/** `bases`: backups, in the order in which they were made. Gives the position that the archive begins with now; `null`: it is empty. */
export function removeOldSegments(
  { folder, keepMs }: RetentionSettings,
  bases: readonly BaseBody[],
): number | null {
  const segments = listSegments(folder);
  const now = Date.now();
  const base = bases.findLast(({ finished }) => finished < now - keepMs);
  // The last one is being written.
  for (const [i, { path, first }] of segments.slice(0, -1).entries()) {
    const next = segments[i + 1]!;
    const age = now - statSync(path).mtimeMs;
    const isNeeded = base === undefined ? age < 2 * keepMs : next.first > base.from + 1 && age < 2 * keepMs;
    if (age < keepMs || isNeeded) return first;
    rmSync(path);
  }
  return segments.at(-1)?.first ?? null;
}
