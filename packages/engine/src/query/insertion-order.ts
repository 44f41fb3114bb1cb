/** Records in insertion order. */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { RowSet } from "../index/row-set.ts";
import { countBits, hasBit, listBits, nextBit } from "../segment/bits.ts";
import { orderByNumber, permute } from "../segment/native-order.ts";
import type { Segment } from "../segment/segment.ts";
import type { Pace } from "./pace.ts";

const ROWS_PER_BREATH = 1_024;
/** So many are sorted sooner than those of a whole segment are looked through. */
const FEW_ROWS = 1_024;

/** The first `count` of the rows in insertion order. */
export async function inInsertionOrder(
  rows: RowSet,
  snapshot: IndexSnapshot,
  { count, pace }: { readonly count: number; readonly pace: Pace },
): Promise<number[]> {
  const first: number[] = [];
  if (count === 0) return first;
  for (const position of insertionOrder(rows, snapshot)) {
    if (first.push(position) === count) break;
    if (first.length % ROWS_PER_BREATH === 0) await pace.breathe();
  }
  return first;
}

/**
 * The rows in insertion order, one after the other: a merge of the segments, each looked at once it may have the next.
 */
export function* insertionOrder(rows: RowSet, snapshot: IndexSnapshot): Generator<number, undefined> {
  const waiting = snapshot.segments
    .map(({ minOffset }, index) => ({ minOffset, index }))
    .sort((a, b) => b.minOffset - a.minOffset);
  let runs: Run[] = [];
  for (;;) {
    let [first, bound] = firstOf(runs);
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      if (first !== null && next.minOffset > first.offset) {
        bound = Math.min(bound, next.minOffset);
        break;
      }
      waiting.pop();
      const run = runOf(rows, next.index, snapshot);
      if (run.offset < Infinity) runs.push(run);
      [first, bound] = firstOf(runs);
    }
    if (first === null) return;
    while (first.offset < bound) {
      yield first.base + first.docId;
      first.next();
    }
    if (first.offset === Infinity) runs = runs.filter((run) => run !== first);
  }
}

/** The run that comes first, and the offset from which another one does. */
function firstOf(runs: readonly Run[]): [first: Run | null, bound: number] {
  let first: Run | null = null;
  let bound = Infinity;
  for (const run of runs) {
    if (first === null || run.offset < first.offset) {
      if (first !== null) bound = first.offset;
      first = run;
    } else bound = Math.min(bound, run.offset);
  }
  return [first, bound];
}

function runOf(rows: RowSet, index: number, snapshot: IndexSnapshot): Run {
  const segment = snapshot.segments[index]!;
  const wanted = rows.segment(index);
  const order = docsInOrder(segment, wanted);
  return new Run(snapshot.bases.of(index), { order, wanted, offsets: segment.offsets });
}

/** DocIds in insertion order, those that are wanted and maybe others; `null`: as they are. */
function docsInOrder({ docsByOffset, offsets }: Segment, wanted: Uint32Array): Uint32Array | null {
  if (docsByOffset === null || countBits(wanted) > FEW_ROWS) return docsByOffset;
  const docs = listBits(wanted);
  const order = orderByNumber(docs.map((docId) => offsets[docId]!));
  return permute(Uint32Array.from(docs), order, new Uint32Array(docs.length));
}

interface RunRows {
  readonly order: Uint32Array | null;
  readonly wanted: Uint32Array;
  readonly offsets: Float64Array;
}

/** The wanted rows of one segment in insertion order, each looked for when the one before it is passed. */
class Run {
  /** Position of docId 0. */
  readonly base: number;
  readonly #rows: RunRows;
  /** Place in the order. */
  #at = -1;
  docId = -1;
  /** Of the record that is next; `Infinity`: there is none. */
  offset = Infinity;

  constructor(base: number, rows: RunRows) {
    this.base = base;
    this.#rows = rows;
    this.next();
  }

  next(): void {
    const { order, wanted, offsets } = this.#rows;
    this.docId = order === null ? nextBit(wanted, this.docId + 1) : this.#nextOf(order, wanted);
    this.offset = this.docId < 0 ? Infinity : offsets[this.docId]!;
  }

  #nextOf(order: Uint32Array, wanted: Uint32Array): number {
    while (++this.#at < order.length) if (hasBit(wanted, order[this.#at]!)) return order[this.#at]!;
    return -1;
  }
}
