/**
 * How often texts occur, by the bytes that columns have of them (see `scalarCode`): most texts are seen in every block, and
 * to make a string each time would take longer than everything else.
 */
import { randomInt } from "node:crypto";
import { decodeScalar } from "../../segment/columns/scalar-code.ts";
import { copyInto } from "../../segment/copy-into.ts";
import { CountedPlaces } from "./counted-places.ts";

/** Bytes of a text. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

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
  /** The one that is looked for. */
  #text: TextBytes = { bytes: this.#bytes, start: 0, end: 0 };
  readonly #isAt = (place: number): boolean => this.#isTextAt(place);

  get length(): number {
    return this.#places.length;
  }

  get heldBytes(): number {
    return TEXT_BYTES * this.length + this.#startOf(this.length);
  }

  add(text: TextBytes, count: number): void {
    this.#text = text;
    const before = this.length;
    const place = this.#places.count(hashOf(text), count, this.#isAt);
    if (place === before) this.#append(text);
  }

  countAt(place: number): number {
    return this.#places.counts[place]!;
  }

  textAt(place: number): string {
    return String(decodeScalar(this.#bytes.subarray(this.#startOf(place), this.#ends[place])));
  }

  /** The newest. */
  #append({ bytes, start, end }: TextBytes): void {
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

  #isTextAt(place: number): boolean {
    const { bytes, start, end } = this.#text;
    const at = this.#startOf(place);
    if (this.#ends[place]! - at !== end - start) return false;
    for (let i = start; i < end; i++) if (this.#bytes[at + i - start] !== bytes[i]) return false;
    return true;
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : this.#ends[place - 1]!;
  }
}

/** FNV-1a with a secret basis. */
function hashOf({ bytes, start, end }: TextBytes): number {
  let hash = SEED;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x0100_0193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
