/**
 * The search of single slots of a segment, for filters that few rows pass. They are estimated from their own codes,
 * those of the most promising lists first. Lists whose bounds are below the k-th best score are then left out, as in
 * `list-probe.ts`, if the filter has rows in nearly all of the most promising ones. A filter that does not takes away
 * just the rows that the lists' reach was measured by, and all slots are estimated.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { CODES } from "../../kernels/argument-layouts.generated.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import { CONFIDENCE, type DenseQuery, type QueryPlanes } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { ListOrder } from "./list-order.ts";
import type { SearchParts } from "./list-probe.ts";
import {
  type ListStretches,
  filteredReachFor,
  orderLists,
  stretchesOf,
  takeFirstLists,
} from "./list-reach.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import type { SegmentScorer } from "./segment-scorer.ts";
import { ERROR_PER_FACTOR, buildPlanes } from "./sign-code.ts";

/** Slots to estimate before the first candidates are scored; each later stretch is twice as long. */
const FIRST_STRETCH = 384;

/** What was looked at of a filter. */
export interface BegunGather {
  /** By list: 1 where it was. */
  readonly taken: Uint8Array;
  readonly boundsCount: boolean;
}

export class CodeGather {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #candidates: CandidateBuffer;
  readonly #order: ListOrder;
  readonly #codes: ArgumentBlock<typeof CODES>;
  readonly #planes: Uint8Array;
  /** In the kernel memory: what one call of the kernel looks at. */
  readonly #ids: Uint32Array;
  /** Slots in `#ids` that wait for their estimate. */
  #waiting = 0;
  /** Which lists were taken into the first stretch. */
  readonly #taken: Uint8Array;

  constructor(segment: DenseSegment, { scorer, candidates, order }: Omit<SearchParts, "scan">) {
    const { memory, at, recordCodeBytes } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#candidates = candidates;
    this.#order = order;
    this.#codes = memory.block(CODES);
    this.#planes = memory.u8(at.planes, recordCodeBytes * 4);
    this.#ids = memory.u32(at.slots, SLOTS_PER_CALL);
    this.#taken = new Uint8Array(order.bounds.length);
    setFields(this.#codes, { records: at.records, codeBytes: recordCodeBytes, planes: at.planes });
    setFields(this.#codes, { bases: at.bases, ids: at.slots, best: candidates.pointer });
  }

  /**
   * Offers those of the slots, which ascend, that can be among the nearest. The query is loaded in the scorer and
   * rotated. `ofAll`: however far the lists reach, which may not be known.
   */
  search(query: DenseQuery, slots: Uint32Array, ofAll = false): void {
    this.#load(query);
    if (ofAll || this.#taken.length === 1) return this.#gatherAll(query, slots);
    const stretches = this.#stretchesOf(query, slots);
    this.#gatherOthers(query, slots, stretches, this.#gatherFirst(query, slots, stretches));
  }

  /** As `search`, of the first stretch alone; `null`: there are no lists that some could be first of. */
  begin(query: DenseQuery, slots: Uint32Array): BegunGather | null {
    if (this.#taken.length === 1) return null;
    this.#load(query);
    const { taken, boundsCount } = this.#gatherFirst(query, slots, this.#stretchesOf(query, slots));
    return { taken: taken.slice(), boundsCount };
  }

  /** As `search`, of the others. */
  goOn(query: DenseQuery, slots: Uint32Array, begun: BegunGather): void {
    this.#load(query);
    this.#gatherOthers(query, slots, this.#stretchesOf(query, slots), begun);
  }

  #load(query: DenseQuery): void {
    const { bytes, scale, low, shift } = (query.rotated.planes ??= this.#buildPlanes());
    this.#planes.set(bytes);
    this.#codes.scale = scale;
    this.#codes.low = low;
    this.#codes.shift = shift + CONFIDENCE * ERROR_PER_FACTOR * query.length;
    this.#scorer.scoreCentroids();
    this.#waiting = 0;
  }

  #buildPlanes(): QueryPlanes {
    const scale = buildPlanes(this.#segment.rotation.vector, this.#planes);
    return { ...scale, bytes: this.#planes.slice() };
  }

  #gatherAll(query: DenseQuery, slots: Uint32Array): void {
    for (let first = 0, stretch = FIRST_STRETCH; first < slots.length;) {
      const end = Math.min(first + stretch, slots.length);
      this.#add(query, slots, first, end);
      this.#estimate(query);
      first = end;
      stretch = Math.min(2 * stretch, SLOTS_PER_CALL);
    }
  }

  /** With the lists in order. */
  #stretchesOf({ length, expected }: DenseQuery, slots: Uint32Array): ListStretches {
    const reach = filteredReachFor(this.#segment.reach, expected);
    orderLists(this.#segment, this.#order, this.#scorer.bases, { length, reach });
    return stretchesOf(this.#segment, slots);
  }

  #gatherFirst(query: DenseQuery, slots: Uint32Array, stretches: ListStretches): BegunGather {
    const { lists, boundsCount } = takeFirstLists(
      this.#order,
      stretches,
      Math.min(FIRST_STRETCH, slots.length),
    );
    this.#taken.fill(0);
    for (const list of lists) {
      this.#taken[list] = 1;
      this.#add(query, slots, stretches.starts[list]!, stretches.ends[list]!);
    }
    this.#estimate(query);
    return { taken: this.#taken, boundsCount };
  }

  #gatherOthers(
    query: DenseQuery,
    slots: Uint32Array,
    { starts, ends }: ListStretches,
    { taken, boundsCount }: BegunGather,
  ): void {
    const { bounds } = this.#order;
    let stretch = 2 * FIRST_STRETCH;
    for (let list = 0; list < bounds.length; list++) {
      if (taken[list] === 1 || (boundsCount && bounds[list]! < query.nearest.bar)) continue;
      this.#add(query, slots, starts[list]!, ends[list]!);
      if (this.#waiting < stretch) continue;
      this.#estimate(query);
      stretch *= 2;
    }
    this.#estimate(query);
  }

  #add(query: DenseQuery, slots: Uint32Array, start: number, end: number): void {
    const ids = this.#ids;
    for (let from = start; from < end;) {
      if (this.#waiting === SLOTS_PER_CALL) this.#estimate(query);
      const until = Math.min(end, from + SLOTS_PER_CALL - this.#waiting);
      const shift = this.#waiting - from;
      for (let i = from; i < until; i++) ids[shift + i] = slots[i]!;
      this.#waiting += until - from;
      from = until;
    }
  }

  #estimate(query: DenseQuery): void {
    if (this.#waiting === 0) return;
    this.#candidates.restart(query);
    this.#codes.count = this.#waiting;
    this.#segment.layout.memory.kernels.scoreCodes(this.#codes.pointer);
    this.#candidates.drain(query);
    this.#waiting = 0;
  }
}
