import type { DenseSegment } from "./dense-segment.ts";
import type { RowsKept } from "./segment-layout.ts";

/**
 * How much memory the indexes of a process may spend on vectors of sealed segments. Whoever comes first gets it: a
 * segment for which there is none reads its rows from its file, or from the store.
 */
export class VectorMemory {
  readonly #limit: number;
  #used = 0;

  /** `limit`: in bytes. */
  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes as much of the limit as there is room for; says how much of the segment's vectors that is. */
  takeRows(segment: DenseSegment): RowsKept {
    const { readable } = segment;
    // Bits beyond bf16 spare a few reads, bf16 spares far more: half is left to it.
    if (readable === "whole" && this.take(segment.rowBytes("whole"), 0.5)) return "whole";
    return readable !== "none" && this.take(segment.rowBytes("bf16")) ? "bf16" : "none";
  }

  /** `false`: there is not so much left of that share of the limit. */
  take(bytes: number, share = 1): boolean {
    if (this.#used + bytes > this.#limit * share) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
