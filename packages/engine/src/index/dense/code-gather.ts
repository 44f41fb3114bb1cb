/** The search of single slots of a segment, for filters that few rows pass: estimated from their own codes. */
import { type ArgumentBlock, CODES } from "../../kernels/arguments.ts";
import { setFields } from "../../kernels/kernel-memory.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import { CONFIDENCE, type DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { SegmentScorer } from "./segment-scorer.ts";
import { ERROR_PER_FACTOR, buildPlanes } from "./sign-code.ts";

export class CodeGather {
  readonly #segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #candidates: CandidateBuffer;
  readonly #codes: ArgumentBlock;
  readonly #planes: Uint8Array;

  constructor(segment: DenseSegment, scorer: SegmentScorer, candidates: CandidateBuffer) {
    const { memory, at, recordCodeBytes } = segment.layout;
    this.#segment = segment;
    this.#scorer = scorer;
    this.#candidates = candidates;
    this.#codes = memory.block(CODES.words);
    this.#planes = memory.u8(at.planes, recordCodeBytes * 4);
    setFields(this.#codes, CODES, { records: at.records, codeBytes: recordCodeBytes, planes: at.planes });
    setFields(this.#codes, CODES, { bases: at.bases, ids: at.slots, best: candidates.pointer });
  }

  /** Before the first `search` of a query, which is loaded in the scorer and rotated. */
  start(query: DenseQuery): void {
    const { scale, low, shift } = buildPlanes(this.#segment.rotation.vector, this.#planes);
    this.#codes.f32[CODES.scale] = scale;
    this.#codes.f32[CODES.low] = low;
    this.#codes.f32[CODES.shift] = shift + CONFIDENCE * ERROR_PER_FACTOR * query.length;
    this.#scorer.scoreCentroids();
  }

  /** Offers those of the first `count` numbers in the region `slots` that can be among the nearest. */
  search(query: DenseQuery, count: number): void {
    this.#candidates.restart(query);
    this.#codes.u32[CODES.count] = count;
    this.#segment.layout.memory.kernels.scoreCodes(this.#codes.pointer);
    this.#candidates.drain(query);
  }
}
