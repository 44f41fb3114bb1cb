/**
 * A hash table of what is counted: each thing has a place, in the order in which it was first seen, and a count. What is at a
 * place the owner knows. Typed arrays: a facet may count a hundred thousand values, and `Map` takes several times as long.
 */
import { copyInto } from "../../segment/copy-into.ts";

const FIRST_PLACES = 64;

export class CountedPlaces {
  length = 0;
  counts = new Float64Array(FIRST_PLACES);
  #hashes = new Uint32Array(FIRST_PLACES);
  /** Places plus 1, by hash, each in the first free slot; a power of two, at most half of them taken. */
  #slots = new Int32Array(2 * FIRST_PLACES);

  /** The place of a thing, which is a new one, the last, where `isAt` is true of none. */
  count(hash: number, count: number, isAt: (place: number) => boolean): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let next = this.#slots[slot]!; next !== 0; next = this.#slots[slot]!) {
      if (this.#hashes[next - 1] === hash && isAt(next - 1)) {
        this.counts[next - 1]! += count;
        return next - 1;
      }
      slot = (slot + 1) & mask;
    }
    const place = this.length++;
    this.#slots[slot] = place + 1;
    this.#hashes[place] = hash;
    this.counts[place] = count;
    if (2 * this.length >= this.#slots.length) this.#grow();
    return place;
  }

  #grow(): void {
    const size = this.#slots.length;
    this.#hashes = copyInto(this.#hashes, new Uint32Array(size));
    this.counts = copyInto(this.counts, new Float64Array(size));
    this.#slots = new Int32Array(2 * size);
    for (let place = 0; place < this.length; place++) {
      let slot = this.#hashes[place]! & (2 * size - 1);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (2 * size - 1);
      this.#slots[slot] = place + 1;
    }
  }
}
