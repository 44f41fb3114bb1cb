/**
 * The fast dense index beside the exact one. It holds the live rows whose bit in their segment's `dense` is set; the
 * others (just written, not yet put in, or too long for it) are the exact scan's, so a search is right at any moment
 * of a build and for every snapshot. A row's bit goes the moment the row does.
 *
 * Rows get in by background work; below `minRows` records there is no such index. Vectors are handed over as they are
 * compared (of length 1 for cosine, hence `ip`), so that distances equal those of the exact scan to the bit.
 */
import type { Space } from "@sheaf/protocol";
import { norm } from "../kernels/distance.ts";
import { BackgroundWork } from "./background-work.ts";
import { DenseIndex, type DenseIndexSizes } from "./dense/dense-index.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";
import type { Row } from "./record-index.ts";
import { RowNumbers } from "./row-numbers.ts";
import { RowSet, SEGMENT_ROWS, SEGMENT_WORDS, countBits, hasBit } from "./row-set.ts";
import type { RowPlace, Segment } from "./segment.ts";
import { type Nearest, TopK } from "./top-k.ts";

export interface DenseRowsOptions {
  /** The segment of the index that holds a row. */
  readonly segmentOf: (row: Row) => Segment;
  /** Records from which on there is a fast index. */
  readonly minRows?: number | undefined;
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
}

/** What the fast index answers, and the rows that it does not hold. */
export interface DenseAnswer {
  /** Best first, positions in the snapshot. */
  readonly nearest: Nearest;
  readonly rest: RowSet;
}

/** Plain scans are as fast below. */
const MIN_ROWS = 4_096;
const PUTS_PER_STEP = 16;
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

  constructor(options: DenseRowsOptions) {
    this.#options = options;
    this.#minRows = options.minRows ?? MIN_ROWS;
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
  }

  /** The row goes, by an update or for good. */
  removed(segment: Segment, local: number): void {
    const number = segment.numbers[local]!;
    this.#pending.delete(number);
    if (!hasBit(segment.dense, local)) return;
    segment.dense[local >>> 5]! &= ~(1 << (local & 31));
    this.#dense?.remove(number);
    this.#wake();
  }

  /** The row has another place now; its vector is the same. */
  moved(from: RowPlace, to: RowPlace): void {
    const number = to.segment.numbers[to.local]!;
    this.numbers.place(number, to.segment.number * SEGMENT_ROWS + to.local);
    if (!hasBit(from.segment.dense, from.local)) return;
    from.segment.dense[from.local >>> 5]! &= ~(1 << (from.local & 31));
    to.segment.dense[to.local >>> 5]! |= 1 << (to.local & 31);
  }

  /** All records have new numbers. */
  renumbered(segments: readonly Segment[]): void {
    this.drop(segments);
    for (const segment of segments) segment.findRuns();
  }

  /** After every write: makes or drops the fast index as the number of records asks for. */
  settle(segments: readonly Segment[], records: number, space: Space): void {
    if (this.#dense !== null) {
      if (records < this.#minRows / 2) this.drop(segments);
      return;
    }
    if (this.#failed || records < this.#minRows) return;
    const dimension = segments[0]!.dimension;
    this.#dense = new DenseIndex({
      space: space === "cosine" ? "ip" : space,
      dimension,
      readVector: (number) => this.#vector(number),
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
    this.#pending.clear();
    this.#building = false;
    this.#dense?.close();
    this.#dense = null;
  }

  close(segments: readonly Segment[]): void {
    this.#work.close();
    this.drop(segments);
  }

  /** `null`: there is no fast index, or it cannot answer this. */
  search(request: DenseRequest, rows: RowSet, snapshot: IndexSnapshot): DenseAnswer | null {
    const dense = this.#dense;
    if (dense === null || this.#failed || !(norm(request.query) <= MAX_LENGTH)) return null;
    const mask = new Uint32Array(Math.ceil(this.numbers.limit / 32) + 1);
    const rest = RowSet.empty(snapshot.segments.length);
    for (const [index, segment] of snapshot.segments.entries()) {
      divide(rows.segment(index), segment, { mask, rest: rest.segment(index) });
    }
    const wanted = countBits(mask);
    const top = new TopK(request.k);
    if (wanted > 0) {
      const all = wanted === dense.size;
      const found = dense.topK(request.query, request.k, all ? null : mask, { exact: request.exact });
      const places = new Map(snapshot.segments.map((segment, index) => [segment.number, index]));
      for (const [i, number] of found.rows.entries()) {
        const row = this.numbers.row(number)!;
        const local = row % SEGMENT_ROWS;
        const index = places.get(Math.floor(row / SEGMENT_ROWS))!;
        const offset = snapshot.segments[index]!.offsets[local]!;
        top.push(found.distances[i]!, offset, index * SEGMENT_ROWS + local);
      }
    }
    return { nearest: top.sorted(), rest };
  }

  #wake(): void {
    this.#building = true;
    this.#work.wake();
  }

  #step(): boolean {
    this.#building = this.#dense !== null && this.#build(this.#dense);
    return this.#building;
  }

  #build(dense: DenseIndex): boolean {
    let puts = 0;
    for (const number of this.#pending) {
      if (puts++ === PUTS_PER_STEP) return true;
      this.#pending.delete(number);
      this.#putIn(dense, number);
    }
    return puts > 0 || dense.maintain();
  }

  #putIn(dense: DenseIndex, number: number): void {
    const row = this.numbers.row(number);
    if (row === null) return;
    const vector = this.#vector(number);
    if (!(norm(vector) <= MAX_LENGTH)) return;
    const segment = this.#options.segmentOf(row);
    const local = row % SEGMENT_ROWS;
    dense.put(number, vector);
    segment.dense[local >>> 5]! |= 1 << (local & 31);
  }

  #vector(number: number): Float32Array {
    const row = this.numbers.row(number)!;
    return this.#options.segmentOf(row).vector(row % SEGMENT_ROWS);
  }
}

/** Splits the wanted rows of a segment: those of the fast index by number into `mask`, the others into `rest`. */
function divide(
  rows: Uint32Array,
  segment: Segment,
  { mask, rest }: { readonly mask: Uint32Array; readonly rest: Uint32Array },
): void {
  const { dense, numbers } = segment;
  for (let i = 0; i < SEGMENT_WORDS; i++) {
    let word = rows[i]! & dense[i]!;
    rest[i] = rows[i]! & ~dense[i]!;
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
