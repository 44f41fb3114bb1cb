/**
 * The two orders of results: by score (f32 total order, lower first, ties by insertion order) and by insertion order.
 */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { orderByScore, permute } from "../index/native-order.ts";
import { type RowSet, SEGMENT_ROWS, listBits } from "../index/row-set.ts";

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

/** The first `count` of the rows in insertion order, leaving out offsets below `from`. */
export function inInsertionOrder(
  rows: RowSet,
  snapshot: IndexSnapshot,
  { from, count }: { readonly from: number; readonly count: number },
): number[] {
  const segments = snapshot.segments
    .map(({ minOffset }, index) => ({ minOffset, index }))
    .sort((a, b) => a.minOffset - b.minOffset);
  const byOffset = (a: number, b: number): number => snapshot.offset(a) - snapshot.offset(b);
  let first: number[] = [];
  let ordered = true;
  for (const { minOffset, index } of segments) {
    if (first.length >= count) {
      if (!ordered) first.sort(byOffset);
      first.length = count;
      ordered = true;
      // Segments come by their smallest offset: none that follows can add anything.
      if (count === 0 || minOffset > snapshot.offset(first.at(-1)!)) break;
    }
    for (const local of listBits(rows.segment(index))) {
      const position = index * SEGMENT_ROWS + local;
      if (snapshot.offset(position) < from) continue;
      ordered &&= first.length === 0 || byOffset(first.at(-1)!, position) < 0;
      first.push(position);
    }
  }
  if (!ordered) first.sort(byOffset);
  return first.slice(0, count);
}
