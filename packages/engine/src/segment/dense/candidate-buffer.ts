/**
 * Slots whose estimate says that they may be among the nearest, waiting to be scored from bf16. An estimate counts at
 * its upper bound, so a candidate below the k-th best score is out.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { CANDIDATES } from "../../kernels/argument-layouts.generated.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { MagnitudeCodes } from "./magnitude-codes.ts";
import { CANDIDATES_KEPT, CANDIDATE_CAPACITY } from "./segment-layout.ts";
import type { SegmentScorer } from "./segment-scorer.ts";

/** At least so many candidates are scored at once. */
const FIRST_SCORED = 16;
/** The same from magnitudes, which cost less and are less certain. */
const FIRST_REFINED = 32;

export class CandidateBuffer {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #block: ArgumentBlock<typeof CANDIDATES>;
  readonly #ids: Uint32Array;
  readonly #scores: Float32Array;
  readonly #magnitudes: MagnitudeCodes;

  constructor(segment: DenseSegment, scorer: SegmentScorer) {
    const { memory, at } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#block = memory.block(CANDIDATES);
    this.#ids = memory.u32(at.candidateIds, CANDIDATE_CAPACITY);
    this.#scores = memory.f32(at.candidateScores, CANDIDATE_CAPACITY);
    setFields(this.#block, { ids: at.candidateIds, scores: at.candidateScores });
    setFields(this.#block, { capacity: CANDIDATE_CAPACITY });
    this.#magnitudes = new MagnitudeCodes(segment, this.#block.pointer);
  }

  /** For the argument blocks of kernels that add candidates. */
  get pointer(): number {
    return this.#block.pointer;
  }

  /** Another query has been rotated. */
  forget(): void {
    this.#magnitudes.forget();
  }

  /** Empties the buffer; kernels then add what is above the threshold known so far. */
  restart(query: DenseQuery): void {
    this.#leave(query, 0);
  }

  /**
   * Offers the best candidates to `query.nearest` and keeps those of the others that are not out then. `names`: the
   * slots, where candidates are positions among these.
   */
  offerBest(query: DenseQuery, names: Uint32Array | null = null): void {
    if (query.waiting === undefined && !this.#magnitudes.isUsed)
      this.#offer(query, names, firstOf(query, FIRST_SCORED));
  }

  /**
   * Offers all candidates, the best ones first: their scores rule out most of the others. Or leaves them where those of the
   * query wait. Then restarts.
   */
  drain(query: DenseQuery, names: Uint32Array | null = null): void {
    if (this.#magnitudes.isUsed && this.#block.count > 0) {
      this.#refine(query, names);
      names = null;
    }
    if (query.waiting !== undefined) {
      const { count } = this.#block;
      const [ids, scores] = [this.#ids.subarray(0, count), this.#scores.subarray(0, count)];
      query.waiting.add(ids, scores, names, query.nearest.bar);
    } else
      for (let most = firstOf(query, FIRST_SCORED); this.#block.count > 0; most *= 2)
        this.#offer(query, names, most);
    this.restart(query);
  }

  /** Scores the candidates from magnitudes, the best ones first: what these have at least rules out most of the others. */
  #refine(query: DenseQuery, names: Uint32Array | null): void {
    const { count } = this.#block;
    const first = Math.min(count, firstOf(query, FIRST_REFINED));
    this.#block.keep = first;
    this.#segment.layout.memory.kernels.keepBest(this.#block.pointer);
    if (names !== null) for (let i = 0; i < count; i++) this.#ids[i] = names[this.#ids[i]!]!;
    this.#leave(query, first);
    this.#refineFrom(query, 0);
    const refined = this.#block.count;
    this.#leave(query, this.#keepAbove(query.nearest.bar, { from: first, end: count, to: refined }));
    this.#refineFrom(query, refined);
  }

  /** The candidates from this one on. */
  #refineFrom(query: DenseQuery, from: number): void {
    const { count } = this.#block;
    if (count === from) return;
    const { at } = this.#segment.layout;
    const move = (by: number): void =>
      setFields(this.#block, { ids: at.candidateIds + 4 * by, scores: at.candidateScores + 4 * by });
    move(from);
    this.#block.count = count - from;
    this.#magnitudes.refine(query);
    move(0);
    const end = (this.#block.count += from);
    this.#magnitudes.expect(query, this.#ids.subarray(from, end), this.#scores.subarray(from, end));
  }

  /** Moves those of `[from, end)` that reach the bar to where `to` is; the end of these. */
  #keepAbove(bar: number, { from, end, to }: { from: number; end: number; to: number }): number {
    for (let i = from; i < end; i++) {
      if (this.#scores[i]! < bar) continue;
      this.#ids[to] = this.#ids[i]!;
      this.#scores[to++] = this.#scores[i]!;
    }
    return to;
  }

  #offer(query: DenseQuery, names: Uint32Array | null, most: number): void {
    const ids = this.#ids;
    const { layout } = this.#segment;
    const count = this.#block.count;
    const first = Math.min(count, most);
    this.#block.keep = first;
    layout.memory.kernels.keepBest(this.#block.pointer);
    if (names !== null) for (let i = 0; i < first; i++) ids[i] = names[ids[i]!]!;
    this.#scorer.offer(query, layout.at.candidateIds, first);
    const left = this.#keepAbove(query.nearest.bar, { from: first, end: count, to: 0 });
    this.#leave(query, left);
  }

  #leave(query: DenseQuery, count: number): void {
    this.#block.count = count;
    this.#block.keep = CANDIDATES_KEPT;
    this.#block.threshold = query.nearest.bar;
  }
}

/** How many candidates are scored to learn a better k-th score. */
function firstOf({ k }: DenseQuery, least: number): number {
  return Math.max(least, 2 * k);
}
