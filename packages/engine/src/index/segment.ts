/**
 * Up to `SEGMENT_ROWS` rows of the exact index, as columns. Rows are only ever appended and never change; a row that
 * is gone loses its bit in `live`. What a scan on another thread reads (vectors, offsets) is shared memory, and a
 * column that grows is copied, so that a scan keeps the memory it was given.
 *
 * Vectors are kept until the fast dense index has all live rows of a full segment; from then on they are read from
 * the store.
 */
import { type IndexPlan, type Metadata, type SparseVector } from "@sheaf/protocol";
import { MetadataRows } from "./metadata-rows.ts";
import { SEGMENT_ROWS, SEGMENT_WORDS, hasBit, listBits } from "./row-set.ts";
import { SegmentColumns } from "./segment-columns.ts";
import { SparsePostings } from "./sparse-postings.ts";
import { TrigramSignatures } from "./trigram-signatures.ts";
import type { VectorBlocks } from "./vector-blocks.ts";

const FIRST_CAPACITY = 16;
const NO_VECTORS = new Float32Array(0);
/** So many rows may be missing from the columns of a segment that still fills before they are made anew. */
const STALE_ROWS = 256;

/** One version of a record. `vector` is in the form that distances are computed from. */
export interface SegmentRow {
  readonly offset: number;
  /** Number of the record; see `RowNumbers`. */
  readonly number: number;
  readonly sequence: number;
  readonly id: string;
  readonly metadata: Metadata | null;
  /** `null`: it is in the store alone, and the fast dense index has the row. */
  readonly vector: Float32Array | null;
  readonly sparse: SparseVectors;
}

/** The sparse vectors of a record, by metadata key. */
export type SparseVectors = ReadonlyMap<string, SparseVector>;

export interface RowPlace {
  readonly segment: Segment;
  /** Row within the segment. */
  readonly local: number;
}

export class Segment {
  /** Rises from segment to segment of an index and is never used twice. */
  readonly number: number;
  readonly dimension: number;
  readonly live = new Uint32Array(SEGMENT_WORDS);
  readonly ids: string[] = [];
  /** Sparse vectors are empty: they are in the postings. */
  readonly metadata = new MetadataRows();
  readonly signatures = new TrigramSignatures(SEGMENT_ROWS);
  /** Rows that the fast dense index holds; see `DenseRows`. */
  readonly dense = new Uint32Array(SEGMENT_WORDS);
  /** Rows whose vectors are here. */
  readonly held = new Uint32Array(SEGMENT_WORDS);
  readonly #blocks: VectorBlocks;
  #numbers = new Uint32Array(FIRST_CAPACITY);
  /** By word: 1 if its 32 rows have consecutive numbers. */
  readonly #runs = new Uint8Array(SEGMENT_WORDS);
  #columns = new SegmentColumns(this.metadata);
  #liveCount = 0;
  /** `null`: all are in the store alone. */
  #vectors: Float32Array | null;
  #offsets = sharedFloat64(FIRST_CAPACITY);
  #sequences = new Float64Array(FIRST_CAPACITY);
  #minOffset = Infinity;
  #postings = new Map<string, SparsePostings>();
  readonly #minSparseTail: number | undefined;

  /** `minSparseTail`: see `SparsePostings`. */
  constructor(number: number, plan: IndexPlan, blocks: VectorBlocks, minSparseTail?: number) {
    this.number = number;
    this.#minSparseTail = minSparseTail;
    this.dimension = blocks.dimension;
    this.#blocks = blocks;
    // Segments after the first fill up, so their vectors are not copied while they grow.
    this.#vectors = blocks.take(number === 0 ? FIRST_CAPACITY : SEGMENT_ROWS);
    for (const { key } of plan.sparse) this.#postings.set(key, new SparsePostings(this.#minSparseTail));
  }

  /** Rows ever appended, dead ones included. */
  get count(): number {
    return this.ids.length;
  }

  /** Rows that there is room for, a multiple of 32. */
  get capacity(): number {
    return SEGMENT_ROWS;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  get full(): boolean {
    return this.count === SEGMENT_ROWS;
  }

  /** Columns of the metadata of all rows but the newest. */
  get columns(): SegmentColumns {
    const missing = this.count - this.#columns.rows;
    if (missing >= STALE_ROWS || (this.full && missing > 0))
      this.#columns = new SegmentColumns(this.metadata);
    return this.#columns;
  }

  /** `dimension` floats per row, in shared memory; of rows that are not `held` anything. */
  get vectors(): Float32Array {
    return this.#vectors ?? NO_VECTORS;
  }

  /** Record offset per row, in shared memory. */
  get offsets(): Float64Array {
    return this.#offsets;
  }

  get sequences(): Float64Array {
    return this.#sequences;
  }

  /** Number of the record per row. */
  get numbers(): Uint32Array {
    return this.#numbers;
  }

  /** Smallest record offset of any row, dead ones included. */
  get minOffset(): number {
    return this.#minOffset;
  }

  /** `null`: the store alone has it. */
  vector(row: number): Float32Array | null {
    return hasBit(this.held, row)
      ? this.vectors.subarray(row * this.dimension, (row + 1) * this.dimension)
      : null;
  }

  /** Gives the memory of the vectors back if the store will do: no row is waiting to get into the fast dense index. */
  releaseVectors(): void {
    if (this.#vectors === null || !this.full) return;
    for (let i = 0; i < SEGMENT_WORDS; i++) if ((this.live[i]! & ~this.dense[i]!) !== 0) return;
    this.#blocks.give(this.#vectors);
    this.#vectors = null;
    this.held.fill(0);
  }

  /** Takes the vectors of live rows back. `vectorOf`: by row, `null` for one that is gone. */
  restoreVectors(vectorOf: (row: number) => Float32Array | null): void {
    for (const row of listBits(this.live)) {
      if (hasBit(this.held, row)) continue;
      const vector = vectorOf(row);
      if (vector !== null) this.#hold(row, vector);
    }
  }

  /** Metadata keys whose sparse vectors are indexed. */
  get sparseKeys(): Iterable<string> {
    return this.#postings.keys();
  }

  postings(key: string): SparsePostings | undefined {
    return this.#postings.get(key);
  }

  /** Returns the row within the segment. */
  append(values: SegmentRow): number {
    const row = this.count;
    if (row === this.#sequences.length) this.#grow(Math.min(row * 2, SEGMENT_ROWS));
    if (values.vector !== null) this.#hold(row, values.vector);
    this.#offsets[row] = values.offset;
    this.#sequences[row] = values.sequence;
    this.#numbers[row] = values.number;
    if (row % 32 === 31) this.#findRun(row >>> 5);
    this.#minOffset = Math.min(this.#minOffset, values.offset);
    this.ids.push(values.id);
    this.metadata.push(values.metadata);
    for (const [key, vector] of values.sparse) this.#postings.get(key)?.add(row, vector);
    this.live[row >>> 5]! |= 1 << (row & 31);
    this.#liveCount++;
    if (this.full) for (const postings of this.#postings.values()) postings.seal();
    return row;
  }

  /** Whether the 32 rows of a word have consecutive numbers. */
  isRun(word: number): boolean {
    return this.#runs[word] === 1;
  }

  /** After numbers were changed. */
  findRuns(): void {
    for (let word = 0; word < this.count >>> 5; word++) this.#findRun(word);
  }

  /** The row is live. */
  kill(row: number): void {
    this.live[row >>> 5]! &= ~(1 << (row & 31));
    this.#liveCount--;
  }

  /** Makes the inverted lists of a changed plan; `read` gives the sparse vectors of a row. */
  indexSparse(plan: IndexPlan, read: (row: number) => SparseVectors): void {
    const added = plan.sparse.filter(({ key }) => !this.#postings.has(key));
    this.#postings = new Map(
      plan.sparse.map(({ key }) => [key, this.#postings.get(key) ?? new SparsePostings(this.#minSparseTail)]),
    );
    for (const row of added.length === 0 ? [] : listBits(this.live)) {
      const vectors = read(row);
      for (const { key } of added) {
        const vector = vectors.get(key);
        if (vector !== undefined) this.#postings.get(key)!.add(row, vector);
      }
    }
    if (this.full) for (const { key } of added) this.#postings.get(key)!.seal();
  }

  /** Once the segment is full: the sparse vectors of its live rows, as far as they are indexed. */
  sparseVectors(): (row: number) => SparseVectors {
    const byKey = [...this.#postings].map(([key, postings]) => [key, postings.vectors(this.live)] as const);
    return (row) =>
      new Map(
        byKey.flatMap(([key, vectors]) => {
          const vector = vectors.get(row);
          return vector === undefined ? [] : [[key, vector] as const];
        }),
      );
  }

  #hold(row: number, vector: Float32Array): void {
    this.#vectors ??= this.#blocks.take(SEGMENT_ROWS);
    this.#vectors.set(vector, row * this.dimension);
    this.held[row >>> 5]! |= 1 << (row & 31);
  }

  #findRun(word: number): void {
    const first = this.#numbers[word * 32]!;
    let length = 1;
    while (length < 32 && this.#numbers[word * 32 + length] === first + length) length++;
    this.#runs[word] = Number(length === 32);
  }

  #grow(capacity: number): void {
    if (this.vectors.length < capacity * this.dimension) {
      const vectors = this.#blocks.take(capacity);
      vectors.set(this.vectors);
      this.#vectors = vectors;
    }
    const offsets = sharedFloat64(capacity);
    offsets.set(this.#offsets);
    this.#offsets = offsets;
    const sequences = new Float64Array(capacity);
    sequences.set(this.#sequences);
    this.#sequences = sequences;
    const numbers = new Uint32Array(capacity);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

function sharedFloat64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT));
}
