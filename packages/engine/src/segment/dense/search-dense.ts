/**
 * The nearest rows of a snapshot's segments by their codes: collects the rows that may be among them, by the way that
 * fits how many rows pass the filter, and compares those by exact distance. Every distance is the f32 that
 * `kernels/distance.ts` defines. Pauses about every millisecond; segments of a snapshot have their rows as long as it
 * does.
 */
import { norm } from "../../kernels/distance.ts";
import { AbsentTogether } from "../../storage/data-absent.ts";
import { type DenseTally, denseTally } from "../dense-tally.ts";
import { CandidatePool } from "./candidate-pool.ts";
import { copyingShare } from "./code-copies.ts";
import { type DenseQuery, type ScoreSlack } from "./dense-query.ts";
import { KthBest, Nearest } from "./nearest.ts";
import type { SegmentShape } from "./segment-layout.ts";
import type { SegmentSearch } from "./segment-search.ts";

/** Rows of one segment to look at, all of which have codes; not to be changed. */
export interface DenseDocs {
  readonly search: SegmentSearch;
  /** Position of its slot 0. */
  readonly base: number;
  /** A bit for each slot. */
  readonly docs: Uint32Array;
  readonly count: number;
  /** The same, listed; the same array every time. */
  readonly slots: () => Uint32Array;
}

export interface DenseSearch {
  /** As `prepare` left it. No longer than 2^40, as the rows. */
  readonly query: Float32Array;
  readonly k: number;
  /** Find the nearest with certainty, at the price of looking at every row. */
  readonly exact: boolean;
  /** Rows of the snapshot. */
  readonly size: number;
  /** Exact distance of the query to the record at a position. May throw. */
  readonly distanceAt: (position: number) => number;
  /** Told of positions that will most likely be asked for. May throw. Left out where asking for one by one is as good. */
  readonly ahead?: ((positions: readonly number[]) => void) | undefined;
  /** Counts how it goes. */
  readonly tally?: DenseTally | undefined;
}

export interface Hit {
  readonly position: number;
  readonly distance: number;
}

/** More neighbours than this are found by scoring every row. */
const MAX_ESTIMATED_K = 1_000;
/** Up to this share of the rows, those of a filter are looked at one by one. */
const GATHER_SHARE = 0.08;
/** So many deviations count as the most that a bf16 score is off, where no certainty is asked for. */
const HALF_CONFIDENCE = 4;
/** Exact distances per neighbour asked for, and beside them; only a doubtful ranking needs more. */
const READS_PER_NEIGHBOUR = 4;
const MORE_READS = 256;
/** Exact distances between two pauses. */
const READS_PER_STEP = 64;

/** At least the k nearest of the rows, in no order. `parts`: at least one, all of one shape. */
export function* searchDense(parts: readonly DenseDocs[], search: DenseSearch): Generator<void, Hit[]> {
  const { shape } = parts[0]!.search.segment;
  const { query: prepared } = search;
  const vector = relativeTo(shape.origin, prepared);
  const length = norm(vector);
  const wanted = parts.reduce((sum, { count }) => sum + count, 0);
  const k = Math.min(search.k, wanted);
  if (k === 0) return [];
  const certain = search.exact || k > MAX_ESTIMATED_K || wanted <= k;
  const slack = slackOfScores(shape, prepared, length * (certain ? 1 : likelyShare(prepared.length)));
  const isStored = parts.some((part) => part.search.segment.readable === "none");
  const distanceAt = isStored ? remembering(search.distanceAt) : search.distanceAt;
  const toScore = scoreOfDistance(shape, length);
  const scoreOf = (position: number): number => toScore(distanceAt(position));
  const { tally = denseTally() } = search;
  tally.exact = certain;
  const common = {
    k,
    vector,
    rotated: { vector: null, planes: null, levels: null },
    length,
    slack,
    scoreOf,
    nearest: new Nearest(k),
    tally,
    copying: copyingShare(),
  };
  const isGathered = wanted <= GATHER_SHARE * search.size;
  const absent = new AbsentTogether();
  const queryOf = (part: DenseDocs): DenseQuery => {
    const expected = (k * part.count) / wanted;
    return { ...common, expected, base: part.base, docs: part.docs };
  };
  if (isGathered && !certain) yield* estimateAll(parts, queryOf, absent);
  else
    for (const part of parts) {
      const query = queryOf(part);
      const steps = certain ? part.search.score(query, part.slots()) : part.search.probe(query);
      yield* absent.hearing(steps);
    }
  absent.require();
  const exactDistance = (position: number): number => {
    const part = partOf(parts, position);
    const score = part.search.exactScore(position - part.base, vector);
    return score === null ? distanceAt(position) : Math.fround(1 - score);
  };
  if (search.ahead !== undefined) {
    const isAbsent = (row: number): boolean => {
      const { search: found, base } = partOf(parts, row);
      return found.exactScore(row - base, vector) === null;
    };
    const likely = common.nearest.ranked().slice(0, Math.min(2 * k, MAX_ESTIMATED_K));
    search.ahead(likely.flatMap(({ row }) => (isAbsent(row) ? [row] : [])));
  }
  const reads = certain ? Infinity : READS_PER_NEIGHBOUR * k + MORE_READS;
  const hits = yield* exactHits(common, exactDistance, { reads, scoreOf: toScore });
  tally.rescored += hits.length;
  return hits;
}

/**
 * Begins in all parts before it goes on in one: the nearest rows rule out most of the others. Those that have to be read are,
 * once it is known which are the most promising of all parts.
 */
function* estimateAll(
  parts: readonly DenseDocs[],
  queryOf: (part: DenseDocs) => DenseQuery,
  absent: AbsentTogether,
): Generator<void, void> {
  const pool = new CandidatePool(queryOf(parts[0]!));
  const begun: Generator<void, void>[] = [];
  for (const part of parts) {
    const [{ search }, slots] = [part, part.slots()];
    const query = search.isRead ? pool.pooling(queryOf(part), search) : queryOf(part);
    const scan = yield* absent.hearing(search.begin(query, slots));
    if (scan !== undefined) begun.push(search.estimate(query, slots, scan));
  }
  yield* pool.read();
  for (const steps of begun) yield* absent.hearing(steps);
  yield* pool.read();
}

/** Exact distances of the ranked rows, until no later one can be nearer than the k-th. */
function* exactHits(
  { k, nearest }: Pick<DenseQuery, "k" | "nearest">,
  distanceAt: (position: number) => number,
  limits: { reads: number; scoreOf: (distance: number) => number },
): Generator<void, Hit[]> {
  const hits: Hit[] = [];
  const best = new KthBest(k);
  for (const { row: position, bound } of nearest.ranked()) {
    if (hits.length >= k && (bound < limits.scoreOf(-best.value) || hits.length >= limits.reads)) break;
    const distance = distanceAt(position);
    best.offer(-distance);
    hits.push({ position, distance });
    if (hits.length % READS_PER_STEP === 0) yield;
  }
  return hits;
}

/** The parts ascend by base. */
function partOf(parts: readonly DenseDocs[], position: number): DenseDocs {
  let at = parts.length - 1;
  while (parts[at]!.base > position) at--;
  return parts[at]!;
}

/** Segments without rows of their own ask for the distances that the ranking then asks for again. */
function remembering(distanceAt: (position: number) => number): (position: number) => number {
  const known = new Map<number, number>();
  return (position) => {
    let distance = known.get(position);
    if (distance === undefined) known.set(position, (distance = distanceAt(position)));
    return distance;
  };
}

/** The score that a row at this distance has; inverse of what `kernels/distance.ts` defines. */
function scoreOfDistance({ space }: SegmentShape, length: number): (distance: number) => number {
  return space === "l2" ? (distance) => (length ** 2 - distance) / 2 : (distance) => 1 - distance;
}

/** More than all that f32 sums can be off, of scores and of exact distances, beside what bf16 lost. */
function slackOfScores({ origin, space }: SegmentShape, prepared: Float32Array, perLoss: number): ScoreSlack {
  const reach = norm(prepared) + (origin === null ? 0 : norm(origin));
  // Distances of other spaces are 1 less a sum; of l2 only what is too small for an f32 does not grow with the vectors.
  const beside = space === "l2" ? 2 ** -120 : 1;
  return { reach, perSquare: (prepared.length / 16 + 8) * 2 ** -22, beside, perLoss };
}

/** What bf16 loses points in a random direction, of which a query sees this share of the length. */
function likelyShare(dimension: number): number {
  return Math.min(1, HALF_CONFIDENCE / Math.sqrt(dimension));
}

/** Relative to an origin, padded with zeros to the segments' width; the vector itself where that changes nothing. */
export function relativeTo(origin: Float32Array | null, vector: Float32Array): Float32Array {
  if (origin === null && vector.length % 16 === 0) return vector;
  const relative = new Float32Array(Math.ceil(vector.length / 16) * 16);
  if (origin === null) relative.set(vector);
  else for (let j = 0; j < vector.length; j++) relative[j] = vector[j]! - origin[j]!;
  return relative;
}
