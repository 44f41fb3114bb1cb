/**
 * The trigrams of a text as numbers below `TRIGRAM_BUCKETS`: every three consecutive UTF-16 code units, hashed. A text
 * that contains another has all of its buckets.
 */

export const TRIGRAM_BUCKETS = 2_048;
const SHIFT = 32 - Math.log2(TRIGRAM_BUCKETS);

/** The bucket of the trigram that starts at `index`. */
export function trigramAt(text: string, index: number): number {
  const units =
    Math.imul(text.charCodeAt(index), 0x9e37_79b1) ^
    Math.imul(text.charCodeAt(index + 1), 0x85eb_ca6b) ^
    Math.imul(text.charCodeAt(index + 2), 0xc2b2_ae35);
  return Math.imul(units ^ (units >>> 15), 0x2c1b_3c6d) >>> SHIFT;
}

/** Buckets that every text containing all of `literals` has; empty if they are too short to tell. */
export function trigramsOf(literals: readonly string[]): Uint32Array {
  const buckets = new Set<number>();
  for (const literal of literals) {
    for (let i = 0; i + 2 < literal.length; i++) buckets.add(trigramAt(literal, i));
  }
  return Uint32Array.from(buckets);
}
