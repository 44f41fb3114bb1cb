/**
 * The fast dense index beside the exact one. It holds the live rows whose bit in their segment's `dense` is set; the
 * others (just written, not yet put in, or too long for it) are the exact scan's, so a search is right at any moment
 * of a build and for every snapshot. A row's bit goes the moment the row does.
 *
 * Rows get in by background work; below `minRows` records there is no such index. Vectors are handed over as they are
 * compared (of length 1 for cosine, hence `ip`), so that distances equal those of the exact scan to the bit. Once it
 * holds all rows of a segment, their vectors are in the store alone.
 */
import type { Space } from "@sheaf/protocol";
import { norm } from "../kernels/distance.ts";
import { BackgroundWork } from "./background-work.ts";
import { DenseIndex, type DenseIndexSizes } from "./dense/dense-index.ts";
import type { VectorMemory } from "./dense/vector-memory.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";
import type { Row } from "./record-index.ts";
import { RowNumbers } from "./row-numbers.ts";
import { RowSet, SEGMENT_ROWS, countOnes, hasBit } from "./row-set.ts";
import type { RowPlace, Segment } from "./segment.ts";
import type { Nearest } from "./top-k.ts";

export interface DenseRowsOptions {
  /** The segment of the index that holds a row. */
  readonly segmentOf: (row: Row) => Segment;
  /** A row's vector from the store, as it is compared; `null` if the store has another version by now. */
  readonly readVector: (segment: Segment, local: number) => Float32Array | null;
  /** Records from which on there is a fast index. */
  readonly minRows?: number | undefined;
  /** Rows wait until `filled`, as far as memory allows. */
  readonly filling?: boolean | undefined;
  /** For the vectors that the fast index keeps; without limit if left out. */
  readonly vectorMemory?: VectorMemory | undefined;
  /** Small ones for tests. */
  readonly sizes?: DenseIndexSizes | undefined;
  /** The fast index could not be kept, for lack of memory say; exact scans go on. */
  readonly onProblem: (error: unknown) => void;
}

export interface DenseRequest {
  /** Prepared for the space. */
  readonly query: Float32Array;
  /** At least 1. */
  readonly k: number;
  /** Find the nearest with certainty. */
  readonly exact: boolean;
  /** Exact distance to the record at a position of the snapshot; `null`: gone. May throw. */
  readonly distanceAt: (position: number) => number | null;
}

/** What the fast index answers, and the rows that it does not hold. */
export interface DenseAnswer {
  /** Best first, positions in the snapshot. */
  readonly nearest: Nearest;
  /** `null`: there are none. */
  readonly rest: RowSet | null;
  /** Rows were written while the search paused: some of the snapshot's may be missing. */
  readonly overtaken: boolean;
}

/** Plain scans are as fast below. */
const MIN_ROWS = 4_096;
const PUTS_PER_STEP = 16;
/** After the last write, until segments that could be one are made one. */
const REST_MS = 1_000;
/** Rows that may wait, which bounds the memory of their vectors; beyond it every write puts two in. */
const MAX_PENDING = 16_384;
/** Bytes of vectors that may wait while the index is filled: nothing can be searched until that is done. */
const MAX_PENDING_BYTES = 2 ** 28;
/** Rows that are searched without a mask: a search of more pauses, and rows that get in meanwhile are not of it. */
const MAX_UNMASKED = 262_144;
/** Lengths whose squares are far from overflowing; longer vectors stay with the exact scan. */
const MAX_LENGTH = 2 ** 40;

export class DenseRows {
  readonly numbers = new RowNumbers();
  readonly #options: DenseRowsOptions;
  readonly #minRows: number;
  readonly #work: BackgroundWork;
  /** Numbers of rows on their way in, in the order they were written. */
  readonly #pending = new Set<number>();
  #dense: DenseIndex | null = null;
  #building = false;
  #failed = false;
  #filling: boolean;
  #writtenAt = 0;
  /** How often rows have left their places, and how often they have got in. */
  #departures = 0;
  #arrivals = 0;
  /** What the rows of a search came to, and after how many changes of the fast index. */
  readonly #divided = new WeakMap<RowSet, DividedRows & { readonly changes: number }>();

  constructor(options: DenseRowsOptions) {
    this.#options = options;
    this.#minRows = options.minRows ?? MIN_ROWS;
    this.#filling = options.filling ?? false;
    this.#work = new BackgroundWork({
      step: () => this.#step(),
      onFailure: (error) => {
        this.#failed = true;
        this.#dense?.close();
        this.#dense = null;
        options.onProblem(error);
      },
    });
  }

  /** Rows wait to get in, or to be put in better order. */
  get isBuilding(): boolean {
    return this.#building;
  }

  /** A row was written for the record with this number. */
  added(number: number, row: Row): void {
    this.numbers.place(number, row);
    if (this.#dense === null) return;
    this.#pending.add(number);
    this.#wake();
    if (!this.#mayWait(row)) this.#work.now(() => this.#putNext(this.#dense!, 2));
  }

  /** The records that there were are all here. */
  filled(): void {
    this.#filling = false;
    if (this.#building) this.#wake();
  }

  /** The row goes, by an update or for good. */
  removed(segment: Segment, local: number): void {
    const number = segment.numbers[local]!;
    this.#departures++;
    this.#pending.delete(number);
    if (!hasBit(segment.dense, local)) return;
    segment.dense[local >>> 5]! &= ~(1 << (local & 31));
    this.#dense?.remove(number);
    this.#wake();
  }

  /** The row has another place now; its vector is the same. */
  moved(from: RowPlace, to: RowPlace): void {
    const number = to.segment.numbers[to.local]!;
    this.#departures++;
    this.numbers.place(number, to.segment.number * SEGMENT_ROWS + to.local);
    if (!hasBit(from.segment.dense, from.local)) return;
    from.segment.dense[from.local >>> 5]! &= ~(1 << (from.local & 31));
    to.segment.dense[to.local >>> 5]! |= 1 << (to.local & 31);
  }

  /** All records have new numbers: `changes` says which, by the old one. */
  renumbered(segments: readonly Segment[], changes: Uint32Array): void {
    this.#departures++;
    for (const segment of segments) segment.findRuns();
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const number of pending) this.#pending.add(changes[number]!);
    this.#dense?.renumber(changes);
  }

  /** After every write: makes or drops the fast index as the number of records asks for. */
  settle(segments: readonly Segment[], records: number, space: Space): void {
    if (this.#dense !== null) {
      if (records >= this.#minRows / 2) return;
      this.drop(segments);
      for (const segment of segments)
        segment.restoreVectors((local) => this.#options.readVector(segment, local));
      return;
    }
    if (this.#failed || records < this.#minRows) return;
    const dimension = segments[0]!.dimension;
    this.#dense = new DenseIndex({
      space: space === "cosine" ? "ip" : space,
      dimension,
      readVector: (number) => this.#vector(number),
      memory: this.#options.vectorMemory,
      sizes: this.#options.sizes,
    });
    for (let number = 0; number < this.numbers.limit; number++) {
      if (this.numbers.row(number) !== null) this.#pending.add(number);
    }
    this.#wake();
  }

  /** Forgets the fast index; `segments`: all that there are. */
  drop(segments: readonly Segment[]): void {
    for (const segment of segments) segment.dense.fill(0);
    this.#departures++;
    this.#pending.clear();
    this.#building = false;
    this.#dense?.close();
    this.#dense = null;
  }

  close(segments: readonly Segment[]): void {
    this.#work.close();
    this.drop(segments);
  }

  /** `null`: there is no fast index, or it cannot answer this. Pauses about every millisecond. */
  *search(
    { query, k, exact, distanceAt }: DenseRequest,
    rows: RowSet,
    snapshot: IndexSnapshot,
  ): Generator<void, DenseAnswer | null> {
    const dense = this.#dense;
    if (dense === null || !(norm(query) <= MAX_LENGTH)) return null;
    const [departures, arrivals] = [this.#departures, this.#arrivals];
    const { mask, rest } = this.#divide(rows, snapshot, dense.size);
    const positionOf = (number: number): number => snapshot.positionOf(this.numbers.row(number) ?? -1);
    const distanceTo = (number: number): number | null => {
      const position = positionOf(number);
      return position < 0 ? null : distanceAt(position);
    };
    const isWanted = (number: number): boolean => positionOf(number) >= 0;
    const found = yield* dense.search(query, k, mask, { exact, distanceTo, isWanted });
    // Without a mask rows that got in meanwhile are found too.
    const overtaken = departures !== this.#departures || (mask === null && arrivals !== this.#arrivals);
    const positions = new Int32Array(found.rows.length);
    for (let i = 0; i < positions.length; i++) positions[i] = positionOf(found.rows[i]!);
    return { nearest: nearestOf(positions, found.distances, snapshot), rest, overtaken };
  }

  #mayWait(row: Row): boolean {
    const { size } = this.#pending;
    if (size <= MAX_PENDING || !this.#filling) return size <= MAX_PENDING;
    const vectorBytes = this.#options.segmentOf(row).dimension * Float32Array.BYTES_PER_ELEMENT;
    return size * vectorBytes <= MAX_PENDING_BYTES;
  }

  /** The same rows are often wanted again (all of a snapshot, those of a filter that is remembered): divided once. */
  #divide(rows: RowSet, snapshot: IndexSnapshot, size: number): DividedRows {
    const changes = this.#departures + this.#arrivals;
    const known = this.#divided.get(rows);
    if (known?.changes === changes) return known;
    const divided = { ...divide(rows, snapshot, size, this.numbers.limit), changes };
    this.#divided.set(rows, divided);
    return divided;
  }

  #wake(): void {
    this.#writtenAt = performance.now();
    this.#building = true;
    if (!this.#filling) this.#work.wake();
  }

  #step(): boolean {
    const atRest = performance.now() - this.#writtenAt >= REST_MS;
    this.#building = this.#dense !== null && this.#build(this.#dense, atRest);
    if (!this.#building && !atRest) this.#work.wakeIn(REST_MS);
    return this.#building;
  }

  #build(dense: DenseIndex, atRest: boolean): boolean {
    return this.#putNext(dense, PUTS_PER_STEP) || dense.maintain(atRest);
  }

  /** Puts in what has waited longest; false if nothing waits. */
  #putNext(dense: DenseIndex, count: number): boolean {
    let puts = 0;
    for (const number of this.#pending) {
      if (puts++ === count) break;
      this.#pending.delete(number);
      this.#putIn(dense, number);
    }
    return puts > 0;
  }

  #putIn(dense: DenseIndex, number: number): void {
    const row = this.numbers.row(number);
    if (row === null) return;
    const vector = this.#vector(number);
    if (vector === null || !(norm(vector) <= MAX_LENGTH)) return;
    const segment = this.#options.segmentOf(row);
    const local = row % SEGMENT_ROWS;
    this.#arrivals++;
    dense.put(number, vector);
    segment.dense[local >>> 5]! |= 1 << (local & 31);
    segment.releaseVectors();
  }

  #vector(number: number): Float32Array | null {
    const row = this.numbers.row(number);
    if (row === null) return null;
    const segment = this.#options.segmentOf(row);
    return segment.vector(row % SEGMENT_ROWS) ?? this.#options.readVector(segment, row % SEGMENT_ROWS);
  }
}

/** Numbers rise with offsets, so the order is right already. `positions`: -1 for a row that is not in the snapshot. */
function nearestOf(positions: Int32Array, distances: Float32Array, snapshot: IndexSnapshot): Nearest {
  if (positions.includes(-1)) {
    const isThere = (_: number, i: number): boolean => positions[i]! >= 0;
    return nearestOf(positions.filter(isThere), distances.filter(isThere), snapshot);
  }
  const offsets = new Float64Array(positions.length);
  for (let i = 0; i < positions.length; i++) offsets[i] = snapshot.offset(positions[i]!);
  return { positions, distances, offsets };
}

interface DividedRows {
  /** By number, those that the fast index holds; `null`: all that it holds are wanted. */
  readonly mask: Uint32Array | null;
  /** The others; `null`: there are none. */
  readonly rest: RowSet | null;
}

/** `size`: rows of the fast index; `limit`: above every number. */
function divide(rows: RowSet, snapshot: IndexSnapshot, size: number, limit: number): DividedRows {
  let wanted = 0;
  let rest: RowSet | null = null;
  for (const [index, { dense }] of snapshot.segments.entries()) {
    const words = rows.segment(index);
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!;
      const others = word & ~dense[i]!;
      wanted += countOnes(word & dense[i]!);
      if (others === 0) continue;
      rest ??= new RowSet(snapshot.bases);
      rest.words[snapshot.bases.of(index) / 32 + i] = others;
    }
  }
  if (wanted === size && size <= MAX_UNMASKED) return { mask: null, rest };
  const mask = new Uint32Array(Math.ceil(limit / 32) + 1);
  for (const [index, segment] of snapshot.segments.entries()) addNumbers(rows.segment(index), segment, mask);
  return { mask, rest };
}

/** Adds the wanted rows that the fast index holds to `mask`, by number. */
function addNumbers(rows: Uint32Array, segment: Segment, mask: Uint32Array): void {
  const { dense, numbers } = segment;
  for (let i = 0; i < rows.length; i++) {
    let word = rows[i]! & dense[i]!;
    if (word === 0) continue;
    if (segment.isRun(i)) {
      const first = numbers[32 * i]!;
      const shift = first & 31;
      mask[first >>> 5]! |= word << shift;
      if (shift > 0) mask[(first >>> 5) + 1]! |= word >>> (32 - shift);
      continue;
    }
    while (word !== 0) {
      const number = numbers[32 * i + 31 - Math.clz32(word & -word)]!;
      mask[number >>> 5]! |= 1 << (number & 31);
      word &= word - 1;
    }
  }
}
