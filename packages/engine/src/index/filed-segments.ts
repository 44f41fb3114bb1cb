/**
 * Sealed segments that have a file and are in memory all the same. Memory of kernels cannot be given back in parts, so a
 * segment that is to have less of it is opened anew from its file, and takes its own place.
 */
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { AwaitedSegment } from "./sealing.ts";
import type { LiveSegment } from "./segment-list.ts";

/** Where the files of an index are. */
export interface FiledSegments {
  /** Opens a segment from its file, with another number; `null`: it has none that could be read now. */
  reopen(segment: SealedSegment, nextId: () => number): AwaitedSegment | null;
  /** Files are being written. */
  isWriting(): boolean;
}

export interface FiledEntry {
  readonly entry: LiveSegment;
  readonly segment: SealedSegment;
}

/**
 * What is to be opened anew: where the memory is short, what has most of vectors and magnitudes in it; else what has no vectors,
 * for only the records have them then, and the file is faster. In that order; one of them may have no file yet.
 */
export function reopened(entries: readonly LiveSegment[], memory: IndexMemory): readonly FiledEntry[] {
  const { isShort } = memory;
  const found = entries.flatMap((entry) => {
    const { segment, liveCount } = entry;
    if (!segment.isSealed || liveCount === 0) return [];
    const dense = segment.vectors.search.segment;
    // Magnitudes of those that have vectors go with these.
    const loaded = dense.source !== null && dense.hasMagnitudes ? dense.magnitudeBytes : 0;
    const bytes = dense.rowBytes(dense.kept) + loaded;
    const isUnread = dense.readable === "none" && dense.source === null;
    return (isShort && bytes > 0) || isUnread ? [{ entry, segment, bytes }] : [];
  });
  return found.toSorted((a, b) => b.bytes - a.bytes);
}
