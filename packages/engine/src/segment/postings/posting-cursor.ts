/** Stands on one term of packed lists after the other, ascending, whether the term has a list or a column. */
import type { PostingLists } from "./posting-lists.ts";

export class PostingCursor {
  /** `Infinity` behind the last one. */
  term = 0;
  /** The term's postings are these from `start` to `end`… */
  values: Float32Array;
  start = 0;
  end = 0;
  /** … and the rows beside them; `null`: the values are a column. */
  rows: Uint16Array | null = null;
  readonly #lists: PostingLists;
  #list = 0;
  #column = 0;

  constructor(lists: PostingLists) {
    this.#lists = lists;
    this.values = lists.values;
    this.#stand();
  }

  next(): void {
    if (this.rows === null) this.#column++;
    else this.#list++;
    this.#stand();
  }

  /** The row of the posting at `at`; -1: there is none at this place of a column. */
  rowAt(at: number): number {
    if (this.rows !== null) return this.rows[at]!;
    return Object.is(this.values[at], -0) ? -1 : at - this.start;
  }

  #stand(): void {
    const { terms, starts, rows, values, columnTerms, columns, rowCount } = this.#lists;
    const term = terms[this.#list] ?? Infinity;
    const columnTerm = columnTerms[this.#column] ?? Infinity;
    if (columnTerm < term) {
      this.term = columnTerm;
      this.rows = null;
      this.values = columns;
      this.start = this.#column * rowCount;
      this.end = this.start + rowCount;
      return;
    }
    this.term = term;
    this.rows = rows;
    this.values = values;
    this.start = starts[this.#list]!;
    this.end = starts[this.#list + 1] ?? this.start;
  }
}
