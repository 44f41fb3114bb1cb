/**
 * Inverted lists, packed: for every term the rows that hold it, ascending, each with its value; six bytes a posting
 * and eight a term. A term that at least half of all rows hold, with no negative value, has a column instead, four
 * bytes for every row: about as small, and added to sums many rows at a time.
 */

export interface PostingLists {
  /** Ascending; list `i` is `rows` and `values` from `starts[i]` to `starts[i + 1]`. */
  readonly terms: Uint32Array;
  readonly starts: Uint32Array;
  readonly rows: Uint16Array;
  readonly values: Float32Array;
  /** Ascending; column `i` is the values of all rows, -0 where one does not hold the term, after `i` other columns. */
  readonly columnTerms: Uint32Array;
  readonly columns: Float32Array;
  /** By row, see `documentLength`; empty where no score asks for lengths. */
  readonly lengths: Float32Array;
  /** Rows that the lists cover, a multiple of 32. */
  readonly rowCount: number;
}

/** How much there is of each part of `PostingLists`. */
export interface ListsSize {
  readonly rowCount: number;
  readonly terms: number;
  /** In lists, without those in columns. */
  readonly postings: number;
  readonly columns: number;
  /** As many as rows, or 0. */
  readonly lengths: number;
}

/** As many as rows of 16 bits can tell apart. */
export const MAX_LIST_ROWS = 2 ** 16;
