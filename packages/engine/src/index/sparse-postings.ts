/**
 * The sparse vectors of one key within one segment, by term. While the segment fills, the newest of them wait in a
 * tail and the others are packed; from time to time the tail is packed with them. Once the segment is full its lists
 * move, with those of other segments, to larger blocks (see `SparseBlocks`).
 */
import type { SparseVector } from "@sheaf/protocol";
import type { MergeSource } from "./merge-lists.ts";
import { vectorsOf } from "./posting-lists.ts";
import { SparseBlock } from "./sparse-block.ts";
import { SparseTail } from "./sparse-tail.ts";

/** Postings of a tail that a search walks in some microseconds. */
const MIN_TAIL = 8_192;
/** A tail may become so large beside what is packed: a search walks it, a packing copies what is packed. */
const MAX_TAIL_SHARE = 1 / 4;
/** Of the longest vectors so many wait at least: packed after every few, all would be copied again and again. */
const LONG_VECTORS = 64;
const LONG_VECTOR = 2_048;

export class SparsePostings {
  #block: SparseBlock | null = null;
  #slot = 0;
  #tail = new SparseTail();
  readonly #minTail: number;

  /** `minTail`: postings that are not packed yet, at least; small for tests. */
  constructor(minTail = MIN_TAIL) {
    this.#minTail = minTail;
  }

  /** Packed lists, in slot `slot`. */
  get block(): SparseBlock | null {
    return this.#block;
  }

  get slot(): number {
    return this.#slot;
  }

  /** Rows that are not packed. */
  get tail(): SparseTail {
    return this.#tail;
  }

  /** `row` is larger than every row before. */
  add(row: number, vector: SparseVector): void {
    this.#tail.add(row, vector);
    const packed = this.#block?.values ?? 0;
    const least = vector.indices.length < LONG_VECTOR ? this.#minTail : LONG_VECTORS * vector.indices.length;
    if (this.#tail.postings >= Math.max(least, packed * MAX_TAIL_SHARE)) this.#pack();
  }

  /** Nothing is added afterwards. */
  seal(): void {
    if (this.#tail.postings > 0) this.#pack();
  }

  /** The same lists are in another block now. */
  moveTo(block: SparseBlock, slot: number): void {
    this.#block = block;
    this.#slot = slot;
  }

  /** After `seal`: the vectors of the wanted rows, by row. */
  vectors(wanted: Uint32Array): Map<number, SparseVector> {
    return this.#block === null ? new Map() : vectorsOf(this.#block.lists, this.#slot, wanted);
  }

  #pack(): void {
    const sources: MergeSource[] = [{ lists: this.#tail.pack(), slots: [0] }];
    if (this.#block !== null) sources.unshift({ lists: this.#block.lists, slots: [0] });
    const merge = SparseBlock.merge(sources);
    let step = merge.next();
    while (step.done !== true) step = merge.next();
    this.#block?.close();
    this.#block = step.value;
    this.#tail = new SparseTail();
  }
}
