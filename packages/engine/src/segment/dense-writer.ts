/**
 * The dense part of a segment that is written: rows ordered into lists by k-means, coded by their residuals, and the
 * reach of the lists measured, which tells searches when to stop. In slices of about a millisecond.
 */
import { DenseSegment } from "./dense/dense-segment.ts";
import { KMeans } from "./dense/k-means.ts";
import { measureReach } from "./dense/measure-reach.ts";
import { mostKept } from "./dense/segment-layout.ts";
import { NO_ROW } from "./trigrams/trigram-signatures.ts";
import type { SourceRows } from "./source-rows.ts";

/** Rows of a list on average: scanning 8 blocks costs about what finding the list does. */
const ROWS_PER_LIST = 256;
const MAX_LISTS = 512;
/** Vectors that k-means learns from, per list. */
const SAMPLE_PER_LIST = 48;
/** Elements of all these vectors: 32 MiB. */
const MAX_SAMPLE = 16 * 1024 * 1024;
/** Rows placed between two yields. */
const PLACED_PER_SLICE = 128;

export interface DenseOrder {
  readonly segment: DenseSegment;
  /** By slot: the row placed there, or `NO_ROW`. */
  readonly order: Uint32Array;
  /** A bit for each slot of a row that is too long for its code; `null`: there is none. */
  readonly uncoded: Uint32Array | null;
}

export class DenseWriter {
  readonly #rows: SourceRows;
  readonly #vector: Float32Array;
  readonly #width: number;
  #unfinished: { close(): void }[] = [];
  #order: Uint32Array = new Uint32Array(0);
  #uncoded: Uint32Array | null = null;

  constructor(rows: SourceRows) {
    this.#rows = rows;
    this.#width = rows.dense[0]!.layout.width;
    this.#vector = new Float32Array(this.#width);
  }

  /** Drops what has been made. */
  close(): void {
    for (const part of this.#unfinished.splice(0)) part.close();
  }

  *write(): Generator<void, DenseOrder> {
    const rows = this.#rows;
    for (const dense of rows.dense) yield* dense.load(["biases"]);
    const [{ shape }] = rows.dense as [DenseSegment];
    const width = this.#width;
    const count = Math.min(MAX_LISTS, Math.ceil(rows.count / ROWS_PER_LIST));
    const learned = Math.min(count * SAMPLE_PER_LIST, Math.floor(MAX_SAMPLE / width));
    const sample = Math.min(Math.max(count, learned), rows.count);
    const kMeans = new KMeans({ width, centroids: count, sample, kernels: shape.kernels });
    this.#unfinished.push(kMeans);
    // At even distances.
    yield* kMeans.train(sample, (i, target) =>
      rows.readVector(Math.floor((i * rows.count) / sample), target),
    );
    const lists = yield* this.#assign(kMeans, count);
    const capacity = lists.reduce((sum, list) => sum + roundUp(list.rows.length), 0);
    // What bf16 left of a vector is not the vector, however many bits are kept of it.
    const isLossy = rows.dense.some(({ readable }) => readable === "bf16");
    const kept = isLossy ? "bf16" : mostKept(shape);
    const segment = new DenseSegment(shape, capacity, { lists: lists.length, magnitudes: true }, kept);
    this.#unfinished.push(segment);
    this.#order = new Uint32Array(capacity).fill(NO_ROW);
    for (const [number, list] of lists.entries()) {
      segment.setCentroid(
        number,
        kMeans.centroids.subarray(list.centroid * width, (list.centroid + 1) * width),
      );
      yield* this.#fill(segment, number, list.rows);
    }
    yield* measureReach(segment);
    kMeans.close();
    this.#unfinished = [segment];
    return { segment, order: this.#order, uncoded: this.#uncoded };
  }

  /** Rows by their nearest centroid; centroids without rows are left out. */
  *#assign(kMeans: KMeans, count: number): Generator<void, { rows: number[]; centroid: number }[]> {
    const lists = Array.from({ length: count }, (_, centroid) => ({ rows: Array.of<number>(), centroid }));
    const nearest = yield* kMeans.assign(this.#rows.count, (row, target) =>
      this.#rows.readVector(row, target),
    );
    for (let row = 0; row < nearest.length; row++) lists[nearest[row]!]!.rows.push(row);
    return lists.filter(({ rows }) => rows.length > 0);
  }

  /** Places the rows of one list behind the slots used so far. */
  *#fill(segment: DenseSegment, number: number, rows: readonly number[]): Generator<void, void> {
    const firstSlot = segment.used;
    let squares = 0;
    let biases = 0;
    for (const [i, row] of rows.entries()) {
      const slot = firstSlot + i;
      this.#rows.readVector(row, this.#vector);
      squares += segment.place(slot, number, this.#vector);
      segment.inherit(slot, this.#rows.biasOf(row), this.#rows.lossOf(row, this.#vector));
      this.#order[slot] = row;
      if (this.#rows.isUncoded(row)) {
        this.#uncoded ??= new Uint32Array(segment.capacity / 32);
        this.#uncoded[slot >>> 5]! |= 1 << (slot & 31);
      }
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

function roundUp(slots: number): number {
  return Math.ceil(slots / 32) * 32;
}
