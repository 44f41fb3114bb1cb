/**
 * The in-memory index of a collection: metadata, dense and sparse vectors of every live record, in segments. Documents
 * and URIs stay in the store.
 *
 * A write appends a row to the newest segment; an update leaves the old row dead behind. The rows of a batch enter in
 * steps, unseen, and are published together in the last one. Full segments are sealed in the background, from `denseRows`
 * records on. A full segment most of whose rows have died before that is emptied: every write moves some of its rows to
 * the newest, so garbage stays within about what lives. Rows are therefore not in insertion order: the record offset is.
 */
import assert from "node:assert/strict";
import type { IndexPlan } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import { MutableSegment, type SparseVectors } from "../segment/mutable-segment.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { LookupSegment } from "../segment/segment.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { runSteps } from "../storage/steps.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { BackgroundWork } from "./background-work.ts";
import {
  type CollectionIndexOptions,
  DEFAULT_SIZES,
  DENSE_ROWS,
  type IndexChange,
  type RecordReader,
  type SegmentSizes,
  storedVector,
  warnOfProblem,
} from "./collection-index-options.ts";
import { HollowSegments } from "./hollow-segments.ts";
import { IndexSnapshot } from "./index-snapshot.ts";
import type { RestoredSegment } from "./files/restore-index.ts";
import { Indexer } from "./indexer.ts";
import { isFarBehind } from "./merge-policy.ts";
import { listBits } from "../segment/bits.ts";
import { sealAmongWrites } from "./seal-among-writes.ts";
import { LiveSegment, type RowVersion, SegmentList, rowsOfFirstBlock } from "./segment-list.ts";
import { sparseVectorsOf } from "../segment/postings/sparse-metadata.ts";
import { VectorBlocks } from "../segment/vector-blocks.ts";
import { UnsealedLimit } from "./unsealed-limit.ts";

/** After the last write, until segments that could be one are made one. */
const REST_MS = 1_000;
/** Until codes and vectors are loaded from files: the search that a collection was opened for is answered before. */
const LOADING_DELAY_MS = 250;

export class CollectionIndex {
  readonly memory: IndexMemory;
  readonly #reader: RecordReader;
  readonly #options: CollectionIndexOptions;
  readonly #sizes: SegmentSizes;
  readonly #work: BackgroundWork;
  readonly #loading: BackgroundWork;
  readonly #segments: SegmentList;
  readonly #limit: UnsealedLimit;
  readonly #hollow: HollowSegments;
  #plan: IndexPlan;
  #indexer: Indexer;
  #nextSegment = 0;
  #blocks: VectorBlocks | null = null;
  #snapshot: IndexSnapshot | null = null;
  /** Of `#snapshot`. */
  #snapshotChanges = -1;
  /** Sequence number of the newest operation. */
  #newest = 0;
  /** No record has a higher one. */
  #maxOffset = -1;
  #writtenAt = 0;
  #filling: boolean;
  /** Between the first and the last step of a change: segments stay as they are. */
  #changing = false;
  #building = false;
  #failed = false;

  /** `reader` is asked for the stored records when a plan changes what is compared, or which keys are indexed. */
  constructor(plan: IndexPlan, reader: RecordReader, options: CollectionIndexOptions = {}) {
    this.#plan = plan;
    this.#reader = reader;
    this.#options = options;
    this.memory = options.memory ?? new IndexMemory();
    this.#segments = new SegmentList(this.memory.unsealed);
    this.#sizes = options.sizes ?? DEFAULT_SIZES;
    this.#filling = options.filling ?? false;
    this.#limit = new UnsealedLimit(this.#segments, this.#sizes.mutableRows);
    this.#hollow = new HollowSegments({
      ...{ segments: this.#segments, reader },
      isMovable: (entry) => this.#isMovable(entry),
      write: (record) => this.#write(record),
    });
    this.#indexer = this.#newIndexer();
    const onFailure = (error: unknown): void => {
      this.#failed = true;
      this.#building = false;
      this.#limit.lift();
      this.#indexer.restart();
      (options.onProblem ?? warnOfProblem)(error);
    };
    this.#work = new BackgroundWork({ step: () => this.#step(), onFailure });
    const load = (): boolean =>
      !this.#failed && !this.#changing && !this.#hollow.isMoving && this.#indexer.load();
    const sliceMs = (): number => this.#indexer.loadingSliceMs;
    this.#loading = new BackgroundWork({ step: load, onFailure, sliceMs });
  }

  /** What an index had that was closed, into one that is empty. `offsets`: above those of all its records. */
  restore(segments: readonly RestoredSegment[], offsets: number): void {
    assert.equal(this.#nextSegment, 0, "the index has been used");
    this.#segments.restore(segments.map(({ segment, live }) => new LiveSegment(segment, live)));
    this.#nextSegment = Math.max(-1, ...segments.map(({ segment }) => segment.id)) + 1;
    this.#maxOffset = offsets - 1;
    const shape = segments[0]?.segment.vectors.search.segment.shape;
    if (shape === undefined) return;
    this.#blocks = new VectorBlocks(shape.dimension);
    this.#indexer.continueFrom(shape.origin);
    this.#loading.restFor(LOADING_DELAY_MS);
    this.wake();
  }

  /** Empties an index that could not be filled. */
  reset(): void {
    this.#clear();
    this.#nextSegment = 0;
    this.#maxOffset = -1;
  }

  /** Oldest first. */
  get segments(): readonly LiveSegment[] {
    return this.#segments.entries;
  }

  /** It is being written anew, together with others or alone. */
  isReplacedSoon(segment: SealedSegment): boolean {
    return this.#indexer.isSource(segment);
  }

  /** A row's vector from the store, in the form that segments have; `null`: the store has another version by now. */
  readVector(segment: LookupSegment, docId: number): Float32Array | null {
    return this.#indexer.readVector(segment, docId);
  }

  /** Of the live row of the record with this id; `null`: there is none. */
  versionOf(id: string): RowVersion | null {
    return this.#segments.versionOf(id);
  }

  /** Live records. */
  get size(): number {
    return this.#segments.size;
  }

  /** Rows that have died by now leave the segments that files are written of. In steps as `change`. */
  *purge(): Generator<void, void> {
    if (this.#hasCodes) this.#indexer.purge();
    yield this.wake();
  }

  get isPurging(): boolean {
    return !this.#failed && this.#segments.entries.some(({ segment }) => this.#indexer.isPurged(segment));
  }

  /** Background work is under way that makes searches faster, not different. */
  get isBuilding(): boolean {
    return this.#building || this.#indexer.isSealing;
  }

  /** Codes and vectors are being loaded from files. */
  get isLoading(): boolean {
    return this.#loading.isAwake || this.#indexer.isReading;
  }

  /** For whoever is about to write: until there is room for more rows, `undefined` where there is. */
  room(): Promise<void> | undefined {
    const limit = this.#options.sealElsewhere !== undefined && this.#hasCodes ? this.#limit : null;
    return limit?.room() ?? this.#segments.room();
  }

  /** Ends `filling`. */
  filled(): void {
    this.#filling = false;
    this.#limit.lower();
    if (this.#building) this.wake();
  }

  /** Inserts, or replaces the live record with the same id or offset. */
  put(record: StoredRecord): void {
    runSteps(this.change({ removes: [], puts: [record] }));
  }

  remove(offset: number, sequence = this.#newest): void {
    runSteps(this.change({ removes: [{ offset, sequence }], puts: [] }));
  }

  /**
   * Removes records by offset and puts others, each known by one id and one offset: a record in each step, all of it seen
   * from the last one on. No other change may begin before that.
   */
  change(change: IndexChange): Generator<void, void> {
    return this.#whileChanging(this.#stage(change));
  }

  /** For whoever has written so many rows: see `seal-among-writes.ts`. In steps as `change`, and not within one. */
  keepUp(rows: number): Generator<void, void> {
    const written = { rows, unsealed: this.#segments.unsealed, segmentRows: this.#sizes.sealedRows };
    return this.#work.nowInSteps(sealAmongWrites(written, () => !this.#filling && this.maintain(false)));
  }

  /** A changed schema or configuration, in steps as `change`. The space stays. */
  setPlan(plan: IndexPlan): Generator<void, void> {
    assert.equal(plan.space, this.#plan.space, "the space of a collection never changes");
    return this.#whileChanging(this.#indexSparse(plan));
  }

  close(): void {
    this.#work.close();
    this.#loading.close();
    this.#limit.lift();
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

  /** Does about a millisecond of what the background does; false: there is nothing to do now. */
  maintain(atRest: boolean): boolean {
    if (this.#changing) return false;
    if (this.#hollow.isMoving || this.#hollow.next !== undefined) {
      if (!this.#hollow.step()) this.#publish();
      return true;
    }
    return this.#segments.packSparse() || (this.#hasCodes && this.#indexer.step(atRest));
  }

  get #hasCodes(): boolean {
    const { denseRows = DENSE_ROWS } = this.#options;
    return !this.#failed && this.#segments.isToBeSealed(denseRows, this.#sizes.mutableRows);
  }

  *#whileChanging(steps: Generator<void, void>): Generator<void, void> {
    assert.ok(!this.#changing, "a change is under way");
    this.#changing = true;
    try {
      if (this.#hollow.isMoving) {
        yield* this.#work.nowInSteps(this.#hollow.finish());
        this.#publish();
      }
      yield* steps;
    } finally {
      this.#changing = false;
    }
  }

  *#stage({ removes, puts }: IndexChange): Generator<void, void> {
    for (const { offset, sequence } of removes) {
      this.#newest = Math.max(this.#newest, sequence);
      const place = this.#segments.ofOffset(offset);
      if (place !== null) this.#segments.kill(place);
      yield* this.#work.nowInSteps(this.#hollow.move());
      yield;
    }
    for (const record of puts) {
      yield* this.#write(record);
      yield* this.#work.nowInSteps(this.#hollow.move());
      while (this.#segments.packSparse()) yield;
      if (this.#hasCodes && !this.#indexer.mayWait(this.#filling ? this.#blocks!.dimension : null))
        this.#work.now(() => this.#indexer.code(2));
      yield;
    }
    this.#publish();
  }

  /** Stages a row. */
  *#write(record: StoredRecord): Generator<void, void> {
    const segment = this.#segmentFor(record.embedding.length);
    const vector = prepare(this.#plan.space, record.embedding, this.#blocks!.one);
    // A record that the store has just made has no row: looking through all segments for its id takes longest of all.
    if (record.offset <= this.#maxOffset)
      for (const former of [this.#segments.ofOffset(record.offset), this.#segments.ofId(record.id)])
        if (former !== null) this.#segments.kill(former);
    this.#maxOffset = Math.max(this.#maxOffset, record.offset);
    this.#newest = Math.max(this.#newest, record.sequence);
    const { offset, sequence, id, document, metadata } = record;
    const sparse = sparseVectorsOf(metadata);
    if (segment !== null) this.#segments.begin(segment);
    yield* this.#segments.append({ offset, sequence, id, document, metadata, vector, sparse });
  }

  /** A new one where one is needed. */
  #segmentFor(dimension: number): MutableSegment | null {
    const last = this.#segments.entries.at(-1)?.segment;
    if (last !== undefined)
      assert.equal(dimension, this.#blocks!.dimension, "a record's dimension differs from its collection's");
    if (last !== undefined && !last.isSealed && !last.isFull) return null;
    if (this.#blocks?.dimension !== dimension) this.#blocks = new VectorBlocks(dimension);
    const { mutableRows: capacity } = this.#sizes;
    return new MutableSegment({
      ...{ id: this.#nextSegment++, capacity },
      plan: this.#plan,
      vectors: { blocks: this.#blocks, firstRows: rowsOfFirstBlock(this.size, capacity) },
      minSparseTail: this.#options.minSparseTail,
    });
  }

  /** Of all that was staged. */
  #publish(): void {
    this.#segments.publish();
    if (this.size === 0 && this.#segments.entries.length > 0) this.#clear();
    const isUnused = ({ segment }: LiveSegment): boolean => !this.#indexer.isSource(segment);
    const emptied = this.#segments.entries.filter((entry) => entry.isEmptied && isUnused(entry));
    if (emptied.length > 0) {
      this.#hollow.restart();
      this.#segments.replace(emptied, null);
    }
    this.#limit.pass();
    this.#writtenAt = performance.now();
    if (this.#hasCodes || this.#hollow.next !== undefined) this.wake();
  }

  wake(): void {
    this.#building = true;
    if (!this.#filling) this.#work.wake();
  }

  #step(): boolean {
    // Its last step wakes the background again.
    if (this.#changing) return false;
    const atRest = performance.now() - this.#writtenAt >= REST_MS;
    this.#building = this.maintain(atRest);
    if (!this.#building && !atRest) this.#work.wakeIn(REST_MS);
    if (!this.#building) this.#loading.wake();
    return this.#building;
  }

  /** Old rows are sealed where that can be done, and so are those that are being sealed. */
  #isMovable({ segment }: LiveSegment): boolean {
    if (this.#failed || segment.isSealed || this.#indexer.isLeft(segment)) return false;
    return !(this.#hasCodes && isFarBehind(this.#newest - segment.minSequence, this.#sizes.mutableRows));
  }

  /** Of vectors that no index had so far only the store knows; a row that it is ahead of is about to be replaced. */
  *#indexSparse(plan: IndexPlan): Generator<void, void> {
    this.#indexer.restart();
    const changed: (() => void)[] = [];
    for (const { segment, live } of this.#segments.entries) {
      const vectorsOf = (docId: number): SparseVectors => {
        const record = this.#reader.read(segment.offsets[docId]!);
        const isThisVersion = record !== null && record.sequence === segment.sequences[docId];
        return sparseVectorsOf(isThisVersion ? record.metadata : null);
      };
      changed.push(yield* segment.indexSparse(plan, listBits(live), vectorsOf));
    }
    for (const take of changed) take();
    this.#plan = plan;
    this.#snapshot = null;
  }

  #newIndexer(): Indexer {
    const { kernels, rowReader, sealElsewhere, filed } = this.#options;
    return new Indexer({
      ...{ segments: this.#segments, space: this.#plan.space, memory: this.memory },
      ...{ mutableRows: this.#sizes.mutableRows, segmentRows: this.#sizes.sealedRows },
      ...{ kernels, rowReader, sealElsewhere, filed },
      newestSequence: () => this.#newest,
      nextId: () => this.#nextSegment++,
      onSealed: () => {
        this.#limit.lower();
        this.#options.onSealed?.();
      },
      ...{ wake: () => this.wake(), loading: () => this.#loading },
      sparseKeys: () => this.#plan.sparse.map(({ key }) => key),
      readVector: (segment, docId) => storedVector(this.#reader, segment, docId),
    });
  }

  #clear(): void {
    this.#indexer.close();
    this.#indexer = this.#newIndexer();
    this.#segments.clear();
    this.#blocks = null;
    this.#snapshot = null;
    this.#hollow.restart();
  }
}
