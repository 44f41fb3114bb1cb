/**
 * Numbers of records for indexes that are arrays over records: small, given out in insertion order, and kept by a
 * record through its updates. Says for each number which row holds the record now.
 */
import type { Row } from "./record-index.ts";

const NOWHERE = -1;
const FIRST_CAPACITY = 1_024;
/** Numbers of gone records that are put up with before all are given out anew. */
const MAX_GAPS = 65_536;

export class RowNumbers {
  /** `NOWHERE`: the record is gone. */
  #rows = new Float64Array(FIRST_CAPACITY).fill(NOWHERE);
  #next = 0;

  /** One more than the highest number given out. */
  get limit(): number {
    return this.#next;
  }

  /** Whether so many numbers are unused that giving out new ones pays. */
  isSparse(records: number): boolean {
    return this.#next > 4 * records + MAX_GAPS;
  }

  next(): number {
    if (this.#next === this.#rows.length) {
      const rows = new Float64Array(this.#rows.length * 2).fill(NOWHERE);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    return this.#next++;
  }

  place(number: number, row: Row): void {
    this.#rows[number] = row;
  }

  remove(number: number): void {
    this.#rows[number] = NOWHERE;
  }

  /** `null`: the record is gone. */
  row(number: number): Row | null {
    const row = this.#rows[number];
    return row === undefined || row === NOWHERE ? null : row;
  }

  clear(): void {
    this.#rows = new Float64Array(FIRST_CAPACITY).fill(NOWHERE);
    this.#next = 0;
  }
}
