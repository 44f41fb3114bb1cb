/** How often numbers of one kind occur, by their keys (see `scalarKey`): those that are no bigint in typed arrays. */
import { randomInt } from "node:crypto";
import { copyInto } from "../../segment/copy-into.ts";
import { CountedPlaces } from "./counted-places.ts";

const SEED = randomInt(2 ** 32);
const NUMBER_BYTES = 40;
const LARGE_BYTES = 96;

const FLOAT = new Float64Array(1);
const WORDS = new Uint32Array(FLOAT.buffer);

export class NumberCounts {
  readonly #places = new CountedPlaces();
  #numbers = new Float64Array(64);
  /** The one that is looked for. */
  #number = 0;
  readonly #isAt = (place: number): boolean => this.#numbers[place] === this.#number;
  readonly #large = new Map<bigint, number>();

  get heldBytes(): number {
    return NUMBER_BYTES * this.#places.length + LARGE_BYTES * this.#large.size;
  }

  add(key: bigint | number, count: number): void {
    if (typeof key === "bigint") {
      this.#large.set(key, (this.#large.get(key) ?? 0) + count);
      return;
    }
    this.#number = key;
    const before = this.#places.length;
    const place = this.#places.count(hashOf(key), count, this.#isAt);
    if (place < before) return;
    if (place === this.#numbers.length) this.#numbers = copyInto(this.#numbers, new Float64Array(2 * place));
    this.#numbers[place] = key;
  }

  get length(): number {
    return this.#places.length;
  }

  numberAt(place: number): number {
    return this.#numbers[place]!;
  }

  countAt(place: number): number {
    return this.#places.counts[place]!;
  }

  /** Integers beyond those that a `number` holds exactly, and floats of that size. */
  get large(): ReadonlyMap<bigint, number> {
    return this.#large;
  }
}

function hashOf(number: number): number {
  // -0 and 0 are one key.
  FLOAT[0] = number + 0;
  const mixed = Math.imul(WORDS[0]! ^ SEED, 0x9e37_79b1) ^ Math.imul(WORDS[1]!, 0x85eb_ca6b);
  const more = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35);
  return (more ^ (more >>> 13)) >>> 0;
}
