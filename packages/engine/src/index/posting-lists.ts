/**
 * Inverted lists, packed: for every term the rows that hold it, ascending, each with its value; six bytes a posting
 * and eight a term. A term that at least half of all rows hold, with no negative value, has a column instead, four
 * bytes for every row: about as small, and added to sums many rows at a time. Rows count through the slots of
 * `SEGMENT_ROWS` that the lists cover.
 */
import type { SparseVector } from "@sheaf/protocol";
import { PostingCursor } from "./posting-cursor.ts";
import { SEGMENT_ROWS, hasBit } from "./row-set.ts";

export interface PostingLists {
  /** Ascending; list `i` is `rows` and `values` from `starts[i]` to `starts[i + 1]`. */
  readonly terms: Uint32Array;
  readonly starts: Uint32Array;
  readonly rows: Uint16Array;
  readonly values: Float32Array;
  /** Ascending; column `i` is the values of all rows, -0 where one does not hold the term, after `i` other columns. */
  readonly columnTerms: Uint32Array;
  readonly columns: Float32Array;
  readonly slots: number;
}

/** How much there is of each part of `PostingLists`. */
export interface ListsSize {
  readonly slots: number;
  readonly terms: number;
  /** In lists, without those in columns. */
  readonly postings: number;
  readonly columns: number;
}

/** Slots that rows of 16 bits can count through. */
export const MAX_SLOTS = 2 ** 16 / SEGMENT_ROWS;
export const SLOT_BITS = Math.log2(SEGMENT_ROWS);

/** The vectors of the wanted rows of one slot, by row within the slot. A row that holds no term is not there. */
export function vectorsOf(lists: PostingLists, slot: number, wanted: Uint32Array): Map<number, SparseVector> {
  const sizes = new Uint32Array(SEGMENT_ROWS);
  const each = (found: (row: number, term: number, value: number) => void): void => {
    for (const cursor = new PostingCursor(lists); cursor.term !== Infinity; cursor.next()) {
      for (let at = cursor.start; at < cursor.end; at++) {
        const row = cursor.rowAt(at);
        const local = row & (SEGMENT_ROWS - 1);
        if (row >> SLOT_BITS === slot && hasBit(wanted, local)) found(local, cursor.term, cursor.values[at]!);
      }
    }
  };
  each((row) => sizes[row]!++);
  const vectors = new Map<number, SparseVector>();
  sizes.forEach((size, row) => {
    if (size > 0) vectors.set(row, { indices: new Uint32Array(size), values: new Float32Array(size) });
  });
  sizes.fill(0);
  each((row, term, value) => {
    const { indices, values } = vectors.get(row)!;
    indices[sizes[row]!] = term;
    values[sizes[row]!++] = value;
  });
  return vectors;
}
