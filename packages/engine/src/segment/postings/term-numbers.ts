/**
 * Numbers for the terms of sparse vectors, from 0 in the order they are first met: a hash table in typed arrays, which
 * is several times as fast as a `Map` and small beside it.
 */

/** Enough for nearly all queries to leave most places free, where most terms of a row then end. */
const FIRST_CAPACITY = 512;
const NONE = 0;

export class TermNumbers {
  /** Number + 1 per place of the table, `NONE` where it is free; a power of two of places, at most half of them taken. */
  #places = new Uint32Array(FIRST_CAPACITY * 2);
  #terms = new Uint32Array(FIRST_CAPACITY);
  #size = 0;

  /** The terms by number. */
  get terms(): Uint32Array {
    return this.#terms.subarray(0, this.#size);
  }

  /** The term's number, a new one if it has none. */
  add(term: number): number {
    const place = this.#placeOf(term);
    const known = this.#places[place]!;
    if (known !== NONE) return known - 1;
    if (this.#size === this.#terms.length) {
      this.#grow();
      return this.add(term);
    }
    this.#terms[this.#size] = term;
    this.#places[place] = ++this.#size;
    return this.#size - 1;
  }

  /** -1: it has none. */
  find(term: number): number {
    return this.#places[this.#placeOf(term)]! - 1;
  }

  /** The first place from `from` on, before `to`, whose term has a number; `to` if there is none. */
  nextKnown(terms: Uint32Array, from: number, to: number): number {
    const places = this.#places;
    const known = this.#terms;
    const mask = places.length - 1;
    for (let at = from; at < to; at++) {
      const term = terms[at]!;
      for (let place = hashOf(term) & mask; places[place] !== NONE; place = (place + 1) & mask) {
        if (known[places[place]! - 1] === term) return at;
      }
    }
    return to;
  }

  /** Where the term is, or the free place where it belongs. */
  #placeOf(term: number): number {
    const places = this.#places;
    const mask = places.length - 1;
    let place = hashOf(term) & mask;
    while (places[place] !== NONE && this.#terms[places[place]! - 1] !== term) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const terms = new Uint32Array(this.#terms.length * 2);
    terms.set(this.#terms);
    this.#terms = terms;
    this.#places = new Uint32Array(terms.length * 2);
    for (let number = 0; number < this.#size; number++)
      this.#places[this.#placeOf(terms[number]!)] = number + 1;
  }
}

function hashOf(term: number): number {
  const hash = Math.imul(term, 0x9e37_79b1);
  return hash ^ (hash >>> 15);
}
