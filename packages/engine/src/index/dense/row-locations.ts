/**
 * Where each row of an index is: the number of its segment, from 1, and its slot there. 0: in no segment. Both in one
 * word, because a filter looks up many rows that are far apart.
 */

/** A location is a segment's number above so many bits of a slot. */
export const SLOT_BITS = 18;
export const SLOT_MASK = 2 ** SLOT_BITS - 1;

/** Slots of the largest segment. */
export const MAX_SLOTS = 2 ** SLOT_BITS;
/** Highest number of a segment. */
export const MAX_SEGMENTS = 2 ** (32 - SLOT_BITS) - 1;

export class RowLocations {
  #words = new Uint32Array(1_024);
  #limit = 0;

  /** One more than the highest row that ever was in a segment. */
  get limit(): number {
    return this.#limit;
  }

  /** By row, for loops over many rows; longer than the limit, and another array after `set`. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** The segment's number; 0 for a row that is in none. */
  segmentOf(row: number): number {
    return row < this.#limit ? this.#words[row]! >>> SLOT_BITS : 0;
  }

  slotOf(row: number): number {
    return this.#words[row]! & SLOT_MASK;
  }

  set(row: number, segment: number, slot: number): void {
    if (row >= this.#words.length) this.#grow(row + 1);
    this.#words[row] = segment * MAX_SLOTS + slot;
    if (row >= this.#limit) this.#limit = row + 1;
  }

  clear(row: number): void {
    this.#words[row] = 0;
  }

  /** Forgets all rows. */
  reset(): void {
    this.#words.fill(0);
    this.#limit = 0;
  }

  #grow(rows: number): void {
    const words = this.#words;
    this.#words = new Uint32Array(Math.max(rows, words.length * 2));
    this.#words.set(words);
  }
}
