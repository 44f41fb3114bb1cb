/**
 * Where one thread adds up the dot products of a sparse query with the rows of a block, beside the block's lists in
 * its memory. All searches of a thread share it: whoever waits between `add` and `collect` takes the sums out meanwhile.
 *
 * A dot product is defined as the f32 sum, in ascending order of term, of products rounded to f32. A row that shares
 * no term with the query holds -0, which no addition can produce; distances are 1 - sum. Where values are term
 * frequencies, what is multiplied is `v / (v + (floor + slope * length))`, each operation rounded to f32, with 0 for a v
 * below 0.
 */
import assert from "node:assert/strict";
import { type ArgumentBlock, blockBytes, setFields } from "../../kernels/argument-block.ts";
import { CANDIDATES, POSTINGS, SUMS } from "../../kernels/argument-layouts.generated.ts";
import { type KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";
import type { Saturation } from "./document-length.ts";
import type { PostingLists } from "./posting-lists.ts";

/** Terms of a query that one call takes: at most 4 million postings, some milliseconds. */
export const TERMS_PER_CALL = 64;
/** Rows that one call collects. */
const ROWS_PER_CALL = 4_096;

/** Terms with their weights, `TERMS_PER_CALL` at most, ascending. */
export interface WeightedTerms {
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
  /** Values are term frequencies, and lists have lengths; `null`: they are multiplied as they are. */
  readonly saturation: Saturation | null;
}

const NO_SATURATION: Saturation = { floor: 0, slope: 0 };

/** What a new `SparseSums` takes of a memory. */
export function sumsBytes(rowCount: number): number {
  const blocks = [POSTINGS, SUMS, CANDIDATES].map((layout) => blockBytes(layout) / 4);
  const terms = [TERMS_PER_CALL, TERMS_PER_CALL, TERMS_PER_CALL];
  const rows = [rowCount / 32, rowCount, ROWS_PER_CALL, ROWS_PER_CALL];
  return [...blocks, ...terms, ...rows].reduce((bytes, words) => bytes + allocationBytes(4 * words), 0);
}

/** What a search still takes. */
interface TakenRows {
  readonly k: number;
  /** Distance beyond which no row gets in; NaN while every row does. */
  readonly bound: number;
}

export class SparseSums {
  readonly #memory: KernelMemory;
  readonly #rows: number;
  readonly #postings: ArgumentBlock<typeof POSTINGS>;
  readonly #collected: ArgumentBlock<typeof SUMS>;
  readonly #best: ArgumentBlock<typeof CANDIDATES>;
  readonly #terms: Uint32Array;
  readonly #weights: Float32Array;
  /** Address of the lists' lengths; 0: there are none. */
  readonly #lengths: number;
  readonly #counts: Uint32Array;
  readonly #masks: Uint32Array;
  readonly #sums: Float32Array;
  readonly #ids: Uint32Array;
  readonly #distances: Float32Array;

  /** `lists` are in `memory`. */
  constructor(memory: KernelMemory, lists: PostingLists) {
    const words = (length: number): Uint32Array => memory.u32(memory.allocate(4 * length), length);
    const floats = (length: number): Float32Array => memory.f32(memory.allocate(4 * length), length);
    this.#memory = memory;
    this.#rows = lists.rowCount;
    this.#lengths = lists.lengths.length === 0 ? 0 : lists.lengths.byteOffset;
    this.#postings = memory.block(POSTINGS);
    this.#collected = memory.block(SUMS);
    this.#best = memory.block(CANDIDATES);
    this.#terms = words(TERMS_PER_CALL);
    this.#weights = floats(TERMS_PER_CALL);
    this.#counts = words(TERMS_PER_CALL);
    this.#masks = words(lists.rowCount / 32);
    this.#sums = floats(this.#rows).fill(-0);
    this.#ids = words(ROWS_PER_CALL);
    this.#distances = floats(ROWS_PER_CALL);
    setFields(this.#postings, {
      terms: this.#terms.byteOffset,
      weights: this.#weights.byteOffset,
      listTerms: lists.terms.byteOffset,
      lists: lists.terms.length,
      starts: lists.starts.byteOffset,
      rows: lists.rows.byteOffset,
      values: lists.values.byteOffset,
      sums: this.#sums.byteOffset,
      counts: this.#counts.byteOffset,
      columnTerms: lists.columnTerms.byteOffset,
      columnCount: lists.columnTerms.length,
      columns: lists.columns.byteOffset,
      columnRows: this.#rows,
    });
    setFields(this.#collected, {
      sums: this.#sums.byteOffset,
      masks: this.#masks.byteOffset,
      ids: this.#ids.byteOffset,
      distances: this.#distances.byteOffset,
      best: this.#best.pointer,
    });
    // Bounds are found before anything is collected.
    setFields(this.#best, {
      ids: this.#ids.byteOffset,
      scores: this.#distances.byteOffset,
    });
  }

  /** How many rows of the mask hold each term, or of all rows. At most `TERMS_PER_CALL` terms, ascending. */
  count(terms: Uint32Array, mask: Uint32Array | null): Uint32Array {
    this.#terms.set(terms);
    this.#counts.fill(0);
    if (mask !== null) this.#masks.set(mask);
    const masks = mask === null ? 0 : this.#masks.byteOffset;
    setFields(this.#postings, { count: terms.length, masks });
    this.#memory.kernels.countPostings(this.#postings.pointer);
    return this.#counts.slice(0, terms.length);
  }

  /** What `addSet` adds. */
  setTerms({ terms, weights, saturation }: WeightedTerms): void {
    assert.ok(saturation === null || this.#lengths !== 0, "the lists have no lengths");
    this.#terms.set(terms);
    this.#weights.set(weights);
    const { floor, slope } = saturation ?? NO_SATURATION;
    const lengths = saturation === null ? 0 : this.#lengths;
    setFields(this.#postings, { count: terms.length, lengths, floor, slope });
  }

  setMask(mask: Uint32Array): void {
    this.#masks.set(mask);
  }

  /** Adds each weight times a row's value of the term to the row's sum. */
  addSet(): void {
    const { kernels } = this.#memory;
    if (this.#postings.lengths === 0) kernels.addPostings(this.#postings.pointer);
    else kernels.addFrequencies(this.#postings.pointer);
  }

  add(batch: WeightedTerms): void {
    this.setTerms(batch);
    this.addSet();
  }

  /** Clears the sums and returns them, for `putSums`. */
  takeSums(): Float32Array {
    const sums = this.#sums.slice();
    this.clear();
    return sums;
  }

  clear(): void {
    this.#sums.fill(-0);
  }

  putSums(sums: Float32Array): void {
    this.#sums.set(sums);
  }

  /**
   * Clears the sums and calls `found` with every touched row of the mask and its distance, but for rows further away
   * than `top` still takes or than `top.k` of these rows are. Equals of such a bound are found too.
   */
  collect(mask: Uint32Array, top: TakenRows, found: (row: number, distance: number) => void): void {
    this.setMask(mask);
    this.collectSet(top, found);
  }

  /** The same for the mask that is set. */
  collectSet(top: TakenRows, found: (row: number, distance: number) => void): void {
    const first = Number.isNaN(top.bound) ? this.#boundOf(top.k) : Number.NaN;
    for (let row = 0; row < this.#rows; row += ROWS_PER_CALL) {
      this.#collected.first = row;
      this.#collected.rows = Math.min(ROWS_PER_CALL, this.#rows - row);
      this.#collected.bound = Number.isNaN(top.bound) ? first : top.bound;
      this.#memory.kernels.collectSums(this.#collected.pointer);
      const count = this.#collected.found;
      for (let i = 0; i < count; i++) found(this.#ids[i]!, this.#distances[i]!);
    }
  }

  /** A distance that at least `k` rows of the mask reach; NaN: none is known. */
  #boundOf(k: number): number {
    // More are as easily found without.
    if (k > this.#rows / 64) return Number.NaN;
    this.#best.count = 0;
    this.#best.threshold = 0;
    this.#best.keep = k;
    // The fewer, the sooner the threshold rises.
    this.#best.capacity = 2 * k + 32;
    this.#collected.first = 0;
    this.#collected.rows = this.#rows;
    this.#memory.kernels.boundSums(this.#collected.pointer);
    const isKnown = this.#best.count === k;
    return isKnown ? 1 - this.#best.threshold : Number.NaN;
  }
}
