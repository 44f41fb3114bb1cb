/** Where each row of an index is: the number of its segment, from 1, and its slot there. 0: in no segment. */
export class RowLocations {
  #segments = new Uint16Array(1_024);
  #slots = new Uint32Array(1_024);
  #limit = 0;

  /** One more than the highest row that ever was in a segment. */
  get limit(): number {
    return this.#limit;
  }

  /** The segment's number; 0 for a row that is in none. */
  segmentOf(row: number): number {
    return row < this.#limit ? this.#segments[row]! : 0;
  }

  slotOf(row: number): number {
    return this.#slots[row]!;
  }

  set(row: number, segment: number, slot: number): void {
    if (row >= this.#segments.length) this.#grow(row + 1);
    this.#segments[row] = segment;
    this.#slots[row] = slot;
    if (row >= this.#limit) this.#limit = row + 1;
  }

  clear(row: number): void {
    this.#segments[row] = 0;
  }

  #grow(rows: number): void {
    const length = Math.max(rows, this.#segments.length * 2);
    const [segments, slots] = [this.#segments, this.#slots];
    this.#segments = new Uint16Array(length);
    this.#segments.set(segments);
    this.#slots = new Uint32Array(length);
    this.#slots.set(slots);
  }
}
