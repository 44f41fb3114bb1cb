/**
 * Where the rows of each segment begin among the positions of a snapshot: position = base of the segment + row in it.
 * Bases are multiples of `BLOCK_DOCS`, so that the segment of a position is found in a table.
 */
import assert from "node:assert/strict";
import { BLOCK_DOCS } from "../segment/block-docs.ts";

export class DocBases {
  readonly segments: number;
  /** By segment, and at the end how many positions there are. */
  readonly #bases: Uint32Array;
  /** By block of positions. */
  readonly #segmentOfBlock: Uint16Array;

  /** `capacities`: the most rows that each segment may have. */
  constructor(capacities: readonly number[]) {
    assert(capacities.length < 2 ** 16, "a snapshot has too many segments");
    this.segments = capacities.length;
    this.#bases = new Uint32Array(capacities.length + 1);
    capacities.forEach((rows, segment) => {
      this.#bases[segment + 1] = this.#bases[segment]! + Math.ceil(rows / BLOCK_DOCS) * BLOCK_DOCS;
    });
    this.#segmentOfBlock = new Uint16Array(this.positions / BLOCK_DOCS);
    for (let segment = 0; segment < capacities.length; segment++) {
      this.#segmentOfBlock.fill(segment, this.of(segment) / BLOCK_DOCS, this.of(segment + 1) / BLOCK_DOCS);
    }
  }

  /** Positions in all, those of no row included. */
  get positions(): number {
    return this.of(this.segments);
  }

  /** Position of a segment's row 0. */
  of(segment: number): number {
    return this.#bases[segment]!;
  }

  segmentOf(position: number): number {
    return this.#segmentOfBlock[Math.floor(position / BLOCK_DOCS)]!;
  }
}
