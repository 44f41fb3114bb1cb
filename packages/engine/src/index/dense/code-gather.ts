/**
 * The search of single slots of a segment, for filters that few rows pass: all are estimated from their own codes,
 * those of the most promising lists first, so that the others can be measured by what these came to. No list is left
 * out: a filter may take away just the rows that the lists' reach was measured by.
 */
import { type ArgumentBlock, CODES } from "../../kernels/arguments.ts";
import { setFields } from "../../kernels/kernel-memory.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import { CONFIDENCE, type DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { ListOrder } from "./list-order.ts";
import type { SearchParts } from "./list-probe.ts";
import { orderLists } from "./list-reach.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import type { SegmentScorer } from "./segment-scorer.ts";
import { ERROR_PER_FACTOR, buildPlanes } from "./sign-code.ts";

/** Slots to estimate before the first candidates are scored; each later stretch is twice as long. */
const FIRST_STRETCH = 512;

export class CodeGather {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #candidates: CandidateBuffer;
  readonly #order: ListOrder;
  readonly #codes: ArgumentBlock;
  readonly #planes: Uint8Array;
  /** In the kernel memory: what one call of the kernel looks at. */
  readonly #ids: Uint32Array;
  /** By list: 1 if its slots are estimated first. */
  readonly #isFirst: Uint8Array;

  constructor(segment: DenseSegment, { scorer, candidates, order }: SearchParts) {
    const { memory, at, recordCodeBytes } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#candidates = candidates;
    this.#order = order;
    this.#codes = memory.block(CODES.words);
    this.#planes = memory.u8(at.planes, recordCodeBytes * 4);
    this.#ids = memory.u32(at.slots, SLOTS_PER_CALL);
    this.#isFirst = new Uint8Array(order.bounds.length);
    setFields(this.#codes, CODES, { records: at.records, codeBytes: recordCodeBytes, planes: at.planes });
    setFields(this.#codes, CODES, { bases: at.bases, ids: at.slots, best: candidates.pointer });
  }

  /** Offers those of the slots that can be among the nearest. The query is loaded in the scorer and rotated. */
  search(query: DenseQuery, slots: Uint32Array): void {
    const { scale, low, shift } = buildPlanes(this.#segment.rotation.vector, this.#planes);
    this.#codes.f32[CODES.scale] = scale;
    this.#codes.f32[CODES.low] = low;
    this.#codes.f32[CODES.shift] = shift + CONFIDENCE * ERROR_PER_FACTOR * query.length;
    this.#scorer.scoreCentroids();
    const ordered = this.#promisingFirst(query, slots);
    for (let first = 0, stretch = FIRST_STRETCH; first < ordered.length;) {
      this.#estimate(query, ordered.subarray(first, first + stretch));
      first += stretch;
      stretch = Math.min(2 * stretch, SLOTS_PER_CALL);
    }
  }

  /** The slots, about as many as make the first stretch from the lists with the highest bounds before the others. */
  #promisingFirst(query: DenseQuery, slots: Uint32Array): Uint32Array {
    const { listOfBlock } = this.#segment;
    const isFirst = this.#isFirst;
    if (isFirst.length === 1) return slots;
    orderLists(this.#segment, this.#order, this.#scorer.bases, query.length);
    isFirst.fill(0);
    const lists = Math.ceil((FIRST_STRETCH * isFirst.length) / slots.length);
    for (let i = 0; i < lists; i++) isFirst[this.#order.take()] = 1;
    const ordered = new Uint32Array(slots.length);
    let front = 0;
    let back = slots.length;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      // Without a branch, which would be guessed wrong for every tenth slot.
      const first = isFirst[listOfBlock[slot >>> 5]!]!;
      ordered[first === 1 ? front : back - 1] = slot;
      front += first;
      back -= 1 - first;
    }
    return ordered;
  }

  #estimate(query: DenseQuery, slots: Uint32Array): void {
    this.#ids.set(slots);
    this.#candidates.restart(query);
    this.#codes.u32[CODES.count] = slots.length;
    this.#segment.layout.memory.kernels.scoreCodes(this.#codes.pointer);
    this.#candidates.drain(query);
  }
}
