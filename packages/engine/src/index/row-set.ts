/** A set of positions of an index snapshot as a bitset, in which each segment has words of its own. */
import type { DocBases } from "./doc-bases.ts";

/** Rows of one segment: at 384 dimensions 6.3 MB of vectors. Sealing or dissolving one holds its thread for long. */
export const SEGMENT_ROWS = 4_096;
export const SEGMENT_WORDS = SEGMENT_ROWS / 32;

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

export function hasBit(words: Uint32Array, bit: number): boolean {
  return ((words[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
}

export function countBits(words: Uint32Array): number {
  let count = 0;
  // Indexed: an iterator takes several times as long until it is compiled.
  for (let i = 0; i < words.length; i++) {
    count += countOnes(words[i]!);
  }
  return count;
}

/** Set bits of one word. */
export function countOnes(word: number): number {
  let v = word - ((word >>> 1) & 0x5555_5555);
  v = (v & 0x3333_3333) + ((v >>> 2) & 0x3333_3333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The set bits, ascending. */
export function listBits(words: Uint32Array): number[] {
  const bits: number[] = [];
  for (let index = 0; index < words.length; index++) {
    let word = words[index]!;
    while (word !== 0) {
      bits.push(index * 32 + 31 - Math.clz32(word & -word));
      word &= word - 1;
    }
  }
  return bits;
}
