/**
 * How many collections may be open at once: an open LMDB environment costs three file descriptors and three maps, and each
 * segment that was opened from its file a descriptor. LMDB must never be the one to find out that there are no more.
 */
import { readFileSync } from "node:fs";
import type { LiveSegment } from "../index/segment-list.ts";
import { keptBytes } from "../storage/files/index-memory.ts";

const MOST_OPEN = 1_000;
/** Share of the descriptors that stores may use up. */
const DESCRIPTORS_PER_STORE = 8;
/** Where the limit cannot be read: the default of most systems. */
const DEFAULT_DESCRIPTORS = 1_024;

/** Of an LMDB environment. */
const STORE_DESCRIPTORS = 3;

export interface OpenLimits {
  readonly maxOpen: number;
  /** That the open collections may take together, but for the one that is opened last. */
  readonly maxDescriptors: number;
}

/** What the process has back once the collection is closed. */
export interface HeldByCollection {
  readonly descriptors: number;
  readonly unsealedBytes: number;
  /** Of sealed segments, but for parts of files, which make room by themselves. */
  readonly sealedBytes: number;
  /** Of these, vectors that files have. */
  readonly vectorBytes: number;
  /** Of these, what is in no file yet. */
  readonly unfiledBytes: number;
}

/** Of what the process may have, unless others are given. Half is left for what is being opened and written. */
export function openLimits(given: {
  readonly maxOpenCollections?: number;
  readonly maxDescriptors?: number;
}): OpenLimits {
  const limit = descriptorLimit();
  const stores = Math.max(1, Math.min(MOST_OPEN, Math.floor(limit / DESCRIPTORS_PER_STORE)));
  const { maxOpenCollections = stores, maxDescriptors = Math.floor(limit / 2) } = given;
  return { maxOpen: maxOpenCollections, maxDescriptors };
}

/** By an open collection with these segments. A store that shares an environment holds no descriptor. */
export function heldBy(segments: readonly LiveSegment[], isShared: boolean): HeldByCollection {
  const held = {
    ...{ descriptors: (isShared ? 0 : STORE_DESCRIPTORS) + segments.length },
    ...{ unsealedBytes: 0, sealedBytes: 0, vectorBytes: 0, unfiledBytes: 0 },
  };
  for (const { segment } of segments) {
    if (segment.isSealed) {
      const { taken } = segment.memory;
      held.sealedBytes += keptBytes(taken);
      held.vectorBytes += taken.vectors;
      held.unfiledBytes += taken.unfiled;
    } else held.unsealedBytes += segment.memoryBytes;
  }
  return held;
}

function descriptorLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit === "unlimited") return Number.POSITIVE_INFINITY;
    return limit === undefined ? DEFAULT_DESCRIPTORS : Number(limit);
  } catch {
    // Not Linux.
    return DEFAULT_DESCRIPTORS;
  }
}
