/**
 * The nearest rows of an index's segments: collects the rows that may be among them, by the way that fits how many
 * rows pass the filter, and compares those by exact distance. Pauses about every millisecond; rows that are put or
 * removed meanwhile may be missed.
 */
import type { Space } from "@sheaf/protocol";
import { norm } from "../../kernels/distance.ts";
import type { DenseQuery, ScoreSlack } from "./dense-query.ts";
import { KthBest, Nearest } from "./nearest.ts";
import type { SegmentSet } from "./segment-set.ts";

export interface Hit {
  readonly row: number;
  readonly distance: number;
}

export interface SegmentsView {
  readonly space: Space;
  readonly segments: SegmentSet;
  /** What the segments' vectors are relative to; `null`: nothing, which is so for all spaces but l2. */
  readonly origin: Float32Array | null;
}

export interface SegmentsRequest {
  readonly k: number;
  readonly mask: Uint32Array | null;
  readonly exact: boolean;
  /** Exact distance of the query to a row from the store; `null` for one that is gone. */
  readonly distanceTo: (row: number) => number | null;
  /** Whether the caller wants a row at all, whose vector is here. */
  readonly isWanted: (row: number) => boolean;
}

/** Longer vectors overflow the kernels' sums. */
export const MAX_LENGTH = 2 ** 50;
/** More neighbours than this are found by scoring every row. */
const MAX_ESTIMATED_K = 1_000;
/** Up to this share of the rows, those of a mask are looked at one by one. */
const GATHER_SHARE = 0.08;
/** So many deviations count as the most that a bf16 score is off, where no certainty is asked for. */
const HALF_CONFIDENCE = 4;
/** Exact distances per neighbour asked for, and beside them; only a doubtful ranking needs more. */
const READS_PER_NEIGHBOUR = 4;
const MORE_READS = 256;
/** Exact distances between two pauses. */
const READS_PER_STEP = 64;

/** `prepared`: the query as `prepare` left it. At least the k nearest rows, in no order. */
export function* searchSegments(
  view: SegmentsView,
  prepared: Float32Array,
  request: SegmentsRequest,
): Generator<void, Hit[]> {
  const { segments, space, origin } = view;
  const vector = relativeTo(origin, prepared);
  const length = norm(vector);
  const mask = request.mask === null ? null : coverRows(request.mask, segments.rowLimit);
  if (!(length <= MAX_LENGTH)) return yield* everyHit(segments, mask, request);
  const k = Math.min(request.k, segments.size);
  const wanted = mask === null ? segments.size : segments.countOf(mask);
  const certain = request.exact || k > MAX_ESTIMATED_K || wanted <= k;
  const slack = slackOfScores(origin, prepared, length * (certain ? 1 : likelyShare(prepared.length)));
  const isStored = segments.searches.some(({ segment }) => !segment.hasRows);
  const distanceTo = isStored ? remembering(request.distanceTo) : request.distanceTo;
  const toScore = scoreOfDistance(space, length);
  const scoreOf = (row: number): number | null => {
    const distance = distanceTo(row);
    return distance === null ? null : toScore(distance);
  };
  const query: DenseQuery = { k, vector, length, slack, scoreOf, mask, nearest: new Nearest(k) };
  if (certain || (mask !== null && wanted <= GATHER_SHARE * segments.size)) {
    for (const [search, slots] of segments.slotsBySegment(mask))
      yield* certain ? search.score(query, slots) : search.estimate(query, slots);
  } else {
    for (const search of segments.searches) yield* search.probe(query);
  }
  const reads = certain ? Infinity : READS_PER_NEIGHBOUR * k + MORE_READS;
  const exactDistance = (row: number): number | null => {
    const score = segments.exactScore(row, vector);
    if (score === null) return distanceTo(row);
    return request.isWanted(row) ? Math.fround(1 - score) : null;
  };
  return yield* exactHits(query, exactDistance, { reads, scoreOf: toScore });
}

/** Exact distances of the ranked rows, until no later one can be nearer than the k-th. */
function* exactHits(
  { k, nearest }: DenseQuery,
  distanceTo: (row: number) => number | null,
  limits: { reads: number; scoreOf: (distance: number) => number },
): Generator<void, Hit[]> {
  const hits: Hit[] = [];
  const best = new KthBest(k);
  for (const { row, bound } of nearest.ranked()) {
    if (hits.length >= k && (bound < limits.scoreOf(-best.value) || hits.length >= limits.reads)) break;
    const distance = distanceTo(row);
    if (distance === null) continue;
    best.offer(-distance);
    hits.push({ row, distance });
    if (hits.length % READS_PER_STEP === 0) yield;
  }
  return hits;
}

/** Segments without rows of their own ask for the distances that the ranking then asks for again. */
function remembering(distanceTo: (row: number) => number | null): (row: number) => number | null {
  const known = new Map<number, number | null>();
  return (row) => {
    let distance = known.get(row);
    if (distance === undefined) known.set(row, (distance = distanceTo(row)));
    return distance;
  };
}

/** The score that a row at this distance has; inverse of what `kernels/distance.ts` defines. */
function scoreOfDistance(space: Space, length: number): (distance: number) => number {
  return space === "l2" ? (distance) => (length ** 2 - distance) / 2 : (distance) => 1 - distance;
}

/** More than all that f32 sums can be off, of scores and of exact distances, beside what bf16 lost. */
function slackOfScores(origin: Float32Array | null, prepared: Float32Array, perLoss: number): ScoreSlack {
  const reach = norm(prepared) + (origin === null ? 0 : norm(origin));
  return { reach, perSquare: (prepared.length / 16 + 8) * 2 ** -22, perLoss };
}

/** What bf16 loses points in a random direction, of which a query sees this share of the length. */
function likelyShare(dimension: number): number {
  return Math.min(1, HALF_CONFIDENCE / Math.sqrt(dimension));
}

function* everyHit(
  segments: SegmentSet,
  mask: Uint32Array | null,
  { distanceTo }: SegmentsRequest,
): Generator<void, Hit[]> {
  const hits: Hit[] = [];
  for (const [{ segment }, slots] of segments.slotsBySegment(mask)) {
    for (const slot of slots) {
      const row = segment.rows[slot]!;
      const distance = distanceTo(row);
      if (distance !== null) hits.push({ row, distance });
      if (hits.length % READS_PER_STEP === 0) yield;
    }
  }
  return hits;
}

/** Relative to an origin, padded with zeros to the segments' width; the vector itself where that changes nothing. */
export function relativeTo(origin: Float32Array | null, vector: Float32Array): Float32Array {
  if (origin === null && vector.length % 16 === 0) return vector;
  const relative = new Float32Array(Math.ceil(vector.length / 16) * 16);
  if (origin === null) relative.set(vector);
  else for (let j = 0; j < vector.length; j++) relative[j] = vector[j]! - origin[j]!;
  return relative;
}

/** Segments look up every row that they ever had. */
function coverRows(mask: Uint32Array, rows: number): Uint32Array {
  if (mask.length * 32 >= rows) return mask;
  const covering = new Uint32Array(Math.ceil(rows / 32));
  covering.set(mask);
  return covering;
}
