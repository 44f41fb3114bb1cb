/**
 * The trigrams of a text as numbers below `TRIGRAM_BUCKETS`: every three consecutive UTF-16 code units, folded to one
 * case and hashed. A text that contains another has all of its buckets, whatever the case of either. Folding needs
 * not agree with any table of Unicode: it only has to be the same function for documents and for what is asked of them.
 */

export const TRIGRAM_BUCKETS = 2_048;
const SHIFT = 32 - Math.log2(TRIGRAM_BUCKETS);
/** Below lie the alphabets that have two cases, but for a few; code units above stay as they are. */
const FOLDED_UNITS = 0x2200;
const FOLDED = Uint16Array.from({ length: FOLDED_UNITS }, (_, unit) => foldAlone(unit));

/** The same for the cases of one letter, the long s and the Kelvin sign among them. */
export function foldUnit(unit: number): number {
  return unit < FOLDED_UNITS ? FOLDED[unit]! : unit;
}

/** The bucket of three folded code units. */
export function trigramBucket(first: number, second: number, third: number): number {
  const units =
    Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b) ^ Math.imul(third, 0xc2b2_ae35);
  return Math.imul(units ^ (units >>> 15), 0x2c1b_3c6d) >>> SHIFT;
}

/** Code units of a text that are looked at: more rule out hardly more, and a text may have millions. */
const LOOKED_AT = 2_048;

/** Buckets that every text containing `text` has; empty if it is too short to tell. */
export function trigramsOf(text: string): readonly number[] {
  const buckets = new Set<number>();
  const length = Math.min(text.length, LOOKED_AT);
  const units = Array.from({ length }, (_, i) => foldUnit(text.charCodeAt(i)));
  for (let i = 0; i + 2 < units.length; i++) {
    buckets.add(trigramBucket(units[i]!, units[i + 1]!, units[i + 2]!));
  }
  return [...buckets];
}

/** Letters whose other case takes more than one code unit stay as they are. */
function foldAlone(unit: number): number {
  const upper = String.fromCharCode(unit).toUpperCase();
  const lower = upper.toLowerCase();
  return upper.length === 1 && lower.length === 1 ? lower.charCodeAt(0) : unit;
}
