/** Merges packed lists, in steps; and decides which terms have a column. */
import { PostingCursor } from "./posting-cursor.ts";
import { type ListsSize, type PostingLists, SLOT_BITS } from "./posting-lists.ts";
import { SEGMENT_ROWS } from "./row-set.ts";

/** What goes into a merge, and where its slots go: -1 leaves a slot out. Slots keep their order. */
export interface MergeSource {
  readonly lists: PostingLists;
  readonly slots: readonly number[];
}

/** Longest stretch of a merge, in terms and postings: about a millisecond. */
const STEP = 2 ** 17;
/** Of the rows, from which on a term has a column. */
const COLUMN_SHARE = 1 / 2;

/**
 * One set of lists of several, in what `make` gives. The slots of a source go behind those of the sources before it,
 * or are the same with higher rows, so that rows ascend.
 */
export function* mergeLists<T extends { readonly lists: PostingLists }>(
  sources: readonly MergeSource[],
  make: (size: ListsSize) => T,
): Generator<void, T> {
  const slots = 1 + Math.max(...sources.flatMap((source) => source.slots));
  const columnTerms: number[] = [];
  let terms = 0;
  let postings = 0;
  let work = 0;
  for (const cursor = new MergeCursor(sources); cursor.next();) {
    work += sources.length;
    const count = cursor.count();
    const isCommon = count >= slots * SEGMENT_ROWS * COLUMN_SHARE;
    if (isCommon) work += count;
    if (isCommon && !cursor.hasNegative()) columnTerms.push(cursor.term);
    else if (count > 0) {
      terms++;
      postings += count;
    }
    if (work < STEP) continue;
    work = 0;
    yield;
  }
  const made = make({ slots, terms, postings, columns: columnTerms.length });
  made.lists.columnTerms.set(columnTerms);
  yield* copyLists(sources, made.lists);
  return made;
}

/** Into lists that have room for it, and the terms of their columns already. */
function* copyLists(sources: readonly MergeSource[], into: PostingLists): Generator<void> {
  let list = 0;
  let end = 0;
  let column = 0;
  let work = 0;
  for (const cursor = new MergeCursor(sources); cursor.next();) {
    work += sources.length;
    if (cursor.term === into.columnTerms[column]) {
      cursor.fillColumn(columnOf(into, column++));
      work += into.slots * SEGMENT_ROWS;
    } else {
      const start = end;
      end = cursor.copy(into, end);
      work += end - start;
      if (end > start) {
        into.terms[list++] = cursor.term;
        into.starts[list] = end;
      }
    }
    if (work < STEP) continue;
    work = 0;
    yield;
  }
}

function columnOf({ columns, slots }: PostingLists, column: number): Float32Array {
  const rows = slots * SEGMENT_ROWS;
  return columns.subarray(column * rows, (column + 1) * rows);
}

/** Goes through the terms of several sets of lists, ascending, and stands on the postings of one term at a time. */
class MergeCursor {
  /** Below every term before the first `next`. */
  term = -1;
  readonly #sources: readonly MergeSource[];
  readonly #cursors: readonly PostingCursor[];
  /** No slot of the source is left out. */
  readonly #isWhole: readonly boolean[];

  constructor(sources: readonly MergeSource[]) {
    this.#sources = sources;
    this.#cursors = sources.map(({ lists }) => new PostingCursor(lists));
    this.#isWhole = sources.map(({ slots }) => !slots.includes(-1));
  }

  /** False: there are no more. */
  next(): boolean {
    let least = Infinity;
    for (const cursor of this.#cursors) {
      if (cursor.term === this.term) cursor.next();
      if (cursor.term < least) least = cursor.term;
    }
    this.term = least;
    return least !== Infinity;
  }

  /** Postings of the term. */
  count(): number {
    let count = 0;
    for (let i = 0; i < this.#cursors.length; i++) {
      const cursor = this.#cursors[i]!;
      if (cursor.term !== this.term) continue;
      if (this.#isWhole[i]! && cursor.rows !== null) count += cursor.end - cursor.start;
      else count += countRows(cursor, this.#sources[i]!.slots);
    }
    return count;
  }

  /** Whether the term has a negative value; those that are left out count too. */
  hasNegative(): boolean {
    return this.#cursors.some(({ term, rows, values, start, end }) => {
      if (term !== this.term || rows === null) return false;
      for (let at = start; at < end; at++) if (values[at]! < 0) return true;
      return false;
    });
  }

  /** Copies the term's postings to place `to` of `into` and returns where they end. */
  copy(into: PostingLists, to: number): number {
    let end = to;
    for (let i = 0; i < this.#cursors.length; i++) {
      const cursor = this.#cursors[i]!;
      if (cursor.term !== this.term) continue;
      const { slots } = this.#sources[i]!;
      for (let at = cursor.start; at < cursor.end; at++) {
        const row = movedRow(cursor.rowAt(at), slots);
        if (row < 0) continue;
        into.rows[end] = row;
        into.values[end++] = cursor.values[at]!;
      }
    }
    return end;
  }

  /** For a term without negative values. */
  fillColumn(column: Float32Array): void {
    column.fill(-0);
    for (let i = 0; i < this.#cursors.length; i++) {
      const cursor = this.#cursors[i]!;
      if (cursor.term !== this.term) continue;
      const { slots } = this.#sources[i]!;
      for (let at = cursor.start; at < cursor.end; at++) {
        const row = movedRow(cursor.rowAt(at), slots);
        // + 0: -0 is a value here, and as good as 0.
        if (row >= 0) column[row] = cursor.values[at]! + 0;
      }
    }
  }
}

/** Postings of the term whose slot is not left out. */
function countRows(cursor: PostingCursor, slots: readonly number[]): number {
  let count = 0;
  for (let at = cursor.start; at < cursor.end; at++) if (movedRow(cursor.rowAt(at), slots) >= 0) count++;
  return count;
}

/** Negative: it is nowhere, as -1 is, or its slot is left out. */
function movedRow(row: number, slots: readonly number[]): number {
  return row < 0 ? row : slots[row >>> SLOT_BITS]! * SEGMENT_ROWS + (row & (SEGMENT_ROWS - 1));
}
