/**
 * The vectors of a segment that is being filled: as they are compared, in shared blocks of `BLOCK_DOCS`, and in codes
 * once the collection is large. Codes are made in docId order, so that they cover all rows below some docId. A block
 * whose rows have all been coded, and kept there to the bit, is given back.
 */
import { norm } from "../kernels/distance.ts";
import { BLOCK_DOCS, BLOCK_WORDS } from "./block-docs.ts";
import { DenseSegment } from "./dense/dense-segment.ts";
import { relativeTo } from "./dense/search-dense.ts";
import type { SegmentShape } from "./dense/segment-layout.ts";
import { SegmentSearch } from "./dense/segment-search.ts";
import type { SegmentScan } from "./dense-scan.ts";
import type { VectorBlocks } from "./vector-blocks.ts";
import type { SegmentVectors } from "./segment.ts";
import { typicalMean } from "./typical-mean.ts";

/** Lengths whose squares are far from overflowing; longer vectors are compared one by one. */
export const MAX_LENGTH = 2 ** 40;

export interface VectorOptions {
  readonly blocks: VectorBlocks;
  /** Of the first block, a power of two; it grows, for most collections stay small. */
  readonly firstRows: number;
}

/** How the codes of an index are made. */
export interface CodeOptions {
  readonly shape: SegmentShape;
  /** What codes of a segment without lists are relative to, padded to the width; `null`: the origin. */
  readonly centroid: Float32Array | null;
}

export class MutableVectors implements SegmentVectors {
  readonly #capacity: number;
  readonly #blocks: VectorBlocks;
  readonly #firstRows: number;
  /** `null`: given back. */
  readonly #vectors: (Float32Array | null)[] = [];
  #offsets: Float64Array = new Float64Array(0);
  #count = 0;
  #search: SegmentSearch | null = null;
  #coded = 0;
  #uncoded: Uint32Array | null = null;

  constructor(capacity: number, { blocks, firstRows }: VectorOptions) {
    this.#capacity = capacity;
    this.#blocks = blocks;
    this.#firstRows = firstRows;
  }

  get search(): SegmentSearch | null {
    return this.#search;
  }

  get coded(): number {
    return this.#coded;
  }

  get uncoded(): Uint32Array | null {
    return this.#uncoded;
  }

  /** Rows that wait for their code. */
  get waiting(): number {
    return this.#count - this.#coded;
  }

  /** The next row. `offsets`: of all rows, in shared memory. */
  add(docId: number, vector: Float32Array, offsets: Float64Array): void {
    const row = docId % BLOCK_DOCS;
    const { dimension } = this.#blocks;
    if (row === 0) {
      this.#vectors.push(this.#blocks.take(docId === 0 ? this.#firstRows : BLOCK_DOCS));
    }
    let block = this.#vectors.at(-1)!;
    if (block.length === row * dimension && dimension > 0) {
      const larger = this.#blocks.take(Math.min(row * 2, BLOCK_DOCS));
      larger.set(block);
      this.#vectors[this.#vectors.length - 1] = block = larger;
    }
    block.set(vector, row * dimension);
    this.#offsets = offsets;
    this.#count = docId + 1;
  }

  at(docId: number): Float32Array | null {
    const block = this.#vectors[Math.floor(docId / BLOCK_DOCS)] ?? null;
    const from = (docId % BLOCK_DOCS) * this.#blocks.dimension;
    return block === null ? null : block.subarray(from, from + this.#blocks.dimension);
  }

  /** Gives the next rows codes, `rows` of them or as many as there are. */
  code(rows: number, { shape, centroid }: CodeOptions): void {
    this.#search ??= newSearch(shape, this.#capacity, centroid);
    const { segment } = this.#search;
    for (let left = Math.min(rows, this.waiting); left > 0; left--) {
      const docId = this.#coded;
      const vector = this.at(docId)!;
      if (norm(vector) <= MAX_LENGTH) segment.append(relativeTo(shape.origin, vector));
      else {
        segment.append(new Float32Array(segment.layout.width));
        this.#uncoded ??= new Uint32Array(this.#capacity / 32);
        this.#uncoded[docId >>> 5]! |= 1 << (docId & 31);
      }
      this.#coded++;
      if (this.#coded % BLOCK_DOCS === 0) this.#release(this.#coded / BLOCK_DOCS - 1);
    }
  }

  scans(docs: Uint32Array, base: number): SegmentScan[] {
    return this.#vectors.flatMap((vectors, i) => {
      // Words of its own: sent to a worker, a view would carry the whole bitset along.
      const mask = docs.slice(i * BLOCK_WORDS, (i + 1) * BLOCK_WORDS);
      if (vectors === null || mask.every((word) => word === 0)) return [];
      const first = i * BLOCK_DOCS;
      const offsets = this.#offsets.subarray(first, first + BLOCK_DOCS);
      return [{ vectors, offsets, mask, firstPosition: base + first }];
    });
  }

  /** Of most of the first rows; those that are too long for codes are not among them. */
  mean(rows: number): Float32Array<ArrayBuffer> {
    const vectors = Array.from({ length: rows }, (_, docId) => this.at(docId)!);
    const coded = vectors.filter((vector) => norm(vector) <= MAX_LENGTH);
    return typicalMean(coded, this.#blocks.dimension);
  }

  close(): void {
    this.#search?.segment.close();
    for (const [i, block] of this.#vectors.entries()) {
      if (block !== null) this.#blocks.give(block);
      // Snapshots that still have the segment read the store.
      this.#vectors[i] = null;
    }
  }

  #release(index: number): void {
    const block = this.#vectors[index]!;
    if (!this.#search!.segment.hasWholeRows || this.#keepsUncoded(index)) return;
    this.#blocks.give(block);
    this.#vectors[index] = null;
  }

  #keepsUncoded(index: number): boolean {
    return (
      this.#uncoded?.subarray(index * BLOCK_WORDS, (index + 1) * BLOCK_WORDS).some((word) => word !== 0) ===
      true
    );
  }
}

function newSearch(shape: SegmentShape, capacity: number, centroid: Float32Array | null): SegmentSearch {
  const segment = new DenseSegment(shape, capacity);
  if (centroid !== null) segment.setCentroid(0, centroid);
  return new SegmentSearch(segment);
}
