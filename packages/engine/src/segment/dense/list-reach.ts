/**
 * When to stop probing. The best row of a list rises above its centroid's score in proportion to the list's spread;
 * how far is a matter of the data, so it is measured: rows of the segment serve as queries, and the reach is chosen
 * so that nearly all of their true neighbours lie within the bounds of their lists.
 */
import { norm } from "../../kernels/distance.ts";
import { type BoundedRow, Nearest } from "./nearest.ts";
import { listBits } from "../bits.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { ListOrder } from "./list-order.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import { SegmentScorer } from "./segment-scorer.ts";

const QUERIES = 128;
const NEIGHBOURS = 10;
/** Share of the true neighbours that must lie within the bounds. */
const WITHIN = 0.998;
/** Of a query's nearest rows, so many tell how far the best of a segment rise. */
const BEST = 3;
/** What a filter may leave of a segment: every so many slots, and none of the query's own list. */
const FILTERED_STEP = 20;

/** How many spreads, per unit of a query's scale, rows may rise above their centroid's score. */
export interface Reach {
  /** Of the ten nearest of a segment. */
  readonly unfiltered: number;
  /**
   * Of the very nearest of a segment. Where ten are asked of ten segments, each holds one of them, which is measured by itself
   * and not by a tenth. No less than `unfiltered`; 0 in files of before it was measured.
   */
  readonly best: number;
  /** Of the nearest among few rows. They are further away, where their lists tell less about them. */
  readonly filtered: number;
}

/**
 * Fills `order` with the segment's lists by what their centroids say about their best rows. `bases`:
 * <centroid, query> by list; `length`: the query's; `reach`: that of the segment which fits the filter.
 */
export function orderLists(
  segment: DenseSegment,
  order: ListOrder,
  bases: Float32Array,
  { length, reach }: { readonly length: number; readonly reach: number },
): void {
  const { biases, spreads } = segment.lists;
  const { bounds } = order;
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

/** For a search that expects this many of the neighbours it asks for in the segment. */
export function reachFor({ unfiltered, best }: Reach, expected: number): number {
  if (expected >= NEIGHBOURS) return unfiltered;
  const share = (NEIGHBOURS - Math.max(1, expected)) / (NEIGHBOURS - 1);
  return unfiltered + share * Math.max(0, best - unfiltered);
}

function scaleOf(segment: DenseSegment, list: number, base: number, length: number): number {
  if (segment.shape.space !== "l2") return length;
  return Math.sqrt(Math.max(0, length ** 2 + segment.lists.centroidSquares[list]! - 2 * base));
}

/** Sets `segment.reach`, in slices of at most a millisecond. */
export function* measureReach(segment: DenseSegment): Generator<void, void> {
  const scorer = new SegmentScorer(segment);
  const needed: Record<keyof Reach, number[]> = { unfiltered: [], best: [], filtered: [] };
  const query = new Float32Array(segment.layout.width);
  for (const slot of sampleOf(segment)) {
    segment.readVector(slot, query);
    const length = norm(query);
    scorer.load(query);
    scorer.scoreCentroids();
    const nearest = { unfiltered: new Nearest(NEIGHBOURS), filtered: new Nearest(NEIGHBOURS) };
    const list = segment.listOf(slot);
    for (let first = 0; first < segment.capacity; first += SLOTS_PER_CALL) {
      const scores = scorer.scoreRange(first, Math.min(SLOTS_PER_CALL, segment.capacity - first));
      offer(nearest.unfiltered, first, scores, { step: 1, passes: (other) => other !== slot });
      const passes = (other: number): boolean => segment.listOf(other) !== list;
      offer(nearest.filtered, first, scores, { step: FILTERED_STEP, passes });
      yield;
    }
    for (const way of ["unfiltered", "filtered"] as const) {
      const ranked = nearest[way].ranked().slice(0, NEIGHBOURS);
      const [best] = ranked;
      const kth = ranked.at(-1);
      if (best === undefined || kth === undefined) continue;
      // The best alone must be found too, against its own score.
      needed[way].push(
        neededReach(best, best, length),
        ...ranked.map((row) => neededReach(row, kth, length)),
      );
      if (way === "unfiltered")
        needed.best.push(...ranked.slice(0, BEST).map((row) => neededReach(row, row, length)));
    }
  }
  const unfiltered = quantile(needed.unfiltered);
  const best = Math.max(unfiltered, quantile(needed.best));
  segment.reach = { unfiltered, best, filtered: Math.max(unfiltered, quantile(needed.filtered)) };

  function offer(nearest: Nearest, first: number, scores: Float32Array, filter: SlotFilter): void {
    const { step, passes } = filter;
    let { threshold } = nearest;
    for (let i = (step - (first % step)) % step; i < scores.length; i += step) {
      if (scores[i]! <= threshold || !segment.isPlaced(first + i) || !passes(first + i)) continue;
      nearest.offer(first + i, scores[i]!, 0);
      ({ threshold } = nearest);
    }
  }

  function neededReach(row: BoundedRow, kth: BoundedRow, length: number): number {
    const list = segment.listOf(row.row);
    const { biases, spreads } = segment.lists;
    const base = scorer.bases[list]!;
    const reach = spreads[list]! * scaleOf(segment, list, base, length);
    return reach > 0 ? (kth.bound - base - biases[list]!) / reach : 0;
  }
}

interface SlotFilter {
  /** Only multiples of it. */
  readonly step: number;
  readonly passes: (slot: number) => boolean;
}

function quantile(needed: number[]): number {
  needed.sort((a, b) => a - b);
  return Math.max(0, needed[Math.ceil(needed.length * WITHIN) - 1] ?? 1);
}

/** Slots with a row at even distances. */
function sampleOf(segment: DenseSegment): number[] {
  const slots = listBits(segment.placed);
  const count = Math.min(QUERIES, slots.length);
  return Array.from({ length: count }, (_, i) => slots[Math.floor((i * slots.length) / count)]!);
}
