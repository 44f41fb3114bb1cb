/**
 * How often texts occur, by the bytes that columns have of them (see `scalarCode`): most texts are seen in every block, and
 * to make a string each time would take longer than everything else.
 */
import { randomInt } from "node:crypto";
import { decodeScalar } from "../../segment/columns/scalar-code.ts";
import { copyInto } from "../../segment/copy-into.ts";
import { CountedPlaces } from "./counted-places.ts";

/** Nobody can choose texts that share a slot. */
const SEED = randomInt(2 ** 32);
const FIRST_BYTES = 1_024;
/** Of a text beside its bytes. */
const TEXT_BYTES = 32;

export class TextCounts {
  readonly #places = new CountedPlaces();
  /** Where each text ends in `#bytes`. */
  #ends = new Uint32Array(64);
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Of the one that is looked for. */
  #sought: Uint8Array = this.#bytes;
  #from = 0;
  #to = 0;
  readonly #isAt = (place: number): boolean => this.#isSoughtAt(place);

  get length(): number {
    return this.#places.length;
  }

  get heldBytes(): number {
    return TEXT_BYTES * this.length + this.#startOf(this.length);
  }

  /** The text is what `bytes` have from `start` to `end`. */
  add(bytes: Uint8Array, start: number, end: number, count: number): void {
    this.#sought = bytes;
    this.#from = start;
    this.#to = end;
    const before = this.length;
    const place = this.#places.count(hashOf(bytes, start, end), count, this.#isAt);
    if (place === before) this.#append(bytes, start, end);
  }

  countAt(place: number): number {
    return this.#places.counts[place]!;
  }

  textAt(place: number): string {
    return String(decodeScalar(this.#bytes.subarray(this.#startOf(place), this.#ends[place])));
  }

  /** The newest. */
  #append(bytes: Uint8Array, start: number, end: number): void {
    const place = this.length - 1;
    if (place === this.#ends.length) this.#ends = copyInto(this.#ends, new Uint32Array(2 * place));
    const at = this.#startOf(place);
    const last = at + end - start;
    if (last > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(last, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    for (let i = start; i < end; i++) this.#bytes[at + i - start] = bytes[i]!;
    this.#ends[place] = last;
  }

  #isSoughtAt(place: number): boolean {
    const bytes = this.#sought;
    const held = this.#bytes;
    const start = this.#from;
    const length = this.#to - start;
    const at = this.#startOf(place);
    if (this.#ends[place]! - at !== length) return false;
    for (let i = 0; i < length; i++) if (held[at + i] !== bytes[start + i]) return false;
    return true;
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : this.#ends[place - 1]!;
  }
}

/** FNV-1a with a secret basis. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x0100_0193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
