/**
 * The in-memory index that answers everything exactly: metadata, dense and sparse vectors of every live record, in
 * segments of columns. Documents and URIs stay in the store.
 *
 * A write appends a row; an update leaves the old row dead behind. Of a full segment that is more than half dead the
 * live rows move to the newest segment, so garbage never exceeds what lives and no pause is longer than half a
 * segment takes. Rows are therefore not in insertion order: the record offset is.
 */
import assert from "node:assert/strict";
import type { IndexPlan } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import type { DenseIndexSizes } from "./dense/dense-index.ts";
import type { VectorMemory } from "./dense/vector-memory.ts";
import { type DenseAnswer, type DenseRequest, DenseRows } from "./dense-rows.ts";
import { IndexSnapshot } from "./index-snapshot.ts";
import type { RecordIndex, RecordReader, Row } from "./record-index.ts";
import { type RowSet, SEGMENT_ROWS, listBits } from "./row-set.ts";
import { type RowPlace, Segment, type SegmentRow } from "./segment.ts";
import { SparseBlocks } from "./sparse-blocks.ts";
import { sparseVectorsOf } from "./sparse-metadata.ts";
import { VectorBlocks } from "./vector-blocks.ts";

export interface ExactIndex extends RecordIndex {
  /** The live rows now. The same object until the next write. */
  snapshot(): IndexSnapshot;
  /** Position of a record in `snapshot()`, or `null`. */
  position(id: string): number | null;
  /** The fast dense index's share of an answer; `null` where it has none. See `DenseRows`. */
  searchDense(
    request: DenseRequest,
    rows: RowSet,
    snapshot: IndexSnapshot,
  ): Generator<void, DenseAnswer | null>;
  /** Runs `read`, which may look at the segments' vectors until it resolves. */
  reading<T>(read: () => Promise<T>): Promise<T>;
  /** Ends `filling`. */
  filled(): void;
  /** Background work is under way that makes searches faster, not different. */
  readonly isBuilding: boolean;
}

export interface ExactIndexOptions {
  /** Records from which on there is a fast dense index beside the exact one. */
  readonly denseRows?: number | undefined;
  /** Until `filled` rows are added as fast as they can be; no search is under way. */
  readonly filling?: boolean | undefined;
  /** For the vectors that the fast dense index keeps; without limit if left out. */
  readonly vectorMemory?: VectorMemory | undefined;
  /** Small ones for tests. */
  readonly denseSizes?: DenseIndexSizes | undefined;
  /** Sparse postings of a segment that wait unpacked; small for tests. */
  readonly minSparseTail?: number | undefined;
  /** Hears why there is no fast dense index any more; a warning of the process if left out. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
}

/** `reader` is asked for the stored vectors when a plan changes the space they are compared in. */
export function createExactIndex(
  plan: IndexPlan,
  reader: RecordReader,
  options: ExactIndexOptions = {},
): ExactIndex {
  return new SegmentedIndex(plan, reader, options);
}

class SegmentedIndex implements ExactIndex {
  readonly #reader: RecordReader;
  #plan: IndexPlan;
  /** Ascending by number. */
  #segments: Segment[] = [];
  #nextSegment = 0;
  /** Row = number of the segment * SEGMENT_ROWS + row in it. */
  #rowById = new Map<string, Row>();
  #rowByOffset = new Map<number, Row>();
  #snapshot: IndexSnapshot | null = null;
  #blocks: VectorBlocks | null = null;
  readonly #dense: DenseRows;
  readonly #sparse: SparseBlocks;
  readonly #minSparseTail: number | undefined;

  constructor(plan: IndexPlan, reader: RecordReader, options: ExactIndexOptions) {
    this.#plan = plan;
    this.#reader = reader;
    this.#dense = new DenseRows({
      segmentOf: (row) => this.#segments[this.#segmentIndex(row)]!,
      readVector: (segment, local) => this.#storedVector(segment, local),
      minRows: options.denseRows,
      filling: options.filling,
      vectorMemory: options.vectorMemory,
      sizes: options.denseSizes,
      onProblem: options.onProblem ?? warn,
    });
    this.#sparse = new SparseBlocks({ onProblem: options.onProblem ?? warn });
    this.#minSparseTail = options.minSparseTail;
  }

  get isBuilding(): boolean {
    return this.#dense.isBuilding || this.#sparse.isBuilding;
  }

  get size(): number {
    return this.#rowById.size;
  }

  filled(): void {
    this.#dense.filled();
  }

  put(record: StoredRecord): void {
    this.#snapshot = null;
    const number = this.#numberFor(record);
    const old = this.#rowById.get(record.id);
    if (old !== undefined) this.#kill(old);
    const { segment, local } = this.#append({
      offset: record.offset,
      number,
      sequence: record.sequence,
      id: record.id,
      metadata: record.metadata,
      vector: prepare(this.#plan.space, record.embedding),
      sparse: sparseVectorsOf(record.metadata),
    });
    segment.signatures.add(local, record.document);
    this.#dense.added(number, segment.number * SEGMENT_ROWS + local);
    this.#settle();
  }

  remove(offset: number): void {
    const row = this.#rowByOffset.get(offset);
    if (row === undefined) return;
    this.#snapshot = null;
    this.#dense.numbers.remove(this.#numberOf(row));
    this.#kill(row);
    this.#settle();
    if (this.size > 0) return;
    this.#segments = [];
    this.#sparse.clear();
  }

  setPlan(plan: IndexPlan): void {
    const old = this.#plan;
    this.#plan = plan;
    this.#snapshot = null;
    if (plan.space !== old.space) this.#rebuild();
    else this.#indexSparse(plan, old);
  }

  close(): void {
    this.#dense.close(this.#segments);
    this.#sparse.close();
    this.#clear();
  }

  snapshot(): IndexSnapshot {
    this.#snapshot ??= new IndexSnapshot([...this.#segments], this.size);
    return this.#snapshot;
  }

  position(id: string): number | null {
    const row = this.#rowById.get(id);
    if (row === undefined) return null;
    return this.snapshot().positionOf(row);
  }

  searchDense(
    request: DenseRequest,
    rows: RowSet,
    snapshot: IndexSnapshot,
  ): Generator<void, DenseAnswer | null> {
    return this.#dense.search(request, rows, snapshot);
  }

  reading<T>(read: () => Promise<T>): Promise<T> {
    return this.#blocks === null ? read() : this.#blocks.reading(read);
  }

  #append(values: SegmentRow): RowPlace {
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.full) {
      const dimension = values.vector?.length ?? segment?.dimension ?? 0;
      if (this.#blocks?.dimension !== dimension) this.#blocks = new VectorBlocks(dimension);
      segment = new Segment(this.#nextSegment++, this.#plan, this.#blocks, this.#minSparseTail);
      this.#segments.push(segment);
    }
    assert.equal(
      values.vector?.length ?? segment.dimension,
      segment.dimension,
      "a record's dimension differs from its collection's",
    );
    const local = segment.append(values);
    if (segment.full) for (const key of segment.sparseKeys) this.#sparse.add(key, segment.postings(key)!);
    const row = segment.number * SEGMENT_ROWS + local;
    this.#rowById.set(values.id, row);
    this.#rowByOffset.set(values.offset, row);
    return { segment, local };
  }

  #kill(row: Row): void {
    const { segment, local } = this.#locate(row);
    this.#rowById.delete(segment.ids[local]!);
    this.#rowByOffset.delete(segment.offsets[local]!);
    this.#dense.removed(segment, local);
    segment.kill(local);
    if (segment.full && segment.liveCount < SEGMENT_ROWS / 2) this.#dissolve(segment);
  }

  /** Moves what lives in the segment to the newest one and drops it; snapshots that hold it keep it. */
  #dissolve(segment: Segment): void {
    this.#segments = this.#segments.filter((other) => other !== segment);
    for (const key of segment.sparseKeys) this.#sparse.remove(key, segment.postings(key)!);
    const sparse = segment.sparseVectors();
    for (const local of listBits(segment.live)) {
      const to = this.#append({
        offset: segment.offsets[local]!,
        number: segment.numbers[local]!,
        sequence: segment.sequences[local]!,
        id: segment.ids[local]!,
        metadata: segment.metadata.get(local),
        vector: segment.vector(local),
        sparse: sparse(local),
      });
      to.segment.signatures.copy(to.local, segment.signatures, local);
      this.#dense.moved({ segment, local }, to);
    }
  }

  /** Of vectors that no index had so far only the store knows; a row that it is ahead of is about to be replaced. */
  #indexSparse(plan: IndexPlan, old: IndexPlan): void {
    const added = plan.sparse.filter(({ key }) => !old.sparse.some((other) => other.key === key));
    for (const { key } of old.sparse) {
      if (!plan.sparse.some((other) => other.key === key)) this.#sparse.drop(key);
    }
    for (const segment of this.#segments) {
      segment.indexSparse(plan, (local) => {
        const record = this.#reader.read(segment.offsets[local]!);
        const isThisVersion = record !== null && record.sequence === segment.sequences[local];
        return sparseVectorsOf(isThisVersion ? record.metadata : null);
      });
      if (segment.full) for (const { key } of added) this.#sparse.add(key, segment.postings(key)!);
    }
  }

  #rebuild(): void {
    const offsets = [...this.#rowByOffset.keys()].sort((a, b) => a - b);
    this.#clear();
    for (const offset of offsets) {
      const record = this.#reader.read(offset);
      if (record !== null) this.put(record);
    }
  }

  #settle(): void {
    if (this.#dense.numbers.isSparse(this.size)) this.#renumber();
    this.#dense.settle(this.#segments, this.size, this.#plan.space);
  }

  /** In insertion order, without gaps. */
  #renumber(): void {
    const { numbers } = this.#dense;
    const changes = new Uint32Array(numbers.limit);
    numbers.clear();
    for (const [, row] of [...this.#rowByOffset].sort(([a], [b]) => a - b)) {
      const { segment, local } = this.#locate(row);
      const number = numbers.next();
      changes[segment.numbers[local]!] = number;
      segment.numbers[local] = number;
      numbers.place(number, row);
    }
    this.#dense.renumbered(this.#segments, changes);
  }

  /** `null`: gone, or of another version; the index has yet to hear of it. */
  #storedVector(segment: Segment, local: number): Float32Array | null {
    const stored = this.#reader.readVector(segment.offsets[local]!);
    if (stored === null || stored.sequence !== segment.sequences[local]) return null;
    return prepare(this.#plan.space, stored.embedding);
  }

  /** An update keeps the record's number, an id that comes back as another record gets a new one. */
  #numberFor({ id, offset }: StoredRecord): number {
    const row = this.#rowByOffset.get(offset);
    if (row !== undefined) return this.#numberOf(row);
    const former = this.#rowById.get(id);
    if (former !== undefined) this.#dense.numbers.remove(this.#numberOf(former));
    return this.#dense.numbers.next();
  }

  #numberOf(row: Row): number {
    const { segment, local } = this.#locate(row);
    return segment.numbers[local]!;
  }

  #clear(): void {
    this.#dense.drop(this.#segments);
    this.#dense.numbers.clear();
    this.#segments = [];
    this.#blocks = null;
    this.#rowById = new Map();
    this.#rowByOffset = new Map();
    this.#sparse.clear();
    this.#snapshot = null;
  }

  #locate(row: Row): RowPlace {
    return { segment: this.#segments[this.#segmentIndex(row)]!, local: row % SEGMENT_ROWS };
  }

  #segmentIndex(row: Row): number {
    const number = Math.floor(row / SEGMENT_ROWS);
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#segments[middle]!.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
