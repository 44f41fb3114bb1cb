/**
 * Slots whose estimate says that they may be among the nearest, waiting to be scored from bf16. An estimate counts at
 * its upper bound, so a candidate below the k-th best score is out.
 */
import { type ArgumentBlock, CANDIDATES } from "../../kernels/arguments.ts";
import { setFields } from "../../kernels/kernel-memory.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { CANDIDATES_KEPT, CANDIDATE_CAPACITY } from "./segment-layout.ts";
import type { SegmentScorer } from "./segment-scorer.ts";

/** How many of the first candidates are scored to learn a first k-th best score. */
const FIRST_SCORED = 48;

export class CandidateBuffer {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #block: ArgumentBlock;
  readonly #ids: Uint32Array;
  readonly #scores: Float32Array;

  constructor(segment: DenseSegment, scorer: SegmentScorer) {
    const { memory, at } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#block = memory.block(CANDIDATES.words);
    this.#ids = memory.u32(at.candidateIds, CANDIDATE_CAPACITY);
    this.#scores = memory.f32(at.candidateScores, CANDIDATE_CAPACITY);
    setFields(this.#block, CANDIDATES, { ids: at.candidateIds, scores: at.candidateScores });
    setFields(this.#block, CANDIDATES, { capacity: CANDIDATE_CAPACITY });
  }

  /** For the argument blocks of kernels that add candidates. */
  get pointer(): number {
    return this.#block.pointer;
  }

  /** Empties the buffer; kernels then add what is above the threshold known so far. */
  restart(query: DenseQuery): void {
    this.#block.u32[CANDIDATES.count] = 0;
    this.#block.u32[CANDIDATES.keep] = CANDIDATES_KEPT;
    this.#block.f32[CANDIDATES.threshold] = query.nearest.threshold;
  }

  /** Their ids are positions in `slots` so far. */
  rename(slots: Uint32Array): void {
    const count = this.#block.u32[CANDIDATES.count]!;
    for (let i = 0; i < count; i++) this.#ids[i] = slots[this.#ids[i]!]!;
  }

  /**
   * Offers the candidates to `query.nearest` and restarts. The best estimates first where nothing is known yet, and with
   * `bestFirst` always: their scores rule out most of the others.
   */
  drain(query: DenseQuery, { bestFirst = false } = {}): void {
    const count = this.#block.u32[CANDIDATES.count]!;
    const first = Math.max(FIRST_SCORED, 2 * query.k);
    if ((bestFirst || query.nearest.threshold === -Infinity) && count > first) {
      this.#block.u32[CANDIDATES.keep] = first;
      this.#segment.layout.memory.kernels.keepBest(this.#block.pointer);
      this.#offer(query, first);
      this.#offer(query, this.#compact(first, count, query.nearest.threshold));
    } else {
      this.#offer(query, this.#compact(0, count, query.nearest.threshold));
    }
    this.restart(query);
  }

  /** Moves the candidates of a stretch that are not yet out to the front; returns how many. */
  #compact(from: number, to: number, threshold: number): number {
    let kept = 0;
    for (let i = from; i < to; i++) {
      if (this.#scores[i]! >= threshold) this.#ids[kept++] = this.#ids[i]!;
    }
    return kept;
  }

  #offer(query: DenseQuery, count: number): void {
    this.#scorer.offer(query, this.#segment.layout.at.candidateIds, count);
  }
}
