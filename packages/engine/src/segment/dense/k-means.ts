/**
 * Lloyd's k-means over a sample, and the nearest centroid of every vector, in slices: generators yield about every
 * millisecond so that a caller can do other work between. Deterministic. Vectors are compared in 16 bits.
 */
import { type ArgumentBlock, blockBytes, setFields } from "../../kernels/argument-block.ts";
import { NEAREST, SUM, WORDS } from "../../kernels/argument-layouts.generated.ts";
import { type KernelKind, KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";

const ITERATIONS = 6;
/** Multiplications between two yields. */
const SLICE = 12_000_000;
const PLAIN_IS_SLOWER = 16;
/** Vectors that are read between two yields, at most. */
const MOST_READ = 64;

/** Reads a vector by its number into a target as long as it. */
export type ReadNumbered = (number: number, target: Float32Array) => void;

export interface KMeansOptions {
  /** Of vectors, a multiple of 16. */
  readonly width: number;
  readonly centroids: number;
  /** Vectors to learn from, at most. */
  readonly sample: number;
  readonly kernels?: KernelKind | undefined;
}

export class KMeans {
  readonly #memory: KernelMemory;
  readonly #words: ArgumentBlock<typeof WORDS>;
  readonly #nearest: ArgumentBlock<typeof NEAREST>;
  readonly #sum: ArgumentBlock<typeof SUM>;
  readonly #width: number;
  readonly #count: number;
  /** Vectors that are looked at between two yields, a multiple of 4. */
  readonly #slice: number;
  /** By number: those of a slice, and which centroid is nearest to each of the last ones that were looked at. */
  readonly #vectors: Float32Array;
  readonly #found: Uint32Array;
  /** Of the sample, or of a slice. */
  readonly #sampleWords: Int16Array;
  readonly #sampleSteps: Float32Array;
  /** Of the vectors nearest to each centroid. */
  readonly #sums: Float32Array;
  /** |centroid|^2 / 2. */
  readonly #halfSquares: Float32Array;
  readonly #centroidWords: Pick<ArgumentBlock<typeof WORDS>, "vectors" | "count" | "words" | "steps">;
  /** One after another. */
  readonly centroids: Float32Array;

  constructor({ width, centroids: count, sample, kernels }: KMeansOptions) {
    const most = Math.min(Math.floor(SLICE / (width * count)), MOST_READ);
    const slice = Math.max(4, roundDown(most));
    this.#width = width;
    this.#count = count;
    const kept = Math.max(roundUp(sample), slice);
    const all = roundUp(count);
    const bytes = {
      vectors: slice * width * 4,
      found: slice * 4,
      words: kept * width * 2,
      steps: kept * 4,
      centroids: all * width * 4,
      centroidWords: all * width * 2,
      centroidSteps: all * 4,
      halfSquares: all * 4,
      sums: count * width * 4,
    };
    const lengths = [...Object.values(bytes), ...[WORDS, NEAREST, SUM].map(blockBytes)];
    const total = lengths.reduce((sum, length) => sum + allocationBytes(length), 0);
    this.#memory = new KernelMemory(total, { kernels });
    this.#slice = this.#memory.kind === "plain" ? Math.max(4, roundDown(most / PLAIN_IS_SLOWER)) : slice;
    const entries = Object.entries(bytes).map(([name, length]) => [name, this.#memory.allocate(length)]);
    const at = Object.fromEntries(entries) as Readonly<Record<keyof typeof bytes, number>>;
    this.#words = this.#memory.block(WORDS);
    this.#nearest = this.#memory.block(NEAREST);
    this.#sum = this.#memory.block(SUM);
    const { centroidWords, centroidSteps, halfSquares } = at;
    this.#centroidWords = { vectors: at.centroids, count: all, words: centroidWords, steps: centroidSteps };
    setFields(this.#words, { width });
    setFields(this.#sum, { width });
    setFields(this.#nearest, { width, centroids: centroidWords, centroidSteps, halfSquares });
    setFields(this.#nearest, { centroidCount: all, out: at.found });
    this.#vectors = this.#memory.f32(at.vectors, this.#slice * width);
    this.#found = this.#memory.u32(at.found, this.#slice);
    this.#sampleWords = this.#memory.i16(at.words, kept * width);
    this.#sampleSteps = this.#memory.f32(at.steps, kept);
    this.#sums = this.#memory.f32(at.sums, count * width);
    this.centroids = this.#memory.f32(at.centroids, count * width);
    // Those that are there to make their number a multiple of 4 are never nearest.
    this.#halfSquares = this.#memory.f32(halfSquares, all).fill(Infinity);
  }

  /** `vectors` of them, at least as many as centroids and no more than `sample`. */
  *train(vectors: number, read: ReadNumbered): Generator<void, void> {
    const width = this.#width;
    for (let i = 0; i < this.#count; i++) {
      read(Math.floor((i * vectors) / this.#count), this.centroids.subarray(i * width, (i + 1) * width));
      if (i % MOST_READ === MOST_READ - 1) yield;
    }
    this.#measure();
    for (let first = 0; first < vectors; first += this.#slice) {
      this.#take(first, Math.min(this.#slice, vectors - first), read, first);
      yield;
    }
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      this.#sums.fill(0);
      const members = new Uint32Array(this.#count);
      for (let first = 0; first < vectors; first += this.#slice) {
        const count = Math.min(this.#slice, vectors - first);
        for (const [i, nearest] of this.#find(first, count).entries()) {
          members[nearest]!++;
          this.#add(first + i, nearest);
        }
        yield;
      }
      // A centroid without members stays where it is.
      for (let i = 0; i < this.#count; i++) {
        if (members[i] === 0) continue;
        for (let j = i * width; j < (i + 1) * width; j++) this.centroids[j] = this.#sums[j]! / members[i]!;
      }
      this.#measure();
    }
  }

  /** For each vector the centroid at the least Euclidean distance. */
  *assign(vectors: number, read: ReadNumbered): Generator<void, Uint32Array> {
    const nearest = new Uint32Array(vectors);
    for (let first = 0; first < vectors; first += this.#slice) {
      const count = Math.min(this.#slice, vectors - first);
      this.#take(first, count, read, 0);
      nearest.set(this.#find(0, count), first);
      yield;
    }
    return nearest;
  }

  close(): void {
    this.#memory.close();
  }

  /** Reads `count` vectors; their words are those of the sample from `place` on. */
  #take(first: number, count: number, read: ReadNumbered, place: number): void {
    const width = this.#width;
    for (let i = 0; i < count; i++) read(first + i, this.#vectors.subarray(i * width, (i + 1) * width));
    setFields(this.#words, {
      vectors: this.#vectors.byteOffset,
      count: roundUp(count),
      words: this.#sampleWords.byteOffset + place * width * 2,
      steps: this.#sampleSteps.byteOffset + place * 4,
    });
    this.#memory.kernels.toWords(this.#words.pointer);
  }

  /** Nearest centroids of some vectors of the sample; valid until the next call. */
  #find(first: number, count: number): Uint32Array {
    this.#nearest.words = this.#sampleWords.byteOffset + first * this.#width * 2;
    this.#nearest.steps = this.#sampleSteps.byteOffset + first * 4;
    this.#nearest.count = roundUp(count);
    this.#memory.kernels.nearestCentroids(this.#nearest.pointer);
    return this.#found.subarray(0, count);
  }

  #add(vector: number, centroid: number): void {
    const four = (vector >>> 2) * 4 * this.#width + (vector & 3) * 8;
    this.#sum.words = this.#sampleWords.byteOffset + four * 2;
    this.#sum.step = this.#sampleSteps[vector]!;
    this.#sum.sums = this.#sums.byteOffset + centroid * this.#width * 4;
    this.#memory.kernels.addWords(this.#sum.pointer);
  }

  #measure(): void {
    for (let i = 0; i < this.#count; i++) {
      let square = 0;
      for (let j = i * this.#width; j < (i + 1) * this.#width; j++) square += this.centroids[j]! ** 2;
      this.#halfSquares[i] = square / 2;
    }
    setFields(this.#words, this.#centroidWords);
    this.#memory.kernels.toWords(this.#words.pointer);
  }
}

function roundUp(count: number): number {
  return Math.ceil(count / 4) * 4;
}

function roundDown(count: number): number {
  return Math.floor(count / 4) * 4;
}
