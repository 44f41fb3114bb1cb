/**
 * The search of a segment by its lists: the most promising first, their rows estimated by FastScan, until no list
 * left can hold a row among the nearest.
 *
 * The bound of a list is its centroid's score plus reach * spread * scale, where the scale is the query's length, for
 * l2 its distance to the centroid. The reach is measured when a segment is sealed; see `list-reach.ts`.
 */
import { countOnes } from "../bits.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { CodePart } from "./dense-source.ts";
import type { FastScan } from "./fast-scan.ts";
import type { ListOrder } from "./list-order.ts";
import { orderLists, reachFor } from "./list-reach.ts";
import type { SegmentScorer } from "./segment-scorer.ts";

/** What the ways to search a segment share. */
export interface SearchParts {
  readonly scorer: SegmentScorer;
  readonly candidates: CandidateBuffer;
  readonly order: ListOrder;
  readonly scan: FastScan;
}

/** Codes that are looked at. */
export const PROBED: readonly CodePart[] = ["blocks", "factors", "biases"];

/** Which lists are looked through, by their places in the order of their bounds. */
export interface ProbedLists {
  /** However far they reach, which may not be known. */
  readonly ofAll?: boolean;
  readonly start?: number;
  /** Excluded. Codes of lists before it need not be in memory. */
  readonly end?: number;
}

/** Wanted rows to scan before the first candidates are scored, less than a list; each later stretch is twice as long. */
const FIRST_STRETCH = 128;
/** Slots handed to one call of the kernel: a tail is one long list. */
const SLOTS_PER_SCAN = 2_048;

export class ListProbe {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #candidates: CandidateBuffer;
  readonly #scan: FastScan;
  readonly #masks: Uint32Array;
  readonly #order: ListOrder;
  /** Whose bits the masks are. */
  #masked: Uint32Array | null = null;

  constructor(segment: DenseSegment, { scorer, candidates, order, scan }: SearchParts) {
    const { memory, at } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#candidates = candidates;
    this.#scan = scan;
    this.#masks = memory.u32(at.masks, segment.capacity / 32);
    this.#order = order;
  }

  /**
   * Offers the rows that can be among the nearest. The query is loaded in the scorer and rotated. `false`: there may be more
   * in the lists from `end` on.
   */
  search(query: DenseQuery, { ofAll = false, start = 0, end = Infinity }: ProbedLists = {}): boolean {
    this.#scan.load(query);
    this.#candidates.restart(query);
    if (this.#masked !== query.docs) this.#masks.set(query.docs);
    this.#masked = query.docs;
    const { length } = query;
    const reach = reachFor(this.#segment.reach, query.expected);
    const least = ofAll ? -Infinity : query.nearest.bar;
    orderLists(this.#segment, this.#order, this.#scorer.scoreCentroids(), { length, reach, least });
    // A tail has no order: only when all of it was estimated are its candidates worth scoring, but for a few that tell how
    // high others must be.
    const { firstSlots, slots } = this.#segment.lists;
    let stretch = slots.length === 1 ? Infinity : FIRST_STRETCH;
    let seen = 0;
    let probed = 0;
    let list = this.#order.take();
    for (; list >= 0 && probed < end; list = this.#order.take()) {
      if (!ofAll && this.#order.bounds[list]! < query.nearest.bar) break;
      if (probed++ < start) continue;
      const first = firstSlots[list]!;
      const last = Math.min(first + slots[list]!, roundUp(this.#segment.used));
      if (end < Infinity) this.#segment.loadSlots(PROBED, [first, last]);
      for (let slot = first; slot < last; slot += SLOTS_PER_SCAN) {
        seen += this.#scanSlots(query, list, slot, Math.min(slot + SLOTS_PER_SCAN, last));
        if (stretch === Infinity && query.nearest.bar === -Infinity) this.#candidates.offerBest(query);
        if (seen < stretch) continue;
        this.#candidates.drain(query);
        seen = 0;
        stretch *= 2;
      }
    }
    this.#candidates.drain(query);
    if (start === 0) query.tally.lists += slots.length;
    query.tally.listsProbed += Math.max(0, probed - start);
    return list < 0 || this.#order.bounds[list]! < query.nearest.bar;
  }

  /** Returns how many rows of the stretch were wanted, or a little more. */
  #scanSlots(query: DenseQuery, list: number, first: number, end: number): number {
    const { at, codeBytes } = this.#segment.layout;
    let wanted = 0;
    for (let word = first / 32; word < end / 32; word++) wanted += countOnes(query.docs[word]!);
    this.#scan.run({
      codes: at.blocks + first * codeBytes,
      blocks: (end - first) / 32,
      factors: at.factors + first * 4,
      biases: at.biases + first * 4,
      masks: at.masks + first / 8,
      firstId: first,
      base: this.#scorer.bases[list]!,
      areFar: this.#order.bounds.length === 1,
    });
    return wanted;
  }
}

function roundUp(slots: number): number {
  return Math.ceil(slots / 32) * 32;
}
