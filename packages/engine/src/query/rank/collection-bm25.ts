/**
 * BM25 with the statistics of the collection: what a term weighs and how a frequency saturates, by the live rows of a
 * snapshot. Records keep term frequencies, so none is touched when statistics move, and a score depends on the live
 * records alone, wherever their rows are.
 *
 *   score = sum over the query's terms of q * idf * tf (k + 1) / (tf + k (1 - b + b length / average))
 *   idf = ln(1 + (N - n + 0.5) / (n + 0.5))
 *
 * (Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3; the idf is that of
 * Lucene, which is never negative.) q: the query's value of the term; n: documents that hold it. `documentLength` says
 * which of the N rows are documents, and how long they are.
 */
import type { Bm25Parameters } from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import type { SparseParts } from "../../index/sparse-parts.ts";
import {
  type LengthTotals,
  NO_LENGTHS,
  type Saturation,
  addTotals,
} from "../../segment/postings/document-length.ts";
import type { Pace } from "../pace.ts";

/** In place of a `floor` of 0: a value is never divided by 0, and no value that counts is changed by it. */
const MIN_FLOOR = 2 ** -100;

/** By key. A snapshot is the same object until something changes. */
const known = new WeakMap<IndexSnapshot, Map<string, LengthTotals>>();

/** Of the live rows of a snapshot. `parts` are those of the key. */
export async function lengthTotals(
  key: string,
  parts: SparseParts,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<LengthTotals> {
  const byKey = known.get(snapshot) ?? new Map<string, LengthTotals>();
  known.set(snapshot, byKey);
  let totals = byKey.get(key);
  if (totals !== undefined) return totals;
  totals = NO_LENGTHS;
  for (const part of parts.blocks) {
    const mask = part.mask(snapshot.live);
    if (mask === null) continue;
    totals = addTotals(totals, part.block.totals(part.isWhole(mask) ? null : mask));
    await pace.breathe();
  }
  for (const tail of parts.tails) totals = addTotals(totals, tail.tail.totals(tail.mask(snapshot.live)));
  byKey.set(key, totals);
  return totals;
}

/** Computed in f64, each rounded once to f32. */
export function saturationOf({ k, b }: Bm25Parameters, { documents, length }: LengthTotals): Saturation {
  return {
    floor: Math.max(Math.fround(k * (1 - b)), MIN_FLOOR),
    slope: documents === 0 ? 0 : Math.fround((k * b) / (length / documents)),
  };
}

/** The f32 weight of each term: its value, times `(k + 1) * idf` that was computed in f64 and rounded to f32. */
export function bm25Weights(
  values: Float32Array,
  holders: Uint32Array,
  { k, documents }: { readonly k: number; readonly documents: number },
): Float32Array {
  return values.map((value, i) => {
    const odds = (documents - holders[i]! + 0.5) / (holders[i]! + 0.5);
    return value * Math.fround((k + 1) * Math.log(1 + odds));
  });
}
