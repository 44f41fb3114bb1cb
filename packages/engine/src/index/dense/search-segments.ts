/**
 * The nearest rows of an index's segments: collects the rows that may be among them, by the way that fits how many
 * rows pass the filter, and compares those by exact distance.
 */
import type { Space } from "@sheaf/protocol";
import { norm } from "../../kernels/distance.ts";
import { countBits } from "../row-set.ts";
import type { DenseQuery } from "./dense-query.ts";
import { Nearest } from "./nearest.ts";
import type { SegmentSet } from "./segment-set.ts";

export interface Hit {
  readonly row: number;
  readonly distance: number;
}

export interface SegmentsView {
  readonly space: Space;
  readonly segments: SegmentSet;
  /** What the segments' vectors are relative to. */
  readonly origin: Float32Array;
  /** Length of the longest vector, relative to the origin. */
  readonly longest: number;
  /** Length of the most that bf16 lost of one. */
  readonly lost: number;
  /** Exact distance of the query to a row. */
  readonly distanceTo: (row: number) => number;
}

export interface SegmentsRequest {
  readonly k: number;
  readonly mask: Uint32Array | null;
  readonly exact: boolean;
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

/** `prepared`: the query as `prepare` left it. At least the k nearest rows, in no order. */
export function searchSegments(view: SegmentsView, prepared: Float32Array, request: SegmentsRequest): Hit[] {
  const { segments, space } = view;
  const vector = relativeTo(space === "l2" ? view.origin : null, prepared);
  const length = norm(vector);
  const mask = request.mask === null ? null : coverRows(request.mask, segments.rowLimit);
  if (!(length <= MAX_LENGTH)) return everyHit(view, mask);
  const k = Math.min(request.k, segments.size);
  const wanted = mask === null ? segments.size : countBits(mask);
  const certain = request.exact || k > MAX_ESTIMATED_K || wanted <= k;
  const slack = rounding(view, prepared) + view.lost * length * (certain ? 1 : likelyShare(prepared.length));
  const query: DenseQuery = { k, vector, length, mask, nearest: new Nearest(k, 2 * slack) };
  if (certain) {
    for (const [search, slots] of segments.slotsBySegment(mask)) search.score(query, slots);
  } else if (wanted <= GATHER_SHARE * segments.size) {
    for (const [search, slots] of segments.slotsBySegment(mask)) search.estimate(query, slots);
  } else {
    for (const search of segments.searches) search.probe(query);
  }
  return exactHits(view, query, {
    slack,
    reads: certain ? Infinity : READS_PER_NEIGHBOUR * k + MORE_READS,
    scoreOf: scoreOfDistance(view, prepared, length),
  });
}

/** Exact distances of the ranked rows, until no later one can be nearer than the k-th. */
function exactHits(
  view: SegmentsView,
  { k, nearest }: DenseQuery,
  limits: { slack: number; reads: number; scoreOf: (distance: number) => number },
): Hit[] {
  const hits: Hit[] = [];
  let worst = -Infinity;
  for (const { row, score } of nearest.ranked()) {
    if (hits.length >= k && (score + limits.slack < limits.scoreOf(worst) || hits.length >= limits.reads))
      break;
    const distance = view.distanceTo(row);
    // The k-th distance only falls from here on: the largest of the first k is a bound that is good enough.
    if (hits.length < k && distance > worst) worst = distance;
    hits.push({ row, distance });
  }
  return hits;
}

/** The score that a row at this distance has; inverse of what `kernels/distance.ts` defines. */
function scoreOfDistance(view: SegmentsView, prepared: Float32Array, length: number) {
  if (view.space === "l2") return (distance: number): number => (length ** 2 - distance) / 2;
  const base = prepared.reduce((sum, x, j) => sum + x * view.origin[j]!, 0);
  return (distance: number): number => 1 - distance - base;
}

/** More than all that f32 sums can be off, of scores and of exact distances. */
function rounding({ longest, origin }: SegmentsView, prepared: Float32Array): number {
  const reach = longest + norm(origin) + norm(prepared);
  return (prepared.length / 16 + 8) * 2 ** -22 * (reach ** 2 + 1);
}

/** What bf16 loses points in a random direction, of which a query sees this share of the length. */
function likelyShare(dimension: number): number {
  return Math.min(1, HALF_CONFIDENCE / Math.sqrt(dimension));
}

function everyHit({ segments, distanceTo }: SegmentsView, mask: Uint32Array | null): Hit[] {
  return [...segments.slotsBySegment(mask)].flatMap(([{ segment }, slots]) =>
    slots.map((slot) => ({ row: segment.rows[slot]!, distance: distanceTo(segment.rows[slot]!) })),
  );
}

/** Relative to an origin, padded with zeros to the segments' width. */
export function relativeTo(origin: Float32Array | null, vector: Float32Array): Float32Array {
  const relative = new Float32Array(Math.ceil(vector.length / 16) * 16);
  for (let j = 0; j < vector.length; j++) relative[j] = vector[j]! - (origin === null ? 0 : origin[j]!);
  return relative;
}

/** Segments look up every row that they ever had. */
function coverRows(mask: Uint32Array, rows: number): Uint32Array {
  if (mask.length * 32 >= rows) return mask;
  const covering = new Uint32Array(Math.ceil(rows / 32));
  covering.set(mask);
  return covering;
}
