/**
 * The in-memory index that answers everything exactly: metadata, dense and sparse vectors of every live record, in
 * segments of columns. Documents and URIs stay in the store.
 *
 * A write appends a row; an update leaves the old row dead behind. Of a full segment that is more than half dead the
 * live rows move to the newest segment, so garbage never exceeds what lives and no pause is longer than half a
 * segment takes. Rows are therefore not in insertion order: the record offset is.
 */
import assert from "node:assert/strict";
import { type IndexPlan, type Metadata, type SparseVector, isSparseVector } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import type { DenseIndexSizes } from "./dense/dense-index.ts";
import { type DenseAnswer, type DenseRequest, DenseRows } from "./dense-rows.ts";
import { IndexSnapshot } from "./index-snapshot.ts";
import type { RecordIndex, RecordReader, Row } from "./record-index.ts";
import { type RowSet, SEGMENT_ROWS, listBits } from "./row-set.ts";
import { type RowPlace, Segment, type SegmentRow } from "./segment.ts";
import { SparseStatistics } from "./sparse-statistics.ts";

export interface ExactIndex extends RecordIndex {
  /** The live rows now. The same object until the next write. */
  snapshot(): IndexSnapshot;
  /** Position of a record in `snapshot()`, or `null`. */
  position(id: string): number | null;
  /** What each term of a sparse query counts with now: its value, times idf where the key asks for it. */
  sparseWeights(key: string, query: SparseVector): Float32Array;
  /** The fast dense index's share of an answer; `null` where it has none. See `DenseRows`. */
  searchDense(request: DenseRequest, rows: RowSet, snapshot: IndexSnapshot): DenseAnswer | null;
  /** Background work is under way that makes searches faster, not different. */
  readonly isBuilding: boolean;
}

export interface ExactIndexOptions {
  /** Records from which on there is a fast dense index beside the exact one. */
  readonly denseRows?: number | undefined;
  /** Small ones for tests. */
  readonly denseSizes?: DenseIndexSizes | undefined;
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
  #statistics: SparseStatistics;
  #snapshot: IndexSnapshot | null = null;
  readonly #dense: DenseRows;

  constructor(plan: IndexPlan, reader: RecordReader, options: ExactIndexOptions) {
    this.#plan = plan;
    this.#reader = reader;
    this.#statistics = new SparseStatistics(plan);
    this.#dense = new DenseRows({
      segmentOf: (row) => this.#segments[this.#segmentIndex(row)]!,
      minRows: options.denseRows,
      sizes: options.denseSizes,
      onProblem: options.onProblem ?? warn,
    });
  }

  get isBuilding(): boolean {
    return this.#dense.isBuilding;
  }

  get size(): number {
    return this.#rowById.size;
  }

  put(record: StoredRecord): void {
    this.#snapshot = null;
    const number = this.#numberFor(record);
    const old = this.#rowById.get(record.id);
    if (old !== undefined) this.#kill(old);
    const metadata = indexedMetadata(record.metadata);
    const { segment, local } = this.#append({
      offset: record.offset,
      number,
      sequence: record.sequence,
      id: record.id,
      metadata,
      vector: prepare(this.#plan.space, record.embedding),
    });
    segment.signatures.add(local, record.document);
    this.#dense.added(number, segment.number * SEGMENT_ROWS + local);
    this.#statistics.add(metadata);
    this.#settle();
  }

  remove(offset: number): void {
    const row = this.#rowByOffset.get(offset);
    if (row === undefined) return;
    this.#snapshot = null;
    this.#dense.numbers.remove(this.#numberOf(row));
    this.#kill(row);
    this.#settle();
    if (this.size === 0) this.#segments = [];
  }

  setPlan(plan: IndexPlan): void {
    const old = this.#plan;
    this.#plan = plan;
    this.#snapshot = null;
    if (plan.space !== old.space) this.#rebuild();
    else if (!sameSparseIndexes(plan, old)) {
      for (const segment of this.#segments) segment.indexSparse(plan);
      this.#statistics = new SparseStatistics(plan);
      for (const row of this.#rowById.values()) this.#statistics.add(this.#locate(row).metadata);
    }
  }

  close(): void {
    this.#dense.close(this.#segments);
    this.#clear();
  }

  snapshot(): IndexSnapshot {
    this.#snapshot ??= new IndexSnapshot([...this.#segments], this.size);
    return this.#snapshot;
  }

  position(id: string): number | null {
    const row = this.#rowById.get(id);
    if (row === undefined) return null;
    return this.#segmentIndex(row) * SEGMENT_ROWS + (row % SEGMENT_ROWS);
  }

  sparseWeights(key: string, query: SparseVector): Float32Array {
    return this.#statistics.weights(key, query, this.size);
  }

  searchDense(request: DenseRequest, rows: RowSet, snapshot: IndexSnapshot): DenseAnswer | null {
    return this.#dense.search(request, rows, snapshot);
  }

  #append(values: SegmentRow): RowPlace {
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.full) {
      segment = new Segment(this.#nextSegment++, values.vector.length, this.#plan);
      this.#segments.push(segment);
    }
    assert.equal(
      values.vector.length,
      segment.dimension,
      "a record's dimension differs from its collection's",
    );
    const local = segment.append(values);
    const row = segment.number * SEGMENT_ROWS + local;
    this.#rowById.set(values.id, row);
    this.#rowByOffset.set(values.offset, row);
    return { segment, local };
  }

  #kill(row: Row): void {
    const { segment, local, metadata } = this.#locate(row);
    this.#statistics.remove(metadata);
    this.#rowById.delete(segment.ids[local]!);
    this.#rowByOffset.delete(segment.offsets[local]!);
    this.#dense.removed(segment, local);
    segment.kill(local);
    if (segment.full && segment.liveCount < SEGMENT_ROWS / 2) this.#dissolve(segment);
  }

  /** Moves what lives in the segment to the newest one and drops it; snapshots that hold it keep it. */
  #dissolve(segment: Segment): void {
    this.#segments = this.#segments.filter((other) => other !== segment);
    for (const local of listBits(segment.live)) {
      const to = this.#append({
        offset: segment.offsets[local]!,
        number: segment.numbers[local]!,
        sequence: segment.sequences[local]!,
        id: segment.ids[local]!,
        metadata: segment.metadata[local]!,
        vector: segment.vector(local),
      });
      to.segment.signatures.copy(to.local, segment.signatures, local);
      this.#dense.moved({ segment, local }, to);
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
    numbers.clear();
    for (const [, row] of [...this.#rowByOffset].sort(([a], [b]) => a - b)) {
      const { segment, local } = this.#locate(row);
      const number = numbers.next();
      segment.numbers[local] = number;
      numbers.place(number, row);
    }
    this.#dense.renumbered(this.#segments);
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
    this.#rowById = new Map();
    this.#rowByOffset = new Map();
    this.#statistics = new SparseStatistics(this.#plan);
    this.#snapshot = null;
  }

  #locate(row: Row): RowPlace & { readonly metadata: Metadata | null } {
    const segment = this.#segments[this.#segmentIndex(row)]!;
    const local = row % SEGMENT_ROWS;
    return { segment, local, metadata: segment.metadata[local]! };
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

/** Tokens are for readers of a record only, and the numbers must not hold on to the buffer a record was read from. */
function indexedMetadata(metadata: Metadata | null): Metadata | null {
  if (metadata === null || ![...metadata.values()].some(isSparseVector)) return metadata;
  return new Map(
    [...metadata].map(([key, value]) => [
      key,
      isSparseVector(value) ? { indices: value.indices.slice(), values: value.values.slice() } : value,
    ]),
  );
}

function sameSparseIndexes(a: IndexPlan, b: IndexPlan): boolean {
  return (
    a.sparse.length === b.sparse.length &&
    a.sparse.every(({ key, bm25 }) => b.sparse.some((other) => other.key === key && other.bm25 === bm25))
  );
}
