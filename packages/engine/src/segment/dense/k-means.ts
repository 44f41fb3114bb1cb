/**
 * Lloyd's k-means over a sample, and the nearest centroid of any vector, in slices: a generator yields about every
 * millisecond so that a caller can do other work between. Deterministic.
 */
import { type ArgumentBlock, blockBytes, setFields } from "../../kernels/argument-block.ts";
import { ROWS } from "../../kernels/argument-layouts.generated.ts";
import { type KernelKind, KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";

const ITERATIONS = 6;
/** Multiplications between two yields. */
const SLICE = 4_000_000;

export class KMeans {
  readonly #memory: KernelMemory;
  readonly #rows: ArgumentBlock<typeof ROWS>;
  readonly #width: number;
  readonly #count: number;
  readonly #vector: Float32Array;
  readonly #dots: Float32Array;
  /** |centroid|^2 / 2. */
  readonly #halfSquares: Float64Array;
  /** `count` centroids of `width` elements. */
  readonly centroids: Float32Array;

  /** `width`: a multiple of 16. */
  constructor(width: number, count: number, kernels?: KernelKind) {
    const bytes =
      allocationBytes(count * width * 4) + allocationBytes(width * 4) + allocationBytes(count * 4);
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
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      const sums = new Float64Array(this.#count * width);
      const members = new Uint32Array(this.#count);
      for (let vector = 0; vector < vectors; vector++) {
        const from = vector * width;
        const nearest = this.nearest(sample.subarray(from, from + width));
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
    }
  }

  /** The centroid at the least Euclidean distance. */
  nearest(vector: Float32Array): number {
    this.#vector.set(vector);
    this.#memory.kernels.dotRows(this.#rows.pointer);
    let best = 0;
    let bestScore = -Infinity;
    for (let i = 0; i < this.#count; i++) {
      const score = this.#dots[i]! - this.#halfSquares[i]!;
      if (score > bestScore) {
        best = i;
        bestScore = score;
      }
    }
    return best;
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
