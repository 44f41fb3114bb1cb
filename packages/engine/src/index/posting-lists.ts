/**
 * Inverted lists, packed: for every term the rows that hold it, ascending, each with its value. Six bytes a posting
 * and eight a term. Rows count through the slots of `SEGMENT_ROWS` that the lists cover.
 */
import type { SparseVector } from "@sheaf/protocol";
import { SEGMENT_ROWS } from "./row-set.ts";

export interface PostingLists {
  /** Ascending; list `i` is `rows` and `values` from `starts[i]` to `starts[i + 1]`. */
  readonly terms: Uint32Array;
  readonly starts: Uint32Array;
  readonly rows: Uint16Array;
  readonly values: Float32Array;
}

/** Slots that rows of 16 bits can count through. */
export const MAX_SLOTS = 2 ** 16 / SEGMENT_ROWS;
export const SLOT_BITS = Math.log2(SEGMENT_ROWS);

/** What goes into a merge, and where its slots go: -1 leaves a slot out. Slots keep their order. */
export interface MergeSource {
  readonly lists: PostingLists;
  readonly slots: readonly number[];
}

/** Longest stretch of a merge, in terms and postings: about a millisecond. */
const STEP = 2 ** 17;

/**
 * One set of lists of several, in what `make` gives. The slots of a source go behind those of the sources before it,
 * or are the same with higher rows, so that rows ascend.
 */
export function* mergeLists<T extends { readonly lists: PostingLists }>(
  sources: readonly MergeSource[],
  make: (terms: number, postings: number) => T,
): Generator<void, T> {
  let terms = 0;
  let postings = 0;
  let work = 0;
  for (const cursor = new TermCursor(sources); cursor.next();) {
    const count = cursor.count();
    if (count > 0) terms++;
    postings += count;
    work += sources.length;
    if (work < STEP) continue;
    work = 0;
    yield;
  }
  const made = make(terms, postings);
  const merged = made.lists;
  let list = 0;
  let end = 0;
  for (const cursor = new TermCursor(sources); cursor.next();) {
    const start = end;
    end = cursor.copy(merged, end);
    work += sources.length + end - start;
    if (end > start) {
      merged.terms[list++] = cursor.term;
      merged.starts[list] = end;
    }
    if (work < STEP) continue;
    work = 0;
    yield;
  }
  return made;
}

/** Goes through the terms of several sets of lists, ascending, and stands on the lists of one term at a time. */
class TermCursor {
  term = 0;
  readonly #sources: readonly MergeSource[];
  /** No slot of the source is left out. */
  readonly #isWhole: readonly boolean[];
  /** By source: the first list that is not behind the cursor. */
  readonly #at: Uint32Array;
  /** The cursor stands on a term, whose lists `next` has to pass. */
  #isOnTerm = false;

  constructor(sources: readonly MergeSource[]) {
    this.#sources = sources;
    this.#isWhole = sources.map(({ slots }) => !slots.includes(-1));
    this.#at = new Uint32Array(sources.length);
  }

  /** False: there are no more. */
  next(): boolean {
    let least = Infinity;
    for (let i = 0; i < this.#sources.length; i++) {
      const { terms } = this.#sources[i]!.lists;
      let at = this.#at[i]!;
      if (this.#isOnTerm && terms[at] === this.term) this.#at[i] = ++at;
      if (at < terms.length && terms[at]! < least) least = terms[at]!;
    }
    this.#isOnTerm = true;
    this.term = least;
    return least !== Infinity;
  }

  /** Postings of the term. */
  count(): number {
    let count = 0;
    for (let i = 0; i < this.#sources.length; i++) {
      const { lists, slots } = this.#sources[i]!;
      const at = this.#at[i]!;
      if (lists.terms[at] !== this.term) continue;
      if (this.#isWhole[i]!) count += lists.starts[at + 1]! - lists.starts[at]!;
      else count += countRows(lists, slots, at);
    }
    return count;
  }

  /** Copies the term's postings to place `to` of `into` and returns where they end. */
  copy(into: PostingLists, to: number): number {
    let end = to;
    for (let i = 0; i < this.#sources.length; i++) {
      const { lists, slots } = this.#sources[i]!;
      const at = this.#at[i]!;
      if (lists.terms[at] !== this.term) continue;
      for (let from = lists.starts[at]!; from < lists.starts[at + 1]!; from++) {
        const row = lists.rows[from]!;
        const slot = slots[row >>> SLOT_BITS]!;
        if (slot === -1) continue;
        into.rows[end] = slot * SEGMENT_ROWS + (row & (SEGMENT_ROWS - 1));
        into.values[end++] = lists.values[from]!;
      }
    }
    return end;
  }
}

/** Postings of a list whose slot is not left out. */
function countRows({ starts, rows }: PostingLists, slots: readonly number[], list: number): number {
  let count = 0;
  for (let i = starts[list]!; i < starts[list + 1]!; i++) if (slots[rows[i]! >>> SLOT_BITS] !== -1) count++;
  return count;
}

/** The vectors of the wanted rows of one slot, by row within the slot. A row that holds no term is not there. */
export function vectorsOf(lists: PostingLists, slot: number, wanted: Uint32Array): Map<number, SparseVector> {
  const sizes = new Uint32Array(SEGMENT_ROWS);
  const inSlot = (row: number): boolean =>
    row >>> SLOT_BITS === slot && ((wanted[(row & (SEGMENT_ROWS - 1)) >>> 5]! >>> (row & 31)) & 1) === 1;
  for (const row of lists.rows) if (inSlot(row)) sizes[row & (SEGMENT_ROWS - 1)]!++;
  const vectors = new Map<number, SparseVector>();
  sizes.forEach((size, row) => {
    if (size > 0) vectors.set(row, { indices: new Uint32Array(size), values: new Float32Array(size) });
  });
  sizes.fill(0);
  for (let list = 0; list < lists.terms.length; list++) {
    for (let i = lists.starts[list]!; i < lists.starts[list + 1]!; i++) {
      if (!inSlot(lists.rows[i]!)) continue;
      const row = lists.rows[i]! & (SEGMENT_ROWS - 1);
      const { indices, values } = vectors.get(row)!;
      indices[sizes[row]!] = lists.terms[list]!;
      values[sizes[row]!++] = lists.values[i]!;
    }
  }
  return vectors;
}
