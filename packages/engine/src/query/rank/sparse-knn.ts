/**
 * Sparse nearest neighbours among the filtered rows: those that share a term with the query, by
 * (1 - dot product, insertion order). The same to the bit wherever a row's vector is kept, and whoever searches it.
 */
import type { Bm25Parameters } from "@sheaf/protocol";
import type { RowSet } from "../../index/row-set.ts";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import type { SideThread } from "../../index/side-thread.ts";
import { type BlockPart, type SparseParts, prepareSparse, sparseParts } from "../../index/sparse-parts.ts";
import type { SparseSeat } from "../../segment/postings/sparse-seat.ts";
import type { LengthTotals } from "../../segment/postings/document-length.ts";
import { type SparseSums, TERMS_PER_CALL, type WeightedTerms } from "../../segment/postings/sparse-sums.ts";
import { TermNumbers } from "../../segment/postings/term-numbers.ts";
import { type Nearest, TopK } from "../../segment/top-k.ts";
import type { Pace } from "../pace.ts";
import { bm25Weights, lengthTotals, saturationOf } from "./collection-bm25.ts";

export interface SparseQuery {
  readonly key: string;
  /** Ascending. */
  readonly terms: Uint32Array;
  /** One per term. */
  readonly values: Float32Array;
  /** A term counts the more, the fewer of the snapshot's records hold it. */
  readonly idf: boolean;
  /** Values of rows are term frequencies, scored by BM25 with the snapshot's statistics, in place of `idf`. */
  readonly statistics?: Bm25Parameters | undefined;
  /** At least 1. */
  readonly k: number;
}

/** What the weights of a query's terms are made of, of all live records. */
export interface TermStatistics {
  readonly records: number;
  /** Those that hold each term. */
  readonly holders: Uint32Array;
  /** `null`: the key is not scored by BM25 with the statistics of the collection. */
  readonly totals: LengthTotals | null;
}

/** What each term of a query weighs, and what counts of the values of rows. */
export interface WeighedQuery extends Omit<WeightedTerms, "terms"> {
  /** Live rows that hold each term; `null`: they do not matter. */
  readonly holders: Uint32Array | null;
  /** Of BM25 with the statistics of the collection. */
  readonly totals: LengthTotals | null;
}

/** Values as they are. */
export function unweighed(weights: Float32Array): WeighedQuery {
  return { weights, saturation: null, holders: null, totals: null };
}

/** How a sparse search went. */
export interface SparsePath {
  weighed: WeighedQuery;
  blocks: number;
  tails: number;
}

export interface SparseContext {
  readonly snapshot: IndexSnapshot;
  readonly pace: Pace;
  /** Works while this thread does something else; `null`: there is none, or nothing else to do. */
  readonly sideThread: SideThread | null;
  /** Is told how it goes. */
  readonly path?: SparsePath;
  /** Of the collection; left out: the snapshot is all of it. */
  readonly statistics?: TermStatistics | null | undefined;
}

/** A block and its rows to look at. */
interface Share {
  readonly part: BlockPart;
  readonly mask: Uint32Array;
}

/** One that the side thread was given. */
interface PostedShare extends Share {
  readonly seat: SparseSeat;
  /** By which the seat knows it. */
  readonly search: number;
}

/** As many as fit into a word. */
let searches = 0;

/** Leaves to the side thread what it can do; what this resolves to does the rest, and what has not been begun by then. */
export async function beginSparse(
  query: SparseQuery,
  rows: RowSet,
  { snapshot, pace, sideThread, path, statistics }: SparseContext,
): Promise<() => Promise<Nearest>> {
  const reading = prepareSparse(snapshot, query.key, { signal: pace.signal });
  if (reading !== undefined) await reading;
  const parts = sparseParts(snapshot, query.key);
  const { terms, k } = query;
  const weighed = weigh(query, statistics ?? (await countTerms(query, parts, snapshot, pace)));
  const { weights, saturation } = weighed;
  if (path !== undefined) {
    path.weighed = weighed;
    path.blocks = parts.blocks.length;
    path.tails = parts.tails.length;
  }
  const batches = batchesOf({ terms, weights, saturation });
  const shares = sharesOf(parts, rows);
  const posted = sideThread === null ? [] : postTo(sideThread, shares, { batches, k });
  return async () => {
    const top = new TopK(k);
    // Many are out by their distance alone; offsets are cold memory.
    const push = (position: number, distance: number): void => {
      if (!(distance > top.bound)) top.push(distance, snapshot.offset(position), position);
    };
    const take = ({ seat, search, part }: PostedShare): boolean =>
      seat.take(search, (row, distance) => push(part.position(row), distance));
    let open = posted;
    // What is found already makes the bound that spares the rest most of its rows.
    const takeDone = (): void => {
      open = open.filter((share) => !(share.seat.isDone(share.search) && take(share)));
    };
    const searchHere = async ({ part, mask }: Share): Promise<void> => {
      const collect = (sums: SparseSums): void => {
        takeDone();
        sums.collect(mask, top, (row, distance) => push(part.position(row), distance));
      };
      await searchBlock(part.block.sums, batches, collect, pace);
      await pace.breathe();
    };
    for (const share of shares) if (!posted.some(({ part }) => part === share.part)) await searchHere(share);
    const numbers = numbersOf(terms);
    for (const tail of parts.tails) {
      tail.tail.score({ query: numbers, weights, saturation }, tail.mask(rows), (row, sum) =>
        push(tail.position(row), Math.fround(1 - sum)),
      );
      await pace.breathe();
    }
    // From the last on, while the side thread is at the first.
    for (let share = open.at(-1); share !== undefined; share = open.at(-1)) {
      open = open.slice(0, -1);
      if (share.seat.takeBack(share.search) || !take(share)) await searchHere(share);
    }
    return top.sorted();
  };
}

function sharesOf({ blocks }: SparseParts, rows: RowSet): Share[] {
  const shares: Share[] = [];
  for (const part of blocks) {
    const mask = part.mask(rows);
    if (mask !== null) shares.push({ part, mask });
  }
  return shares;
}

/** Those that the side thread takes: it must be told of all terms at once, and not be at another search there. */
function postTo(
  sideThread: SideThread,
  shares: readonly Share[],
  { batches, k }: { readonly batches: readonly WeightedTerms[]; readonly k: number },
): PostedShare[] {
  const [batch] = batches;
  if (batch === undefined || batches.length > 1) return [];
  searches = (searches + 1) | 0;
  const search = { number: searches, batch, k };
  const posted: PostedShare[] = [];
  sideThread.ready(shares.map(({ part }) => part.block)).forEach((seat, i) => {
    const share = shares[i]!;
    if (seat?.post(search, share.mask) === true) posted.push({ ...share, seat, search: search.number });
  });
  if (posted.length > 0) sideThread.ring();
  return posted;
}

/** What is counted for a query; `null`: its values are its weights. */
export async function termStatistics(
  query: SparseQuery,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<TermStatistics | null> {
  const reading = prepareSparse(snapshot, query.key, { signal: pace.signal });
  if (reading !== undefined) await reading;
  return countTerms(query, sparseParts(snapshot, query.key), snapshot, pace);
}

async function countTerms(
  { key, terms, idf, statistics }: SparseQuery,
  parts: SparseParts,
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<TermStatistics | null> {
  if (statistics === undefined && !idf) return null;
  const holders = await countHolders(terms, parts, snapshot, pace);
  const totals = statistics === undefined ? null : await lengthTotals(key, parts, snapshot, pace);
  return { records: snapshot.size, holders, totals };
}

/**
 * With `idf`, values times ln(1 + (n - nt + 0.5) / (nt + 0.5)); n is the number of records, nt of those that hold the term.
 */
function weigh({ values, statistics }: SparseQuery, counted: TermStatistics | null): WeighedQuery {
  if (counted === null) return unweighed(values);
  const { records, holders, totals } = counted;
  if (statistics !== undefined && totals !== null) {
    const weights = bm25Weights(values, holders, { k: statistics.k, documents: totals.documents });
    return { weights, saturation: saturationOf(statistics, totals), holders, totals };
  }
  const weights = values.map((value, i) => {
    const odds = (records - holders[i]! + 0.5) / (holders[i]! + 0.5);
    return value * Math.fround(Math.log(1 + odds));
  });
  return { weights, saturation: null, holders, totals: null };
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
      const counts = part.block.sums.count(terms.subarray(from, from + TERMS_PER_CALL), counted);
      counts.forEach((count, i) => (holders[from + i]! += count));
      await pace.breathe();
    }
  }
  const numbers = numbersOf(terms);
  for (const tail of tails) tail.tail.count(numbers, tail.mask(live), holders);
  return holders;
}

/** Other searches use the block's sums whenever this one waits, so none are left there then. */
async function searchBlock(
  sums: SparseSums,
  batches: readonly WeightedTerms[],
  collect: (sums: SparseSums) => void,
  pace: Pace,
): Promise<void> {
  for (const [i, batch] of batches.entries()) {
    sums.add(batch);
    if (i === batches.length - 1) return collect(sums);
    const taken = sums.takeSums();
    await pace.breathe();
    sums.putSums(taken);
  }
}

function batchesOf({ terms, weights, saturation }: WeightedTerms): WeightedTerms[] {
  return Array.from({ length: Math.ceil(terms.length / TERMS_PER_CALL) }, (_, i) => ({
    terms: terms.subarray(i * TERMS_PER_CALL, (i + 1) * TERMS_PER_CALL),
    weights: weights.subarray(i * TERMS_PER_CALL, (i + 1) * TERMS_PER_CALL),
    saturation,
  }));
}

function numbersOf(terms: Uint32Array): TermNumbers {
  const numbers = new TermNumbers();
  for (const term of terms) numbers.add(term);
  return numbers;
}
