/** Records by score: f32 in total order, lower first, ties by insertion order. */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { orderByScore, permute } from "../segment/native-order.ts";
import { sortedOrder } from "../segment/sorted-order.ts";
import { compareTotal } from "../segment/total-order.ts";
import type { Pace } from "./pace.ts";

type Offsets = Pick<IndexSnapshot, "offset">;

/** More are sorted in slices. */
const MANY_RECORDS = 16_384;

/** Records with their scores, best first unless they were reordered; both arrays have one length. */
export interface Scored {
  readonly positions: Int32Array;
  /** f32. */
  readonly scores: Float32Array;
  /** They are in another order than that of their scores. */
  readonly isReordered?: boolean;
}

export async function sortScored(scored: Scored, snapshot: Offsets, pace: Pace): Promise<Scored> {
  const { positions, scores } = scored;
  const order =
    scores.length <= MANY_RECORDS
      ? orderByScore(scores, (i) => snapshot.offset(positions[i]!))
      : await slicedOrder(scored, snapshot, pace);
  return {
    positions: permute(positions, order, new Int32Array(order.length)),
    scores: permute(scores, order, new Float32Array(order.length)),
  };
}

async function slicedOrder(
  { positions, scores }: Scored,
  snapshot: Offsets,
  pace: Pace,
): Promise<Uint32Array> {
  const compare = (a: number, b: number): number =>
    compareTotal(scores[a]!, scores[b]!) || snapshot.offset(positions[a]!) - snapshot.offset(positions[b]!);
  const steps = sortedOrder(scores.length, compare);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await pace.breathe();
  return step.value;
}
