/** The rows that a segment is written of: those of its sources that were live when it was begun, numbered from 0. */
import { norm } from "../kernels/distance.ts";
import type { DenseSegment } from "./dense/dense-segment.ts";
import { mostLost } from "./dense/half-float.ts";
import { hasBit, placesOfBits } from "./bits.ts";
import type { LookupSegment } from "./segment.ts";

export interface WriterSource {
  readonly segment: LookupSegment;
  /** A bit for each live docId; rows die while the segment is written. */
  readonly live: Uint32Array;
}

/** The vector of a row relative to the origin and padded to the width; `null`: the store has another version by now. */
export type ReadRelative = (segment: LookupSegment, docId: number) => Float32Array | null;

export class SourceRows {
  readonly count: number;
  readonly #sources: readonly WriterSource[];
  readonly #source: Uint16Array;
  readonly #docId: Uint32Array;
  readonly #readVector: ReadRelative;

  constructor(sources: readonly WriterSource[], readVector: ReadRelative) {
    this.#sources = sources;
    this.#readVector = readVector;
    const live = sources.map((source) => placesOfBits(source.live));
    this.count = live.reduce((sum, docIds) => sum + docIds.length, 0);
    this.#source = new Uint16Array(this.count);
    this.#docId = new Uint32Array(this.count);
    let next = 0;
    for (const [source, docIds] of live.entries()) {
      this.#source.fill(source, next, next + docIds.length);
      this.#docId.set(docIds, next);
      next += docIds.length;
    }
  }

  /** Codes of the sources. */
  get dense(): readonly DenseSegment[] {
    return this.#sources.map(({ segment }) => segment.vectors.search!.segment);
  }

  sourceOf(row: number): number {
    return this.#source[row]!;
  }

  segmentOf(row: number): LookupSegment {
    return this.#sources[this.#source[row]!]!.segment;
  }

  docOf(row: number): number {
    return this.#docId[row]!;
  }

  isLive(row: number): boolean {
    return hasBit(this.#sources[this.#source[row]!]!.live, this.#docId[row]!);
  }

  /** Too long for codes. */
  isUncoded(row: number): boolean {
    const { uncoded } = this.segmentOf(row).vectors;
    return uncoded !== null && hasBit(uncoded, this.docOf(row));
  }

  biasOf(row: number): number {
    return this.#denseOf(row).biases[this.docOf(row)]!;
  }

  /** At least what bf16 lost of the row's vector, which is this one since. */
  lossOf(row: number, vector: Float32Array): number {
    const segment = this.#denseOf(row);
    if (segment.readable === "whole") return 0;
    return Math.min(segment.losses[this.docOf(row) >>> 5]!, mostLost(norm(vector)));
  }

  /** Of a row that has gone meanwhile, or has no code, zeros. */
  readVector(row: number, target: Float32Array): void {
    const dense = this.#denseOf(row);
    if (dense.readVector(this.docOf(row), target)) return;
    const isRead = this.isLive(row) && !this.isUncoded(row);
    const vector = isRead ? this.#readVector(this.segmentOf(row), this.docOf(row)) : null;
    if (vector === null) target.fill(0);
    else target.set(vector);
  }

  #denseOf(row: number): DenseSegment {
    return this.segmentOf(row).vectors.search!.segment;
  }
}
