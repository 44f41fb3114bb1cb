/**
 * Everything one segment can be asked. Three ways, each dearer and more certain than the one before: `probe` the
 * lists that can matter, `estimate` given slots from their codes, `score` given slots from bf16.
 */
import { CandidateBuffer } from "./candidate-buffer.ts";
import { CodeGather } from "./code-gather.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { ListProbe } from "./list-probe.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import { SegmentScorer } from "./segment-scorer.ts";

/** Up to here scoring from bf16 at once is cheaper than estimating first. */
const FEW_SLOTS = 256;

export class SegmentSearch {
  readonly segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #probe: ListProbe;
  readonly #gather: CodeGather;
  /** Slots to be looked at, in the kernel memory. */
  readonly #slots: Uint32Array;

  constructor(segment: DenseSegment) {
    const candidates = new CandidateBuffer(segment, (this.#scorer = new SegmentScorer(segment)));
    this.segment = segment;
    this.#probe = new ListProbe(segment, this.#scorer, candidates);
    this.#gather = new CodeGather(segment, this.#scorer, candidates);
    this.#slots = segment.layout.memory.u32(segment.layout.at.slots, SLOTS_PER_CALL);
  }

  /** Offers the rows that can be among the nearest. */
  probe(query: DenseQuery): void {
    this.#scorer.load(query.vector);
    this.#rotate(query);
    this.#probe.search(query);
  }

  /** Offers those of the slots that can be among the nearest. */
  estimate(query: DenseQuery, slots: readonly number[]): void {
    if (slots.length <= FEW_SLOTS) return this.score(query, slots);
    this.#scorer.load(query.vector);
    this.#rotate(query);
    this.#gather.start(query);
    this.#inStretches(slots, (count) => this.#gather.search(query, count));
  }

  /** Offers all of the slots. */
  score(query: DenseQuery, slots: readonly number[]): void {
    this.#scorer.load(query.vector);
    const { slots: address } = this.segment.layout.at;
    this.#inStretches(slots, (count) => this.#scorer.offer(query, address, count));
  }

  #rotate(query: DenseQuery): void {
    const { rotation } = this.segment;
    rotation.vector.fill(0);
    rotation.vector.set(query.vector);
    rotation.run();
  }

  #inStretches(slots: readonly number[], search: (count: number) => void): void {
    for (let first = 0; first < slots.length; first += SLOTS_PER_CALL) {
      const count = Math.min(SLOTS_PER_CALL, slots.length - first);
      for (let i = 0; i < count; i++) this.#slots[i] = slots[first + i]!;
      search(count);
    }
  }
}
