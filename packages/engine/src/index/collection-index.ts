/**
 * The in-memory index of a collection: metadata, dense and sparse vectors of every live record, in segments. Documents
 * and URIs stay in the store.
 *
 * A write appends a row to the newest segment; an update leaves the old row dead behind. Full segments are sealed in the
 * background, from `denseRows` records on. A full segment most of whose rows have died before that is emptied: every
 * write moves some of its rows to the newest, so garbage stays within about what lives. Rows are therefore not in
 * insertion order: the record offset is.
 */
import assert from "node:assert/strict";
import type { IndexPlan } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import type { KernelKind } from "../kernels/kernel-memory.ts";
import { MutableSegment, type SparseVectors } from "../segment/mutable-segment.ts";
import type { LookupSegment } from "../segment/segment.ts";
import type { StoredRecord, VectorVersion } from "../storage/stored-record.ts";
import { BackgroundWork } from "./background-work.ts";
import type { VectorMemory } from "../segment/dense/vector-memory.ts";
import { IndexSnapshot } from "./index-snapshot.ts";
import { Indexer } from "./indexer.ts";
import { listBits } from "../segment/bits.ts";
import { type LiveSegment, SegmentList } from "./segment-list.ts";
import { sparseVectorsOf } from "../segment/postings/sparse-metadata.ts";
import { VectorBlocks } from "../segment/vector-blocks.ts";

/** Reads the store for what the index does not keep. */
export interface RecordReader {
  /** `null` if it is gone. */
  read(offset: number): StoredRecord | null;
  /** The vector alone, faster; `null` if the record is gone. */
  readVector(offset: number): VectorVersion | null;
}

export interface SegmentSizes {
  /** Rows of a segment that is being filled, a multiple of 32. */
  readonly mutableRows: number;
  /** Rows of the largest segment that is sealed. */
  readonly sealedRows: number;
}

export interface CollectionIndexOptions {
  /** Records from which on rows get codes and full segments are sealed. */
  readonly denseRows?: number | undefined;
  /** Until `filled` rows are added as fast as they can be; no search is under way. */
  readonly filling?: boolean | undefined;
  /** For the vectors of sealed segments; without limit if left out. */
  readonly vectorMemory?: VectorMemory | undefined;
  /** Small ones for tests. */
  readonly sizes?: SegmentSizes | undefined;
  /** Sparse postings of a segment that wait unpacked; small for tests. */
  readonly minSparseTail?: number | undefined;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  /** Hears why segments are no longer sealed; a warning of the process if left out. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
}

/** Plain scans are as fast below. */
const DENSE_ROWS = 4_096;
/** To scan the codes of a mutable segment takes less than 0.1 ms at 384 dimensions; to seal the largest one, seconds. */
const DEFAULT_SIZES: SegmentSizes = { mutableRows: 16_384, sealedRows: 131_072 };
/** After the last write, until segments that could be one are made one. */
const REST_MS = 1_000;
/** Rows that may wait for their codes, which bounds the memory of their vectors; beyond it every write codes two. */
const MAX_WAITING = 16_384;
/** Bytes of vectors that may wait while the index is filled: nothing can be searched until that is done. */
const MAX_WAITING_BYTES = 2 ** 28;
/** Rows of a segment that is emptied, moved with every write: its last one is moved before as many are written. */
const MOVED_PER_WRITE = 4;

export class CollectionIndex {
  readonly #reader: RecordReader;
  readonly #options: CollectionIndexOptions;
  readonly #sizes: SegmentSizes;
  readonly #work: BackgroundWork;
  readonly #segments = new SegmentList();
  #plan: IndexPlan;
  #indexer: Indexer;
  #nextSegment = 0;
  #blocks: VectorBlocks | null = null;
  #snapshot: IndexSnapshot | null = null;
  /** Of `#snapshot`. */
  #snapshotChanges = -1;
  /** No record has a higher one. */
  #maxOffset = -1;
  /** Where the search for rows of a segment that is emptied goes on. */
  #moved = 0;
  #writtenAt = 0;
  #filling: boolean;
  #building = false;
  #failed = false;

  /** `reader` is asked for the stored records when a plan changes what is compared, or which keys are indexed. */
  constructor(plan: IndexPlan, reader: RecordReader, options: CollectionIndexOptions = {}) {
    this.#plan = plan;
    this.#reader = reader;
    this.#options = options;
    this.#sizes = options.sizes ?? DEFAULT_SIZES;
    this.#filling = options.filling ?? false;
    this.#indexer = this.#newIndexer();
    this.#work = new BackgroundWork({
      step: () => this.#step(),
      onFailure: (error) => {
        this.#failed = true;
        this.#building = false;
        this.#indexer.restart();
        (options.onProblem ?? warn)(error);
      },
    });
  }

  /** Live records. */
  get size(): number {
    return this.#segments.size;
  }

  /** Background work is under way that makes searches faster, not different. */
  get isBuilding(): boolean {
    return this.#building;
  }

  /** Ends `filling`. */
  filled(): void {
    this.#filling = false;
    if (this.#building) this.#wake();
  }

  /** Inserts, or replaces the live record with the same id or offset. */
  put(record: StoredRecord): void {
    this.#write(record);
    this.#emptyHollow();
    this.#settle();
  }

  remove(offset: number): void {
    const place = this.#segments.ofOffset(offset);
    if (place === null) return;
    this.#segments.kill(place);
    if (this.size === 0) this.#clear();
    else this.#emptyHollow();
    this.#settle();
  }

  /** A changed schema or configuration. */
  setPlan(plan: IndexPlan): void {
    const old = this.#plan;
    this.#plan = plan;
    this.#snapshot = null;
    if (plan.space !== old.space) this.#rebuild();
    else this.#indexSparse(plan);
  }

  close(): void {
    this.#work.close();
    this.#building = false;
    this.#clear();
  }

  /** The live rows now. The same object until something changes. */
  snapshot(): IndexSnapshot {
    const { changes, entries, size } = this.#segments;
    if (this.#snapshot === null || changes !== this.#snapshotChanges)
      this.#snapshot = new IndexSnapshot(entries, size);
    this.#snapshotChanges = changes;
    return this.#snapshot;
  }

  /** Position of a record in `snapshot()`, or `null`. */
  position(id: string): number | null {
    const place = this.#segments.ofId(id);
    return place === null ? null : this.snapshot().positionOf(place);
  }

  /** Runs `read`, which may look at the segments' vectors until it resolves. */
  reading<T>(read: () => Promise<T>): Promise<T> {
    return this.#blocks === null ? read() : this.#blocks.reading(read);
  }

  /** Does about a millisecond of what the background does; false: there is nothing to do. */
  maintain(atRest: boolean): boolean {
    return this.#moveHollow(MOVED_PER_WRITE) || (this.#hasCodes && this.#indexer.step(atRest));
  }

  get #hasCodes(): boolean {
    return !this.#failed && this.size >= (this.#options.denseRows ?? DENSE_ROWS);
  }

  #write(record: StoredRecord): void {
    const vector = prepare(this.#plan.space, record.embedding);
    const segment = this.#segmentFor(vector.length);
    const old = record.offset > this.#maxOffset ? null : this.#segments.ofOffset(record.offset);
    if (old !== null) this.#segments.kill(old);
    const former = this.#segments.ofId(record.id);
    if (former !== null) this.#segments.kill(former);
    this.#maxOffset = Math.max(this.#maxOffset, record.offset);
    const { offset, sequence, id, document, metadata } = record;
    const sparse = sparseVectorsOf(metadata);
    if (segment !== null) this.#segments.begin(segment);
    this.#segments.append({ offset, sequence, id, document, metadata, vector, sparse });
  }

  /** A new one where one is needed. */
  #segmentFor(dimension: number): MutableSegment | null {
    const last = this.#segments.entries.at(-1)?.segment;
    if (last !== undefined)
      assert.equal(dimension, this.#blocks!.dimension, "a record's dimension differs from its collection's");
    if (last !== undefined && !last.isSealed && !last.isFull) return null;
    if (this.#blocks?.dimension !== dimension) this.#blocks = new VectorBlocks(dimension);
    const id = this.#nextSegment++;
    return new MutableSegment({
      id,
      capacity: this.#sizes.mutableRows,
      plan: this.#plan,
      vectors: { blocks: this.#blocks, grows: id === 0 },
      minSparseTail: this.#options.minSparseTail,
    });
  }

  /** After every change. */
  #settle(): void {
    if (!this.#hasCodes) return;
    this.#writtenAt = performance.now();
    this.#wake();
    if (!this.#mayWait()) this.#work.now(() => this.#indexer.code(2));
  }

  #wake(): void {
    this.#building = true;
    if (!this.#filling) this.#work.wake();
  }

  #mayWait(): boolean {
    const { waiting } = this.#indexer;
    if (waiting <= MAX_WAITING || !this.#filling) return waiting <= MAX_WAITING;
    return waiting * this.#blocks!.dimension * Float32Array.BYTES_PER_ELEMENT <= MAX_WAITING_BYTES;
  }

  #step(): boolean {
    const atRest = performance.now() - this.#writtenAt >= REST_MS;
    this.#building = this.maintain(atRest);
    if (!this.#building && !atRest) this.#work.wakeIn(REST_MS);
    return this.#building;
  }

  #emptyHollow(): void {
    this.#work.now(() => {
      if (this.#moveHollow(MOVED_PER_WRITE)) this.#wake();
    });
  }

  /** Moves rows of a full segment that most rows have left before it was sealed; false: there is none. */
  #moveHollow(count: number): boolean {
    const hollow = this.#failed ? undefined : this.#segments.entries.find(isHollow);
    if (hollow === undefined) return false;
    const { segment } = hollow;
    for (let left = count; left > 0 && hollow.liveCount > 0; this.#moved++) {
      if (this.#moved >= segment.capacity) this.#moved = 0;
      if (!hollow.isLive(this.#moved)) continue;
      left--;
      const record = this.#reader.read(segment.offsets[this.#moved]!);
      // Another version is on its way here, by the write that made it.
      if (record !== null && record.sequence === segment.sequences[this.#moved]) this.#write(record);
    }
    if (hollow.liveCount > 0) return true;
    this.#moved = 0;
    this.#indexer.restart();
    this.#segments.replace([hollow], null);
    return true;
  }

  /** Of vectors that no index had so far only the store knows; a row that it is ahead of is about to be replaced. */
  #indexSparse(plan: IndexPlan): void {
    this.#indexer.restart();
    for (const { segment, live } of this.#segments.entries) {
      const vectorsOf = (docId: number): SparseVectors => {
        const record = this.#reader.read(segment.offsets[docId]!);
        const isThisVersion = record !== null && record.sequence === segment.sequences[docId];
        return sparseVectorsOf(isThisVersion ? record.metadata : null);
      };
      segment.indexSparse(plan, listBits(live), vectorsOf);
    }
  }

  #rebuild(): void {
    const offsets = this.#segments.entries.flatMap(({ segment, live }) =>
      listBits(live).map((docId) => segment.offsets[docId]!),
    );
    this.#clear();
    for (const offset of offsets.sort((a, b) => a - b)) {
      const record = this.#reader.read(offset);
      if (record !== null) this.put(record);
    }
  }

  #newIndexer(): Indexer {
    const { vectorMemory, kernels } = this.#options;
    return new Indexer({
      segments: this.#segments,
      space: this.#plan.space,
      segmentRows: this.#sizes.sealedRows,
      memory: vectorMemory,
      kernels,
      nextId: () => this.#nextSegment++,
      sparseKeys: () => this.#plan.sparse.map(({ key }) => key),
      readVector: (segment, docId) => this.#storedVector(segment, docId),
    });
  }

  /** `null`: gone, or of another version; the index has yet to hear of it. */
  #storedVector(segment: LookupSegment, docId: number): Float32Array | null {
    const stored = this.#reader.readVector(segment.offsets[docId]!);
    return stored === null || stored.sequence !== segment.sequences[docId] ? null : stored.embedding;
  }

  #clear(): void {
    this.#indexer.close();
    this.#indexer = this.#newIndexer();
    this.#segments.clear();
    this.#blocks = null;
    this.#snapshot = null;
    this.#moved = 0;
  }
}

function isHollow({ segment, liveCount }: LiveSegment): boolean {
  return !segment.isSealed && segment.isFull && liveCount < segment.capacity / 2;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
