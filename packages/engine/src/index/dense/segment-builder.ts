/**
 * Seals the rows of other segments into one: orders them into lists by k-means, codes each by its residual, and
 * measures how far rows rise above their list's centroid, which tells searches when to stop. Works in slices of about
 * a millisecond: `step` until it returns the segment. The sources may lose rows meanwhile, but gain none.
 */
import { SheafError } from "@sheaf/protocol";
import { norm } from "../../kernels/distance.ts";
import { DenseSegment } from "./dense-segment.ts";
import { mostLost } from "./half-float.ts";
import { KMeans } from "./k-means.ts";
import { measureReach } from "./list-reach.ts";
import { mostKept } from "./segment-layout.ts";

/** Rows of a list on average: scanning 8 blocks costs about what finding the list does. */
const ROWS_PER_LIST = 256;
const MAX_LISTS = 512;
/** Vectors that k-means learns from, per list. */
const SAMPLE_PER_LIST = 48;
/** Elements of all these vectors: 64 MiB. */
const MAX_SAMPLE = 16 * 1024 * 1024;
/** Rows placed, or sampled, between two yields. */
const PLACED_PER_SLICE = 128;

/** The vector of a row, relative to the index's origin and padded to the width; `null`: it is gone. */
export type ReadRelative = (row: number) => Float32Array | null;

export class SegmentBuilder {
  readonly sources: readonly DenseSegment[];
  readonly #rows: SourceRows;
  readonly #vector: Float32Array;
  readonly #work: Generator<void, SealedSegment>;
  #unfinished: { close(): void }[] = [];

  /** `sources`: of one index, together with at least one live row. */
  constructor(sources: readonly DenseSegment[], readVector: ReadRelative) {
    const first = sources[0];
    this.#rows = new SourceRows(sources, readVector);
    if (first === undefined || this.#rows.count === 0) throw new SheafError("internal", "nothing to seal");
    this.sources = sources;
    this.#vector = new Float32Array(first.layout.width);
    this.#work = this.#build(first);
  }

  /** Does one slice of work; the new segment once all is done. */
  step(): SealedSegment | undefined {
    const { done, value } = this.#work.next();
    return done === true ? value : undefined;
  }

  /** Drops what has been made of a segment that is no longer wanted. */
  close(): void {
    for (const part of this.#unfinished) part.close();
    this.#unfinished = [];
  }

  *#build({ shape, layout }: DenseSegment): Generator<void, SealedSegment> {
    const count = Math.min(MAX_LISTS, Math.ceil(this.#rows.count / ROWS_PER_LIST));
    const kMeans = new KMeans(layout.width, count, shape.kernels);
    this.#unfinished.push(kMeans);
    const learned = Math.min(count * SAMPLE_PER_LIST, Math.floor(MAX_SAMPLE / layout.width));
    yield* kMeans.train(yield* this.#rows.sample(Math.max(count, learned), layout.width));
    const lists = yield* this.#assign(kMeans, count);
    const capacity = lists.reduce((sum, { rows }) => sum + roundUp(rows.length), 0);
    // What bf16 left of a vector is not the vector, however many bits are kept of it.
    const isLossy = this.sources.some(({ kept }) => kept === "bf16");
    const segment = new DenseSegment(shape, capacity, lists.length, isLossy ? "bf16" : mostKept(shape));
    this.#unfinished.push(segment);
    const sealed = new SealedSegment(segment, this.#rows);
    for (const [number, { rows, centroid }] of lists.entries()) {
      const from = centroid * layout.width;
      segment.setCentroid(number, kMeans.centroids.subarray(from, from + layout.width));
      yield* this.#fill(sealed, number, rows);
    }
    yield* measureReach(segment);
    kMeans.close();
    this.#unfinished = [];
    return sealed;
  }

  /** Rows by their nearest centroid; centroids without rows are left out. */
  *#assign(kMeans: KMeans, count: number): Generator<void, { rows: number[]; centroid: number }[]> {
    const lists = Array.from({ length: count }, (_, centroid) => ({ rows: Array.of<number>(), centroid }));
    for (let row = 0; row < this.#rows.count; row++) {
      this.#rows.readVector(row, this.#vector);
      lists[kMeans.nearest(this.#vector)]!.rows.push(row);
      if (row % kMeans.slice === 0) yield;
    }
    return lists.filter(({ rows }) => rows.length > 0);
  }

  /** Places the rows of one list behind the slots used so far. */
  *#fill(sealed: SealedSegment, number: number, rows: readonly number[]): Generator<void, void> {
    const { segment } = sealed;
    const { width } = segment.layout;
    const centroid = segment.centroids.subarray(number * width, (number + 1) * width);
    const firstSlot = segment.used;
    let squares = 0;
    let biases = 0;
    for (const [i, row] of rows.entries()) {
      const slot = firstSlot + i;
      this.#rows.readVector(row, this.#vector);
      segment.place(slot, this.#rows.rowOf(row), number, this.#vector);
      segment.inherit(slot, this.#rows.biasOf(row), this.#rows.lossOf(row, norm(this.#vector)));
      sealed.setSource(slot, row);
      for (let j = 0; j < width; j++) squares += (this.#vector[j]! - centroid[j]!) ** 2;
      biases += segment.biases[slot]!;
      if (i % PLACED_PER_SLICE === 0) yield;
    }
    segment.used += roundUp(rows.length);
    segment.lists.firstSlots[number] = firstSlot;
    segment.lists.slots[number] = roundUp(rows.length);
    segment.lists.biases[number] = biases / rows.length;
    segment.lists.spreads[number] = Math.sqrt(squares / rows.length);
  }
}

/** The live rows of the sources, numbered from 0. */
class SourceRows {
  readonly count: number;
  readonly #sources: readonly DenseSegment[];
  readonly #source: Uint16Array;
  readonly #slot: Uint32Array;

  readonly #readVector: ReadRelative;

  constructor(sources: readonly DenseSegment[], readVector: ReadRelative) {
    this.#sources = sources;
    this.#readVector = readVector;
    this.count = sources.reduce((sum, { liveCount }) => sum + liveCount, 0);
    this.#source = new Uint16Array(this.count);
    this.#slot = new Uint32Array(this.count);
    let next = 0;
    for (const [number, segment] of sources.entries()) {
      for (let slot = 0; slot < segment.used; slot++) {
        if (!segment.isLive(slot)) continue;
        this.#source[next] = number;
        this.#slot[next++] = slot;
      }
    }
  }

  segmentOf(row: number): DenseSegment {
    return this.#sources[this.#source[row]!]!;
  }

  slotOf(row: number): number {
    return this.#slot[row]!;
  }

  /** The index's row. */
  rowOf(row: number): number {
    return this.segmentOf(row).rows[this.slotOf(row)]!;
  }

  biasOf(row: number): number {
    return this.segmentOf(row).biases[this.slotOf(row)]!;
  }

  /** At least what bf16 lost of the row's vector, which is of this length since. */
  lossOf(row: number, length: number): number {
    const segment = this.segmentOf(row);
    return segment.hasWholeRows ? 0 : Math.min(segment.losses[this.slotOf(row) >>> 5]!, mostLost(length));
  }

  /** Of a row that has gone meanwhile, which is not kept, anything. */
  readVector(row: number, target: Float32Array): void {
    const segment = this.segmentOf(row);
    if (segment.hasRows) return segment.readVector(this.slotOf(row), target);
    const vector = segment.isLive(this.slotOf(row)) ? this.#readVector(this.rowOf(row)) : null;
    if (vector === null) target.fill(0);
    else target.set(vector);
  }

  /** At most `count` vectors at even distances, one after another. */
  *sample(count: number, width: number): Generator<void, Float32Array> {
    const vectors = Math.min(count, this.count);
    const sample = new Float32Array(vectors * width);
    for (let i = 0; i < vectors; i++) {
      this.readVector(Math.floor((i * this.count) / vectors), sample.subarray(i * width, (i + 1) * width));
      if (i % PLACED_PER_SLICE === 0) yield;
    }
    return sample;
  }
}

/** A new segment and where its rows came from. */
export class SealedSegment {
  readonly segment: DenseSegment;
  readonly #rows: SourceRows;
  /** By slot: number of the row among the sources'. */
  readonly #source: Uint32Array;

  constructor(segment: DenseSegment, rows: SourceRows) {
    this.segment = segment;
    this.#rows = rows;
    this.#source = new Uint32Array(segment.capacity);
  }

  setSource(slot: number, row: number): void {
    this.#source[slot] = row;
  }

  /** Whether the row that a live slot was copied from is still there. */
  isCurrent(slot: number): boolean {
    const row = this.#source[slot]!;
    return this.#rows.segmentOf(row).isLive(this.#rows.slotOf(row));
  }
}

function roundUp(slots: number): number {
  return Math.ceil(slots / 32) * 32;
}
