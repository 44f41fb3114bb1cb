/** A set of positions of an index snapshot as a bitset, in which each segment has words of its own. */
import { countBits, hasBit } from "../segment/bits.ts";
import type { DocBases } from "./doc-bases.ts";

export class RowSet {
  readonly bases: DocBases;
  readonly words: Uint32Array;

  /** `bases`: of the snapshot. Without `words` the set is empty. */
  constructor(bases: DocBases, words = new Uint32Array(bases.positions / 32)) {
    this.bases = bases;
    this.words = words;
  }

  /** The words of one segment; bit `i` is its row `i`. */
  segment(index: number): Uint32Array {
    return this.words.subarray(this.bases.of(index) / 32, this.bases.of(index + 1) / 32);
  }

  has(position: number): boolean {
    return hasBit(this.words, position);
  }

  add(position: number): void {
    this.words[position >>> 5]! |= 1 << (position & 31);
  }

  count(): number {
    return countBits(this.words);
  }
}
