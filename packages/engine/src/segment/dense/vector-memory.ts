/**
 * How much memory the indexes of a process may spend on vectors of sealed segments. Whoever comes first gets it: a
 * segment for which there is none reads its rows from the store until it is sealed anew.
 */
export class VectorMemory {
  readonly #limit: number;
  #used = 0;

  /** `limit`: in bytes. */
  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** `false`: there is not so much left of that share of the limit. */
  take(bytes: number, share = 1): boolean {
    if (this.#used + bytes > this.#limit * share) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
