/**
 * When to stop probing. The best row of a list rises above its centroid's score in proportion to the list's spread;
 * how far is a matter of the data, so it is measured: rows of the segment serve as queries, and the reach is chosen
 * so that nearly all of their true neighbours lie within the bounds of their lists.
 */
import { norm } from "../../kernels/distance.ts";
import { type BoundedRow, Nearest } from "./nearest.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { ListOrder } from "./list-order.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import { SegmentScorer } from "./segment-scorer.ts";

const QUERIES = 128;
const NEIGHBOURS = 10;
/** Share of the true neighbours that must lie within the bounds. */
const WITHIN = 0.998;

/**
 * Fills `order` with the segment's lists by what their centroids say about their best rows. `bases`:
 * <centroid, query> by list; `length`: the query's.
 */
export function orderLists(
  segment: DenseSegment,
  order: ListOrder,
  bases: Float32Array,
  length: number,
): void {
  const { biases, spreads } = segment.lists;
  const { bounds } = order;
  const { reach } = segment;
  if (segment.shape.space === "l2") {
    for (let list = 0; list < bounds.length; list++) {
      const scale = scaleOf(segment, list, bases[list]!, length);
      bounds[list] = bases[list]! + biases[list]! + reach * spreads[list]! * scale;
    }
  } else {
    // Without biases, and with one scale for all.
    for (let list = 0; list < bounds.length; list++)
      bounds[list] = bases[list]! + reach * length * spreads[list]!;
  }
  order.restart();
}

function scaleOf(segment: DenseSegment, list: number, base: number, length: number): number {
  if (segment.shape.space !== "l2") return length;
  return Math.sqrt(Math.max(0, length ** 2 + segment.lists.centroidSquares[list]! - 2 * base));
}

/** Sets `segment.reach`, in slices of at most a millisecond. `origin`: what the vectors are relative to. */
export function* measureReach(segment: DenseSegment, origin: Float32Array): Generator<void, void> {
  const slots = sampleOf(segment);
  const scorer = new SegmentScorer(segment);
  const needed: number[] = [];
  const query = new Float32Array(segment.layout.width);
  for (const slot of slots) {
    segment.readVector(slot, query);
    // Only for l2 do queries move with the origin.
    if (segment.shape.space !== "l2") for (let j = 0; j < origin.length; j++) query[j]! += origin[j]!;
    const length = norm(query);
    scorer.load(query);
    const bases = scorer.scoreCentroids();
    const nearest = new Nearest(NEIGHBOURS);
    let { threshold } = nearest;
    for (let first = 0; first < segment.capacity; first += SLOTS_PER_CALL) {
      const scores = scorer.scoreRange(first, Math.min(SLOTS_PER_CALL, segment.capacity - first));
      for (const [i, score] of scores.entries()) {
        if (score <= threshold || first + i === slot || !segment.isLive(first + i)) continue;
        nearest.offer(first + i, score, 0);
        ({ threshold } = nearest);
      }
      yield;
    }
    const ranked = nearest.ranked().slice(0, NEIGHBOURS);
    // The best alone must be found too, against its own score.
    needed.push(neededReach(ranked[0], ranked[0]), ...ranked.map((row) => neededReach(row, ranked.at(-1))));

    function neededReach(row: BoundedRow | undefined, kth: BoundedRow | undefined): number {
      if (row === undefined || kth === undefined) return 0;
      const list = segment.listOf(row.row);
      const { biases, spreads } = segment.lists;
      const reach = spreads[list]! * scaleOf(segment, list, bases[list]!, length);
      return reach > 0 ? (kth.bound - bases[list]! - biases[list]!) / reach : 0;
    }
  }
  needed.sort((a, b) => a - b);
  segment.reach = Math.max(0, needed[Math.ceil(needed.length * WITHIN) - 1] ?? 1);
}

/** Live slots at even distances. */
function sampleOf(segment: DenseSegment): number[] {
  const live: number[] = [];
  for (let slot = 0; slot < segment.capacity; slot++) if (segment.isLive(slot)) live.push(slot);
  const count = Math.min(QUERIES, live.length);
  return Array.from({ length: count }, (_, i) => live[Math.floor((i * live.length) / count)]!);
}
