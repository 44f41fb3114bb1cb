/** Which rows hold keys that have no column: pairs of a key's hash and a row. */
import { copyInto } from "../copy-into.ts";
import { orderInSteps } from "../native-order.ts";
import { scalarCode } from "../columns/scalar-code.ts";

/** Keys whose hashes are remembered: rows mostly have the same ones. */
const KNOWN_KEYS = 4_096;
const PLACED_PER_STEP = 65_536;

/** Hash of a key, as lists of rows know it. */
export function keyHash(key: string): number {
  return scalarCode(key).hash;
}

export class KeyRows {
  readonly #known = new Map<string, number>();
  #hashes = new Uint32Array(64);
  #rows = new Uint16Array(64);
  #count = 0;

  /** `row` is not smaller than any before. */
  add(key: string, row: number): void {
    let hash = this.#known.get(key);
    if (hash === undefined) {
      hash = keyHash(key);
      if (this.#known.size < KNOWN_KEYS) this.#known.set(key, hash);
    }
    if (this.#count === this.#rows.length) {
      this.#hashes = copyInto(this.#hashes, new Uint32Array(2 * this.#count));
      this.#rows = copyInto(this.#rows, new Uint16Array(2 * this.#count));
    }
    this.#hashes[this.#count] = hash;
    this.#rows[this.#count++] = row;
  }

  /** Count, hashes ascending, and the rows beside them, ascending too; filled up to a multiple of 8. Pauses about every millisecond. */
  *pack(): Generator<undefined, Uint8Array> {
    const count = this.#count;
    const order = yield* orderInSteps(this.#hashes.subarray(0, count));
    const bytes = new Uint8Array(Math.ceil((4 + 6 * count) / 8) * 8);
    new Uint32Array(bytes.buffer, 0, 1)[0] = count;
    const hashes = new Uint32Array(bytes.buffer, 4, count);
    const rows = new Uint16Array(bytes.buffer, 4 + 4 * count, count);
    for (let i = 0; i < count; i++) {
      hashes[i] = this.#hashes[order[i]!]!;
      rows[i] = this.#rows[order[i]!]!;
      if (i % PLACED_PER_STEP === PLACED_PER_STEP - 1) yield;
    }
    return bytes;
  }
}
