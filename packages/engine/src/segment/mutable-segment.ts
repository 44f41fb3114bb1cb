/**
 * The segment that rows are written to: docIds in the order of the writes, until it is full or frozen. What a scan on another
 * thread reads (vectors, offsets) is shared memory, and a column that grows is copied, so that a scan keeps the memory
 * it was given. It is sealed when it is full, and searched until that is done.
 *
 * Rows are found by id and by offset once they are published; until then the rows that they replace are.
 */
import type { DocumentText, IndexPlan, Metadata, SparseIndexPlan, SparseVector } from "@sheaf/protocol";
import { metadataBytes } from "../storage/values/record-bytes.ts";
import { BLOCK_DOCS } from "./block-docs.ts";
import { SparsePostings } from "./postings/sparse-postings.ts";
import { MemoryBlock } from "./memory-block.ts";
import { MutableVectors, type VectorOptions } from "./mutable-vectors.ts";
import { OffsetOrder } from "./offset-order.ts";
import type { LookupSegment } from "./segment.ts";

const FIRST_CAPACITY = 16;
/** Of a row beside its id, metadata and vector: entries of maps, numbers, signatures. */
const ROW_OVERHEAD = 250;
/** Of a row's code: what stands beside its bits, which are there twice. */
const CODE_OVERHEAD = 32;
/** Of ids and metadata: as objects on the heap they take about twice their bytes. */
const OBJECT_FACTOR = 2;
/** Metadata that counts as much as a row: what is not sealed is in memory, dead rows too. */
export const ROW_BYTES = 4_096;

/** The sparse vectors of a record, by metadata key. */
export type SparseVectors = ReadonlyMap<string, SparseVector>;

/** One version of a record. */
export interface SegmentRow {
  readonly offset: number;
  readonly sequence: number;
  readonly id: string;
  readonly document: DocumentText | null;
  readonly metadata: Metadata | null;
  /** In the form that distances are computed from. Copied at once: the caller may use its memory for the next. */
  readonly vector: Float32Array;
  readonly sparse: SparseVectors;
}

export interface MutableSegmentOptions {
  readonly id: number;
  readonly capacity: number;
  readonly plan: IndexPlan;
  readonly vectors: VectorOptions;
  /** Sparse postings that wait unpacked; small for tests. */
  readonly minSparseTail?: number | undefined;
}

export class MutableSegment implements LookupSegment {
  readonly isSealed = false;
  readonly id: number;
  readonly capacity: number;
  readonly vectors: MutableVectors;
  readonly blocks: MemoryBlock[] = [];
  readonly #ids: string[] = [];
  readonly #minSparseTail: number | undefined;
  /** The newest row of each. */
  readonly #docOfId = new Map<string, number>();
  readonly #docOfOffset = new Map<number, number>();
  /** Of those whose newest row is not published, the row before. */
  readonly #formerOfId = new Map<string, number>();
  readonly #formerOfOffset = new Map<number, number>();
  #published = 0;
  #frozen = false;
  #minSequence = Infinity;
  #offsets = sharedFloat64(FIRST_CAPACITY);
  #sequences = new Float64Array(FIRST_CAPACITY);
  /** Of the metadata, by docId and of all rows. */
  #rowBytes = new Float64Array(FIRST_CAPACITY);
  #bytes = 0;
  #memoryBytes = 0;
  #minOffset = Infinity;
  readonly #order = new OffsetOrder();
  #postings = new Map<string, SparsePostings>();

  constructor({ id, capacity, plan, vectors, minSparseTail }: MutableSegmentOptions) {
    this.id = id;
    this.capacity = capacity;
    this.#minSparseTail = minSparseTail;
    this.vectors = new MutableVectors(capacity, vectors);
    for (const index of plan.sparse) this.#postings.set(index.key, this.#newPostings(index));
  }

  /** Rows ever appended, dead ones included. */
  get count(): number {
    return this.#ids.length;
  }

  /** Rows that nobody sees yet, the newest ones. */
  get unpublished(): number {
    return this.count - this.#published;
  }

  /** It takes no more rows. */
  get isFull(): boolean {
    return this.#frozen || this.load >= this.capacity;
  }

  /** Rows ever appended, or as many as their metadata stands for. */
  get load(): number {
    return Math.max(this.count, Math.floor(this.#bytes / ROW_BYTES));
  }

  /** Of the metadata of all rows ever appended, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What ids, metadata, vectors and codes of all rows take of the memory, about. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Of the metadata of one row. */
  bytesAt(docId: number): number {
    return this.#rowBytes[docId]!;
  }

  /** Of all rows ever appended. */
  get minSequence(): number {
    return this.#minSequence;
  }

  /** In shared memory. */
  get offsets(): Float64Array {
    return this.#offsets;
  }

  get sequences(): Float64Array {
    return this.#sequences;
  }

  get minOffset(): number {
    return this.#minOffset;
  }

  get docsByOffset(): Uint32Array | null {
    return this.#order.docs(this.#offsets, this.count);
  }

  prepare(): undefined {
    return undefined;
  }

  idAt(docId: number): string {
    return this.#ids[docId]!;
  }

  docOfId(id: string): number {
    const docId = this.#docOfId.get(id) ?? -1;
    return docId < this.#published ? docId : (this.#formerOfId.get(id) ?? -1);
  }

  docOfOffset(offset: number): number {
    const docId = this.#docOfOffset.get(offset) ?? -1;
    return docId < this.#published ? docId : (this.#formerOfOffset.get(offset) ?? -1);
  }

  postings(key: string): SparsePostings | undefined {
    return this.#postings.get(key);
  }

  /** The next row, of a record that has no other row that is not published; in steps where it is long. */
  *append(row: SegmentRow): Generator<void, void> {
    const docId = this.count;
    if (docId === this.#sequences.length) this.#grow(Math.min(docId * 2, this.capacity));
    if (docId % BLOCK_DOCS === 0) this.blocks.push(new MemoryBlock());
    const block = this.blocks.at(-1)!;
    this.#offsets[docId] = row.offset;
    this.#sequences[docId] = row.sequence;
    this.#minOffset = Math.min(this.#minOffset, row.offset);
    this.#minSequence = Math.min(this.#minSequence, row.sequence);
    this.vectors.add(docId, row.vector, this.#offsets);
    block.signatures.add(docId % BLOCK_DOCS, row.document);
    yield* block.push(row.metadata);
    const bytes = row.metadata === null ? 0 : metadataBytes(row.metadata);
    this.#rowBytes[docId] = bytes;
    this.#bytes += bytes;
    const code = CODE_OVERHEAD + 2 * Math.ceil(row.vector.length / 8);
    this.#memoryBytes +=
      ROW_OVERHEAD + OBJECT_FACTOR * (2 * row.id.length + bytes) + row.vector.byteLength + code;
    for (const [key, vector] of row.sparse) this.#postings.get(key)?.add(docId, vector);
    this.#ids.push(row.id);
    const formerOfId = this.#docOfId.get(row.id);
    if (formerOfId !== undefined) this.#formerOfId.set(row.id, formerOfId);
    this.#docOfId.set(row.id, docId);
    const formerOfOffset = this.#docOfOffset.get(row.offset);
    if (formerOfOffset !== undefined) this.#formerOfOffset.set(row.offset, formerOfOffset);
    this.#docOfOffset.set(row.offset, docId);
    if (this.isFull) this.#seal(block);
  }

  /** No row is added any more, though there is room. All are published. */
  freeze(): void {
    if (this.isFull || this.count === 0) return;
    this.#frozen = true;
    this.#seal(this.blocks.at(-1)!);
  }

  /** All rows so far can be found from now on. */
  publish(): void {
    this.#published = this.count;
    this.#formerOfId.clear();
    this.#formerOfOffset.clear();
  }

  /**
   * Makes the inverted lists of a changed plan, some rows in each step, nothing being added meanwhile; what it returns puts
   * them in place. `vectorsOf` gives the sparse vectors of rows, which ascend.
   */
  *indexSparse(
    plan: IndexPlan,
    live: readonly number[],
    vectorsOf: (docId: number) => SparseVectors,
  ): Generator<void, () => void> {
    const create = (index: SparseIndexPlan): SparsePostings => this.#newPostings(index);
    const change = { plan, live, vectorsOf, create, isFull: this.isFull };
    const changed = yield* changedPostings(this.#postings, change);
    return () => {
      closeLeft(this.#postings, changed);
      this.#postings = changed;
    };
  }

  close(): void {
    this.vectors.close();
    for (const postings of this.#postings.values()) postings.close();
  }

  /** Does one step of packing sparse vectors; false: none wait for it. */
  packSparse(): boolean {
    for (const postings of this.#postings.values()) if (postings.packStep()) return true;
    return false;
  }

  #seal(last: MemoryBlock): void {
    last.seal();
    for (const postings of this.#postings.values()) postings.end();
  }

  #newPostings({ statistics }: SparseIndexPlan): SparsePostings {
    return new SparsePostings({ minTail: this.#minSparseTail, hasLengths: statistics !== undefined });
  }

  #grow(capacity: number): void {
    const offsets = sharedFloat64(capacity);
    offsets.set(this.#offsets);
    this.#offsets = offsets;
    const sequences = new Float64Array(capacity);
    sequences.set(this.#sequences);
    this.#sequences = sequences;
    const rowBytes = new Float64Array(capacity);
    rowBytes.set(this.#rowBytes);
    this.#rowBytes = rowBytes;
  }
}

interface PlanChange {
  readonly plan: IndexPlan;
  readonly live: readonly number[];
  readonly vectorsOf: (docId: number) => SparseVectors;
  readonly create: (index: SparseIndexPlan) => SparsePostings;
  /** Nothing is added afterwards. */
  readonly isFull: boolean;
}

/** The postings of a plan: those that there are, and those of new keys made of the live rows, one in each step. */
export function* changedPostings(
  known: ReadonlyMap<string, SparsePostings>,
  { plan, live, vectorsOf, create, isFull }: PlanChange,
): Generator<void, Map<string, SparsePostings>> {
  const keys = plan.sparse.map(({ key }) => key);
  const added = keys.filter((key) => !known.has(key));
  const changed = new Map(plan.sparse.map((index) => [index.key, known.get(index.key) ?? create(index)]));
  for (const docId of added.length === 0 ? [] : live) {
    const vectors = vectorsOf(docId);
    for (const key of added) {
      const vector = vectors.get(key);
      if (vector !== undefined) changed.get(key)!.add(docId, vector);
      yield* changed.get(key)!.pack();
    }
    yield;
  }
  if (isFull) for (const key of added) yield* changed.get(key)!.seal();
  return changed;
}

/** Closes the postings that the changed ones leave out. */
export function closeLeft(
  known: ReadonlyMap<string, SparsePostings>,
  changed: ReadonlyMap<string, SparsePostings>,
): void {
  for (const [key, postings] of known) if (!changed.has(key)) postings.close();
}

function sharedFloat64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT));
}
