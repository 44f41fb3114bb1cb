/**
 * Loads the vectors of segments that were opened from files, while the memory has room for them: searches then score
 * rows without reading them one by one. In slices of less than a millisecond.
 */
import type { VectorMemory } from "../segment/dense/vector-memory.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { LiveSegment, SegmentList } from "./segment-list.ts";

interface Loading {
  readonly entry: LiveSegment;
  /** Taken of the memory. */
  readonly bytes: number;
  readonly steps: Generator<void, boolean>;
}

export class RowLoader {
  readonly #segments: SegmentList;
  readonly #memory: VectorMemory;
  /** Their files are not on this machine. */
  readonly #absent = new WeakSet<SealedSegment>();
  #loading: Loading | null = null;

  constructor(segments: SegmentList, memory: VectorMemory) {
    this.#segments = segments;
    this.#memory = memory;
  }

  /** One slice; false: there is nothing to load, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    // What a segment that is gone had claimed was given back when it went.
    if (this.#loading !== null && !this.#segments.entries.includes(this.#loading.entry)) this.#loading = null;
    this.#loading ??= this.#next();
    if (this.#loading === null) return false;
    const { entry, bytes, steps } = this.#loading;
    const { done, value } = steps.next();
    if (done !== true) return true;
    this.#loading = null;
    if (value) return true;
    this.#memory.give(bytes);
    this.#absent.add(entry.segment as SealedSegment);
    return true;
  }

  #next(): Loading | null {
    for (const entry of this.#segments.entries) {
      const { segment } = entry;
      if (!segment.isSealed || this.#absent.has(segment)) continue;
      const dense = segment.vectors.search.segment;
      if (dense.hasRows) continue;
      const kept = this.#memory.takeRows(dense);
      if (kept !== "none") return { entry, bytes: dense.rowBytes(kept), steps: dense.loadRows(kept) };
    }
    return null;
  }
}
