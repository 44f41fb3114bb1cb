/**
 * Lloyd's k-means over a sample, and the nearest centroid of any vector, in slices: a generator yields about every
 * millisecond so that a caller can do other work between. Deterministic.
 *
 * Of many centroids a vector is compared with all only once: after that, and where a vector beside it has been, with those
 * around the one that was found. It may get one that is not quite the nearest, which searches do not rely on.
 */
import { type ArgumentBlock, blockBytes, setFields } from "../../kernels/argument-block.ts";
import { ROWS } from "../../kernels/argument-layouts.generated.ts";
import { type KernelKind, KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";

const ITERATIONS = 6;
/** Multiplications between two yields. */
const SLICE = 4_000_000;
/** Centroids around one, itself included. */
const AROUND = 64;

export class KMeans {
  readonly #memory: KernelMemory;
  readonly #rows: ArgumentBlock<typeof ROWS>;
  readonly #width: number;
  readonly #count: number;
  readonly #vector: Float32Array;
  readonly #dots: Float32Array;
  /** |centroid|^2 / 2. */
  readonly #halfSquares: Float64Array;
  /** By centroid: the numbers of those around it; empty where there are too few for that to matter, or until it is known. */
  #around: Uint32Array = new Uint32Array(0);
  readonly #aroundAt: number;
  /** `count` centroids of `width` elements. */
  readonly centroids: Float32Array;

  /** `width`: a multiple of 16. */
  constructor(width: number, count: number, kernels?: KernelKind) {
    const around = count > 2 * AROUND ? count * AROUND * 4 : 0;
    const bytes =
      allocationBytes(count * width * 4) +
      allocationBytes(width * 4) +
      allocationBytes(count * 4) +
      allocationBytes(around);
    this.#memory = new KernelMemory(bytes + allocationBytes(blockBytes(ROWS)), { kernels });
    this.#width = width;
    this.#count = count;
    this.#rows = this.#memory.block(ROWS);
    const centroids = this.#memory.allocate(count * width * 4);
    const query = this.#memory.allocate(width * 4);
    const out = this.#memory.allocate(count * 4);
    setFields(this.#rows, { rows: centroids, stride: width * 4, width, query, count, out });
    this.centroids = this.#memory.f32(centroids, count * width);
    this.#vector = this.#memory.f32(query, width);
    this.#dots = this.#memory.f32(out, count);
    this.#halfSquares = new Float64Array(count);
    this.#aroundAt = this.#memory.allocate(around);
  }

  /** Vectors looked at between two yields. */
  get slice(): number {
    return Math.max(1, Math.floor(SLICE / (this.#width * this.#count)));
  }

  /** `sample`: whole vectors, one after another, at least as many as centroids. */
  *train(sample: Float32Array): Generator<void, void> {
    const width = this.#width;
    const vectors = sample.length / width;
    for (let i = 0; i < this.#count; i++) {
      const vector = Math.floor((i * vectors) / this.#count);
      this.centroids.set(sample.subarray(vector * width, (vector + 1) * width), i * width);
    }
    this.#measure();
    const found = new Uint32Array(vectors);
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      const sums = new Float64Array(this.#count * width);
      const members = new Uint32Array(this.#count);
      for (let vector = 0; vector < vectors; vector++) {
        const from = vector * width;
        const near = iteration === 0 ? null : found[vector]!;
        const nearest = (found[vector] = this.nearest(sample.subarray(from, from + width), near));
        members[nearest]!++;
        for (let j = 0; j < width; j++) sums[nearest * width + j]! += sample[from + j]!;
        if (vector % this.slice === 0) yield;
      }
      // A centroid without members stays where it is.
      for (let i = 0; i < this.#count; i++) {
        if (members[i] === 0) continue;
        for (let j = 0; j < width; j++) this.centroids[i * width + j] = sums[i * width + j]! / members[i]!;
      }
      this.#measure();
      if (iteration === 0 || iteration === ITERATIONS - 1) yield* this.#findAround();
    }
  }

  /** The centroid at the least Euclidean distance, of all or of those around `near`. */
  nearest(vector: Float32Array, near: number | null = null): number {
    const isNear = near !== null && this.#around.length > 0;
    const first = isNear ? near * AROUND : 0;
    const count = this.#score(vector, isNear ? first : null);
    let best = 0;
    let bestScore = -Infinity;
    for (let i = 0; i < count; i++) {
      const centroid = isNear ? this.#around[first + i]! : i;
      const score = this.#dots[i]! - this.#halfSquares[centroid]!;
      if (score > bestScore) {
        best = centroid;
        bestScore = score;
      }
    }
    return best;
  }

  /** Leaves dot products of all centroids, or of those in `#around` from `first` on; gives their number. */
  #score(vector: Float32Array, first: number | null): number {
    this.#vector.set(vector);
    this.#rows.ids = first === null ? 0 : this.#aroundAt + 4 * first;
    this.#rows.count = first === null ? this.#count : AROUND;
    this.#memory.kernels.dotRows(this.#rows.pointer);
    return this.#rows.count;
  }

  *#findAround(): Generator<void, void> {
    const [width, count] = [this.#width, this.#count];
    if (count <= 2 * AROUND) return;
    const around = this.#memory.u32(this.#aroundAt, count * AROUND);
    const scores = new Float64Array(count);
    for (let centroid = 0; centroid < count; centroid++) {
      this.#score(this.centroids.subarray(centroid * width, (centroid + 1) * width), null);
      for (let i = 0; i < count; i++) scores[i] = this.#dots[i]! - this.#halfSquares[i]!;
      const least = scores.toSorted()[count - AROUND]!;
      let at = centroid * AROUND;
      for (let i = 0; i < count && at < (centroid + 1) * AROUND; i++)
        if (scores[i]! >= least) around[at++] = i;
      if (centroid % this.slice === 0) yield;
    }
    this.#around = around;
  }

  close(): void {
    this.#memory.close();
  }

  #measure(): void {
    for (let i = 0; i < this.#count; i++) {
      let square = 0;
      for (let j = i * this.#width; j < (i + 1) * this.#width; j++) square += this.centroids[j]! ** 2;
      this.#halfSquares[i] = square / 2;
    }
  }
}
