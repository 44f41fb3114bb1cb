/**
 * Up to `SEGMENT_ROWS` rows of the exact index, as columns. Rows are only ever appended and never change; a row that
 * is gone loses its bit in `live`. What a scan on another thread reads (vectors, offsets) is shared memory, and a
 * column that grows is copied, so that a scan keeps the memory it was given.
 */
import { type IndexPlan, type Metadata, isSparseVector } from "@sheaf/protocol";
import { SEGMENT_ROWS, SEGMENT_WORDS } from "./row-set.ts";
import { SegmentColumns } from "./segment-columns.ts";
import { SparsePostings } from "./sparse-postings.ts";
import { TrigramSignatures } from "./trigram-signatures.ts";

const FIRST_CAPACITY = 16;
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
  readonly vector: Float32Array;
}

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
  readonly metadata: (Metadata | null)[] = [];
  readonly signatures = new TrigramSignatures();
  /** Rows that the fast dense index holds; see `DenseRows`. */
  readonly dense = new Uint32Array(SEGMENT_WORDS);
  #numbers = new Uint32Array(FIRST_CAPACITY);
  /** By word: 1 if its 32 rows have consecutive numbers. */
  readonly #runs = new Uint8Array(SEGMENT_WORDS);
  #columns = new SegmentColumns([]);
  #liveCount = 0;
  #vectors: Float32Array;
  #offsets = sharedFloat64(FIRST_CAPACITY);
  #sequences = new Float64Array(FIRST_CAPACITY);
  #minOffset = Infinity;
  #postings = new Map<string, SparsePostings>();

  constructor(number: number, dimension: number, plan: IndexPlan) {
    this.number = number;
    this.dimension = dimension;
    this.#vectors = sharedFloat32(FIRST_CAPACITY * dimension);
    for (const { key } of plan.sparse) this.#postings.set(key, new SparsePostings());
  }

  /** Rows ever appended, dead ones included. */
  get count(): number {
    return this.ids.length;
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

  /** `dimension` floats per row, in shared memory. */
  get vectors(): Float32Array {
    return this.#vectors;
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

  vector(row: number): Float32Array {
    return this.#vectors.subarray(row * this.dimension, (row + 1) * this.dimension);
  }

  postings(key: string): SparsePostings | undefined {
    return this.#postings.get(key);
  }

  /** Returns the row within the segment. */
  append(values: SegmentRow): number {
    const row = this.count;
    if (row === this.#sequences.length) this.#grow(Math.min(row * 2, SEGMENT_ROWS));
    this.#vectors.set(values.vector, row * this.dimension);
    this.#offsets[row] = values.offset;
    this.#sequences[row] = values.sequence;
    this.#numbers[row] = values.number;
    if (row % 32 === 31) this.#findRun(row >>> 5);
    this.#minOffset = Math.min(this.#minOffset, values.offset);
    this.ids.push(values.id);
    this.metadata.push(values.metadata);
    for (const [key, postings] of this.#postings) addTo(postings, row, values.metadata?.get(key));
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

  /** Makes the inverted lists of a changed plan. */
  indexSparse(plan: IndexPlan): void {
    this.#postings = new Map(
      plan.sparse.map(({ key }) => {
        const postings = this.#postings.get(key) ?? new SparsePostings();
        if (!this.#postings.has(key)) {
          this.metadata.forEach((metadata, row) => addTo(postings, row, metadata?.get(key)));
          if (this.full) postings.seal();
        }
        return [key, postings];
      }),
    );
  }

  #findRun(word: number): void {
    const first = this.#numbers[word * 32]!;
    let length = 1;
    while (length < 32 && this.#numbers[word * 32 + length] === first + length) length++;
    this.#runs[word] = Number(length === 32);
  }

  #grow(capacity: number): void {
    const vectors = sharedFloat32(capacity * this.dimension);
    vectors.set(this.#vectors);
    this.#vectors = vectors;
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

function addTo(postings: SparsePostings, row: number, value: ReturnType<Metadata["get"]>): void {
  if (value !== undefined && isSparseVector(value)) postings.add(row, value);
}

function sharedFloat32(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * Float32Array.BYTES_PER_ELEMENT));
}

function sharedFloat64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT));
}
