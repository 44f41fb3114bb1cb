/**
 * Sparse nearest neighbours among the filtered rows: those that share a term with the query, by
 * (1 - dot product, insertion order).
 */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { type RowSet, SEGMENT_ROWS } from "../index/row-set.ts";
import { SparseSums } from "../index/sparse-postings.ts";
import { type Nearest, TopK } from "../index/top-k.ts";
import type { Pace } from "./pace.ts";

const POSTINGS_PER_BREATH = 65_536;

export interface SparseQuery {
  readonly key: string;
  /** Ascending. */
  readonly terms: Uint32Array;
  /** One per term, idf included. */
  readonly weights: Float32Array;
  /** At least 1. */
  readonly k: number;
}

export async function sparseKnn(
  { key, terms, weights, k }: SparseQuery,
  rows: RowSet,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Nearest> {
  const top = new TopK(k);
  const into = new SparseSums();
  let work = 0;
  for (const [index, segment] of snapshot.segments.entries()) {
    const postings = segment.postings(key);
    if (postings === undefined) continue;
    const mask = rows.segment(index);
    if (mask.every((word) => word === 0)) continue;
    for (let i = 0; i < terms.length; i++) {
      work += 1 + postings.accumulate(terms[i]!, weights[i]!, into);
      if (work < POSTINGS_PER_BREATH) continue;
      work = 0;
      await pace.breathe();
    }
    for (const row of into.rows(mask)) {
      top.push(Math.fround(1 - into.sums[row]!), segment.offsets[row]!, index * SEGMENT_ROWS + row);
    }
    into.clear();
  }
  await pace.breathe();
  return top.sorted();
}
