/**
 * Packed lists of up to `MAX_SLOTS` segments in one kernel memory, with room for the sums of a search beside them.
 * The lists never change. The sums are shared by all searches of the block: whoever waits between `add` and `collect`
 * takes them out meanwhile.
 *
 * A dot product is defined as the f32 sum, in ascending order of term, of products rounded to f32. A row that shares
 * no term with the query holds -0, which no addition can produce; distances are 1 - sum.
 */
import { type ArgumentBlock, CANDIDATES, POSTINGS, SUMS } from "../kernels/arguments.ts";
import { type KernelKind, KernelMemory, allocationBytes, setFields } from "../kernels/kernel-memory.ts";
import { type MergeSource, mergeLists } from "./merge-lists.ts";
import type { ListsSize, PostingLists } from "./posting-lists.ts";
import { SEGMENT_ROWS, SEGMENT_WORDS } from "./row-set.ts";

/** Terms of a query that one call takes: at most 4 million postings, some milliseconds. */
export const TERMS_PER_CALL = 64;
/** Rows that one call collects. */
const ROWS_PER_CALL = SEGMENT_ROWS;
const ARGUMENT_BYTES = 64;

/** Terms with their weights, `TERMS_PER_CALL` at most, ascending. */
export interface WeightedTerms {
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
}

export class SparseBlock {
  readonly lists: PostingLists;
  readonly #memory: KernelMemory;
  readonly #postings: ArgumentBlock;
  readonly #collected: ArgumentBlock;
  readonly #best: ArgumentBlock;
  readonly #terms: Uint32Array;
  readonly #weights: Float32Array;
  readonly #counts: Uint32Array;
  readonly #masks: Uint32Array;
  readonly #sums: Float32Array;
  readonly #ids: Uint32Array;
  readonly #distances: Float32Array;

  /** Pauses about every millisecond; `return` gives it up. */
  static *merge(
    sources: readonly MergeSource[],
    kernels: KernelKind | undefined,
  ): Generator<void, SparseBlock> {
    const unfinished: SparseBlock[] = [];
    try {
      const block = yield* mergeLists(sources, (size) => {
        unfinished.push(new SparseBlock(size, kernels));
        return unfinished[0]!;
      });
      unfinished.pop();
      return block;
    } finally {
      unfinished.pop()?.close();
    }
  }

  private constructor(size: ListsSize, kernels: KernelKind | undefined) {
    const { slots } = size;
    const rows = slots * SEGMENT_ROWS;
    const bytes = [
      ...[
        ARGUMENT_BYTES,
        ARGUMENT_BYTES,
        ARGUMENT_BYTES,
        ...Array.from({ length: 3 }, () => 4 * TERMS_PER_CALL),
      ],
      ...[4 * slots * SEGMENT_WORDS, 4 * rows, 4 * ROWS_PER_CALL, 4 * ROWS_PER_CALL],
      ...[4 * size.terms, 4 * size.terms + 4, 2 * size.postings, 4 * size.postings],
      ...[4 * size.columns, 4 * size.columns * rows],
    ];
    const memory = new KernelMemory(
      bytes.reduce((sum, part) => sum + allocationBytes(part), 0),
      { kernels },
    );
    const words = (length: number): Uint32Array => memory.u32(memory.allocate(4 * length), length);
    const floats = (length: number): Float32Array => memory.f32(memory.allocate(4 * length), length);
    this.#memory = memory;
    this.#postings = memory.block(POSTINGS.words);
    this.#collected = memory.block(SUMS.words);
    this.#best = memory.block(CANDIDATES.words);
    this.#terms = words(TERMS_PER_CALL);
    this.#weights = floats(TERMS_PER_CALL);
    this.#counts = words(TERMS_PER_CALL);
    this.#masks = words(slots * SEGMENT_WORDS);
    this.#sums = floats(rows).fill(-0);
    this.#ids = words(ROWS_PER_CALL);
    this.#distances = floats(ROWS_PER_CALL);
    this.lists = {
      terms: words(size.terms),
      starts: words(size.terms + 1),
      rows: memory.u16(memory.allocate(2 * size.postings), size.postings),
      values: floats(size.postings),
      columnTerms: words(size.columns),
      columns: floats(size.columns * rows),
      slots,
    };
    setFields(this.#postings, POSTINGS, {
      terms: this.#terms.byteOffset,
      weights: this.#weights.byteOffset,
      listTerms: this.lists.terms.byteOffset,
      lists: size.terms,
      starts: this.lists.starts.byteOffset,
      rows: this.lists.rows.byteOffset,
      values: this.lists.values.byteOffset,
      sums: this.#sums.byteOffset,
      counts: this.#counts.byteOffset,
      columnTerms: this.lists.columnTerms.byteOffset,
      columnCount: size.columns,
      columns: this.lists.columns.byteOffset,
      columnRows: rows,
    });
    setFields(this.#collected, SUMS, {
      sums: this.#sums.byteOffset,
      masks: this.#masks.byteOffset,
      ids: this.#ids.byteOffset,
      distances: this.#distances.byteOffset,
      best: this.#best.pointer,
    });
    // Bounds are found before anything is collected.
    setFields(this.#best, CANDIDATES, {
      ids: this.#ids.byteOffset,
      scores: this.#distances.byteOffset,
    });
  }

  get kind(): KernelKind {
    return this.#memory.kind;
  }

  get slots(): number {
    return this.lists.slots;
  }

  get rows(): number {
    return this.slots * SEGMENT_ROWS;
  }

  /** Postings, and the empty places of columns. */
  get values(): number {
    return this.lists.values.length + this.lists.columns.length;
  }

  /** How many rows of the mask hold each term, or of all rows. At most `TERMS_PER_CALL` terms, ascending. */
  count(terms: Uint32Array, mask: Uint32Array | null): Uint32Array {
    this.#terms.set(terms);
    this.#counts.fill(0);
    if (mask !== null) this.#masks.set(mask);
    const masks = mask === null ? 0 : this.#masks.byteOffset;
    setFields(this.#postings, POSTINGS, { count: terms.length, masks });
    this.#memory.kernels.countPostings(this.#postings.pointer);
    return this.#counts.slice(0, terms.length);
  }

  /** Adds each weight times a row's value of the term to the row's sum. */
  add({ terms, weights }: WeightedTerms): void {
    this.#terms.set(terms);
    this.#weights.set(weights);
    setFields(this.#postings, POSTINGS, { count: terms.length });
    this.#memory.kernels.addPostings(this.#postings.pointer);
  }

  /** Clears the sums and returns them, for `putSums`. */
  takeSums(): Float32Array {
    const sums = this.#sums.slice();
    this.#sums.fill(-0);
    return sums;
  }

  putSums(sums: Float32Array): void {
    this.#sums.set(sums);
  }

  /**
   * Clears the sums and calls `found` with every touched row of the mask and its distance, but for rows further away
   * than `top` still takes or than `top.k` of these rows are. Equals of such a bound are found too.
   */
  collect(
    mask: Uint32Array,
    top: { readonly k: number; readonly bound: number },
    found: (row: number, distance: number) => void,
  ): void {
    this.#masks.set(mask);
    const { u32, f32, pointer } = this.#collected;
    const first = Number.isNaN(top.bound) ? this.#boundOf(top.k) : Number.NaN;
    u32[SUMS.rows] = ROWS_PER_CALL;
    for (let row = 0; row < this.rows; row += ROWS_PER_CALL) {
      u32[SUMS.first] = row;
      f32[SUMS.bound] = Number.isNaN(top.bound) ? first : top.bound;
      this.#memory.kernels.collectSums(pointer);
      const count = u32[SUMS.found]!;
      for (let i = 0; i < count; i++) found(this.#ids[i]!, this.#distances[i]!);
    }
  }

  /** A distance that at least `k` rows of the mask reach; NaN: none is known. */
  #boundOf(k: number): number {
    // More are as easily found without.
    if (k > this.rows / 64) return Number.NaN;
    this.#best.u32[CANDIDATES.count] = 0;
    this.#best.f32[CANDIDATES.threshold] = 0;
    this.#best.u32[CANDIDATES.keep] = k;
    // The fewer, the sooner the threshold rises.
    this.#best.u32[CANDIDATES.capacity] = 2 * k + 32;
    this.#collected.u32[SUMS.first] = 0;
    this.#collected.u32[SUMS.rows] = this.rows;
    this.#memory.kernels.boundSums(this.#collected.pointer);
    const isKnown = this.#best.u32[CANDIDATES.count] === k;
    return isKnown ? 1 - this.#best.f32[CANDIDATES.threshold]! : Number.NaN;
  }

  /** Makes room for another block's kernels; searches under way may go on. */
  close(): void {
    this.#memory.close();
  }
}
