/**
 * How far the rows of a segment rise above the centroids of their lists, which tells searches when to stop: some rows
 * serve as queries, and the reach is chosen so that nearly all of their true neighbours lie within the bounds of their
 * lists.
 */
import { norm } from "../../kernels/distance.ts";
import { placesOfBits } from "../bits.ts";
import { denseTally } from "../dense-tally.ts";
import { CandidateBuffer } from "./candidate-buffer.ts";
import { CodeGather } from "./code-gather.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { FastScan } from "./fast-scan.ts";
import { ListOrder } from "./list-order.ts";
import { ListProbe } from "./list-probe.ts";
import { NEIGHBOURS, type Reach, scaleOf } from "./list-reach.ts";
import { type BoundedRow, Nearest } from "./nearest.ts";
import { SegmentScorer } from "./segment-scorer.ts";

const QUERIES = 128;
/** Share of the true neighbours that must lie within the bounds. */
const WITHIN = 0.998;
/** Of a query's nearest rows, so many tell how far the best of a segment rise. */
const BEST = 3;
/** What a filter may leave of a segment: every so many slots, and none of the query's own list. */
const FILTERED_STEP = 20;

/** Sets `segment.reach`, in slices of about a millisecond. */
export function* measureReach(segment: DenseSegment): Generator<void, void> {
  const needed: Record<keyof Reach, number[]> = { unfiltered: [], best: [], filtered: [] };
  const slots = placesOfBits(segment.placed);
  yield;
  const measure = new ReachMeasure(segment, slots);
  yield;
  for (const slot of sampleOf(slots)) {
    const length = measure.load(slot);
    for (const way of ["unfiltered", "filtered"] as const) {
      const ranked = measure[way](slot, length).ranked().slice(0, NEIGHBOURS);
      yield;
      const [best] = ranked;
      const kth = ranked.at(-1);
      if (best === undefined || kth === undefined) continue;
      // The best alone must be found too, against its own score.
      needed[way].push(
        measure.needed(best, best, length),
        ...ranked.map((row) => measure.needed(row, kth, length)),
      );
      if (way === "unfiltered")
        needed.best.push(...ranked.slice(0, BEST).map((row) => measure.needed(row, row, length)));
    }
  }
  const unfiltered = quantile(needed.unfiltered);
  const best = Math.max(unfiltered, quantile(needed.best));
  segment.reach = { unfiltered, best, filtered: Math.max(unfiltered, quantile(needed.filtered)) };
}

/** The nearest neighbours of one row after the other, wherever they are: by codes, as searches find them. */
class ReachMeasure {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #probe: ListProbe;
  readonly #query: Float32Array;
  readonly #gather: CodeGather;
  readonly #filtered: Uint32Array;

  /** `slots`: that have a row. */
  constructor(segment: DenseSegment, slots: Uint32Array) {
    const { layout, lists } = segment;
    const scorer = new SegmentScorer(segment);
    const candidates = new CandidateBuffer(segment, scorer);
    const order = new ListOrder(lists.slots.length);
    const scan = new FastScan(segment, candidates);
    this.#segment = segment;
    this.#scorer = scorer;
    this.#probe = new ListProbe(segment, { scorer, candidates, order, scan });
    this.#gather = new CodeGather(segment, { scorer, candidates, order });
    this.#query = new Float32Array(layout.width);
    this.#filtered = slots.filter((slot) => slot % FILTERED_STEP === 0);
  }

  /** Takes the row as the query; its length. */
  load(slot: number): number {
    const { rotation } = this.#segment;
    this.#segment.readVector(slot, this.#query);
    this.#scorer.load(this.#query);
    rotation.vector.set(this.#query);
    rotation.vector.fill(0, this.#query.length);
    rotation.run();
    return norm(this.#query);
  }

  unfiltered(slot: number, length: number): Nearest {
    const docs = this.#segment.placed.slice();
    docs[slot >>> 5]! &= ~(1 << (slot & 31));
    const query = this.#queryOf(length, docs);
    this.#probe.search(query, { ofAll: true });
    return query.nearest;
  }

  filtered(slot: number, length: number): Nearest {
    const list = this.#segment.listOf(slot);
    const query = this.#queryOf(length, this.#segment.placed);
    const slots = this.#filtered.filter((other) => this.#segment.listOf(other) !== list);
    this.#gather.search(query, slots, true);
    return query.nearest;
  }

  /** The reach with which the bound of the row's list is the score of the k-th. */
  needed(row: BoundedRow, kth: BoundedRow, length: number): number {
    const list = this.#segment.listOf(row.row);
    const { biases, spreads } = this.#segment.lists;
    const base = this.#scorer.bases[list]!;
    const reach = spreads[list]! * scaleOf(this.#segment, list, base, length);
    return reach > 0 ? (kth.bound - base - biases[list]!) / reach : 0;
  }

  #queryOf(length: number, docs: Uint32Array): DenseQuery {
    return {
      ...{ k: NEIGHBOURS, expected: NEIGHBOURS, vector: this.#query, length, base: 0, docs },
      slack: { reach: 0, perSquare: 0, beside: 0, perLoss: 0 },
      scoreOf: () => -Infinity,
      nearest: new Nearest(NEIGHBOURS),
      tally: denseTally(),
      copying: { left: 0, atOnce: 0 },
      rotated: { vector: null, planes: null, levels: null },
    };
  }
}

function quantile(needed: number[]): number {
  needed.sort((a, b) => a - b);
  return Math.max(0, needed[Math.ceil(needed.length * WITHIN) - 1] ?? 1);
}

/** At even distances. */
function sampleOf(slots: Uint32Array): number[] {
  const count = Math.min(QUERIES, slots.length);
  return Array.from({ length: count }, (_, i) => slots[Math.floor((i * slots.length) / count)]!);
}
