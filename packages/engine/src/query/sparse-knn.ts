/**
 * Sparse nearest neighbours among the filtered rows: those that share a term with the query, by
 * (1 - dot product, insertion order). The same to the bit wherever a row's vector is kept.
 */
import { type RowSet, SEGMENT_ROWS } from "../index/row-set.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { type SparseBlock, TERMS_PER_CALL, type WeightedTerms } from "../index/sparse-block.ts";
import { type SparseParts, sparseParts } from "../index/sparse-parts.ts";
import { TermNumbers } from "../index/term-numbers.ts";
import { type Nearest, TopK } from "../index/top-k.ts";
import type { Pace } from "./pace.ts";

export interface SparseQuery {
  readonly key: string;
  /** Ascending. */
  readonly terms: Uint32Array;
  /** One per term. */
  readonly values: Float32Array;
  /** A term counts the more, the fewer of the snapshot's records hold it. */
  readonly idf: boolean;
  /** At least 1. */
  readonly k: number;
}

export async function sparseKnn(
  query: SparseQuery,
  rows: RowSet,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Nearest> {
  const parts = sparseParts(snapshot, query.key);
  const { terms } = query;
  const weights = query.idf ? await idfWeights(query, parts, snapshot, pace) : query.values;
  const batches = batchesOf({ terms, weights });
  const top = new TopK(query.k);
  const push = (position: number, distance: number): void =>
    top.push(distance, snapshot.offset(position), position);
  for (const part of parts.blocks) {
    const mask = part.mask(rows);
    if (mask === null) continue;
    const found = (row: number, distance: number): void => push(part.position(row), distance);
    await searchBlock(part.block, batches, () => part.block.collect(mask, top, found), pace);
    await pace.breathe();
  }
  const numbers = numbersOf(terms);
  for (const { tail, segment } of parts.tails) {
    tail.score({ query: numbers, weights }, rows.segment(segment), (row, sum) =>
      push(segment * SEGMENT_ROWS + row, Math.fround(1 - sum)),
    );
    await pace.breathe();
  }
  return top.sorted();
}

/** Values times ln(1 + (n - nt + 0.5) / (nt + 0.5)); n is the number of records, nt of those that hold the term. */
async function idfWeights(
  { terms, values }: SparseQuery,
  parts: SparseParts,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Float32Array> {
  const holders = await countHolders(terms, parts, snapshot, pace);
  return values.map((value, i) => {
    const odds = (snapshot.size - holders[i]! + 0.5) / (holders[i]! + 0.5);
    return value * Math.fround(Math.log(1 + odds));
  });
}

async function countHolders(
  terms: Uint32Array,
  { blocks, tails }: SparseParts,
  { live }: IndexSnapshot,
  pace: Pace,
): Promise<Uint32Array> {
  const holders = new Uint32Array(terms.length);
  for (const part of blocks) {
    const mask = part.mask(live);
    if (mask === null) continue;
    const counted = part.isWhole(mask) ? null : mask;
    for (let from = 0; from < terms.length; from += TERMS_PER_CALL) {
      const counts = part.block.count(terms.subarray(from, from + TERMS_PER_CALL), counted);
      counts.forEach((count, i) => (holders[from + i]! += count));
      await pace.breathe();
    }
  }
  const numbers = numbersOf(terms);
  for (const { tail, segment } of tails) tail.count(numbers, live.segment(segment), holders);
  return holders;
}

/** Other searches use the block's sums whenever this one waits, so none are left there then. */
async function searchBlock(
  block: SparseBlock,
  batches: readonly WeightedTerms[],
  collect: () => void,
  pace: Pace,
): Promise<void> {
  for (const [i, batch] of batches.entries()) {
    block.add(batch);
    if (i === batches.length - 1) return collect();
    const sums = block.takeSums();
    await pace.breathe();
    block.putSums(sums);
  }
}

function batchesOf({ terms, weights }: WeightedTerms): WeightedTerms[] {
  return Array.from({ length: Math.ceil(terms.length / TERMS_PER_CALL) }, (_, i) => ({
    terms: terms.subarray(i * TERMS_PER_CALL, (i + 1) * TERMS_PER_CALL),
    weights: weights.subarray(i * TERMS_PER_CALL, (i + 1) * TERMS_PER_CALL),
  }));
}

function numbersOf(terms: Uint32Array): TermNumbers {
  const numbers = new TermNumbers();
  for (const term of terms) numbers.add(term);
  return numbers;
}
