/**
 * Which trigrams the documents of some rows have, as bits: who asks for a text looks at one bitset over the rows for each
 * of its trigrams. A bucket stands for many trigrams, so the rows that are left over may still not match; a row that is
 * ruled out never does.
 */
import type { TrigramQuery } from "./trigram-query.ts";

/** Bitsets over rows; words that are missing at the end are zero. */
export interface SignatureBits {
  /** Rows with a document… */
  readonly documents: Uint32Array;
  /** … and those of them that were not looked into, and so are never ruled out. */
  readonly unknown: Uint32Array;
  /** Rows that have a trigram of the bucket. */
  bucket(bucket: number): Uint32Array;
}

export interface Signatures extends SignatureBits {
  /** The rows with a document that the query does not rule out. */
  having(query: TrigramQuery): Uint32Array;
}

export function rowsHaving(bits: SignatureBits, query: TrigramQuery): Uint32Array {
  const rows = bits.documents.slice();
  if (query.all.length === 0 && query.any.length === 0) return rows;
  narrow(bits, rows, query);
  const { unknown } = bits;
  for (let word = 0; word < unknown.length; word++) rows[word]! |= unknown[word]!;
  return rows;
}

/** Leaves of the rows those that satisfy the query. */
function narrow(bits: SignatureBits, rows: Uint32Array, { all, any }: TrigramQuery): void {
  for (const bucket of all) {
    const words = bits.bucket(bucket);
    for (let word = 0; word < words.length; word++) rows[word]! &= words[word]!;
    rows.fill(0, words.length);
  }
  for (const queries of any) {
    const found = new Uint32Array(rows.length);
    for (const query of queries) {
      const left = rows.slice();
      narrow(bits, left, query);
      for (let word = 0; word < found.length; word++) found[word]! |= left[word]!;
    }
    rows.set(found);
  }
}
