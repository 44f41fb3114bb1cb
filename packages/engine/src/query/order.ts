/**
 * The two orders of results: by score (f32 total order, lower first, ties by insertion order) and by insertion order.
 */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { orderByScore, permute } from "../segment/native-order.ts";
import { countBits, hasBit, listBits } from "../segment/bits.ts";
import { type RowSet } from "../index/row-set.ts";

/** Records with their scores, best first; both arrays have one length. */
export interface Scored {
  readonly positions: Int32Array;
  /** f32. */
  readonly scores: Float32Array;
}

export function sortScored({ positions, scores }: Scored, snapshot: IndexSnapshot): Scored {
  const order = orderByScore(scores, (i) => snapshot.offset(positions[i]!));
  return {
    positions: permute(positions, order, new Int32Array(order.length)),
    scores: permute(scores, order, new Float32Array(order.length)),
  };
}

/** The first `count` of the rows in insertion order. */
export function inInsertionOrder(rows: RowSet, snapshot: IndexSnapshot, count: number): number[] {
  const first: number[] = [];
  if (count === 0) return first;
  for (const position of insertionOrder(rows, snapshot)) if (first.push(position) === count) break;
  return first;
}

/** So many are sorted sooner than those of a whole segment are looked through. */
const FEW_ROWS = 1_024;

/** Positions of one segment in insertion order, the first of them next. */
interface Run {
  readonly positions: Int32Array;
  at: number;
  /** Of the record that is next. */
  offset: number;
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
      if (run !== null) runs.push(run);
      [first, bound] = firstOf(runs);
    }
    if (first === null) return;
    while (first.offset < bound) {
      yield first.positions[first.at]!;
      first.at++;
      first.offset =
        first.at < first.positions.length ? snapshot.offset(first.positions[first.at]!) : Infinity;
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

/** `null`: none of the rows is in the segment. */
function runOf(rows: RowSet, index: number, snapshot: IndexSnapshot): Run | null {
  const first = snapshot.bases.of(index);
  const wanted = rows.segment(index);
  const count = countBits(wanted);
  if (count === 0) return null;
  const { docsByOffset } = snapshot.segments[index]!;
  const isListed = docsByOffset !== null && count > FEW_ROWS;
  const docs = isListed ? docsByOffset.filter((docId) => hasBit(wanted, docId)) : listBits(wanted);
  const positions = Int32Array.from(docs, (docId) => first + docId);
  const byOffset = (a: number, b: number): number => snapshot.offset(a) - snapshot.offset(b);
  const isOrdered =
    isListed || positions.every((position, i) => i === 0 || byOffset(positions[i - 1]!, position) < 0);
  if (!isOrdered) positions.sort(byOffset);
  return { positions, at: 0, offset: snapshot.offset(positions[0]!) };
}
