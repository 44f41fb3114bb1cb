/** Counts what the writes of one action add to the entries of a store. */
export class EntryTally {
  #entries = 0;
  #bytes = 0;

  get entries(): number {
    return this.#entries;
  }

  /** Of keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  reset(): void {
    this.#entries = 0;
    this.#bytes = 0;
  }

  /** An entry is written over one with a value of so many bytes. `null`: there is, or was, none. */
  add(keyBytes: number, before: number | null, after: number | null): void {
    this.#entries += Number(after !== null) - Number(before !== null);
    this.#bytes += (after === null ? 0 : keyBytes + after) - (before === null ? 0 : keyBytes + before);
  }
}
