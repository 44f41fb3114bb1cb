/**
 * The length of a document, as BM25 with the statistics of a collection counts it: the sum of the term frequencies that
 * its sparse vector has. Lengths are whole numbers, so their sums do not depend on how rows are spread over segments.
 */

/** About the terms that two documents of the largest request have; sums of 2^29 such lengths are exact in f64. */
export const MAX_DOCUMENT_LENGTH = 2 ** 24;

/**
 * The sum in f64, in the order of the terms, of the values above 0, rounded (halves up) and brought within 1 and
 * `MAX_DOCUMENT_LENGTH`. Exact in f32. 0: the vector has no term, the row is no document of the statistics.
 */
export function documentLength(values: Float32Array): number {
  if (values.length === 0) return 0;
  let sum = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > 0) sum += values[i]!;
  return Math.min(MAX_DOCUMENT_LENGTH, Math.max(1, Math.round(sum)));
}

/** Both f32. `floor` is above 0. */
export interface Saturation {
  readonly floor: number;
  readonly slope: number;
}

/** What the frequencies of a document of that length are divided by beside themselves. As `addFrequencies` computes it. */
export function restOf({ floor, slope }: Saturation, length: number): number {
  return Math.fround(floor + Math.fround(slope * length));
}

export function saturated(value: number, rest: number): number {
  const frequency = Math.max(value, 0);
  return Math.fround(frequency / Math.fround(frequency + rest));
}

/** Documents and the sum of their lengths. */
export interface LengthTotals {
  readonly documents: number;
  readonly length: number;
}

export const NO_LENGTHS: LengthTotals = { documents: 0, length: 0 };

export function addTotals(a: LengthTotals, b: LengthTotals): LengthTotals {
  return { documents: a.documents + b.documents, length: a.length + b.length };
}

/** Of the rows whose bit is as `isSet` says. `mask`: a bit for each row. */
export function totalsWhere(lengths: Float32Array, mask: Uint32Array, isSet: boolean): LengthTotals {
  let documents = 0;
  let length = 0;
  const flip = isSet ? 0 : -1;
  for (let index = 0; index < lengths.length / 32; index++) {
    for (let word = mask[index]! ^ flip; word !== 0; word &= word - 1) {
      const of = lengths[index * 32 + 31 - Math.clz32(word & -word)]!;
      if (of > 0) documents++;
      length += of;
    }
  }
  return { documents, length };
}
