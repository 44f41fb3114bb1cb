/** What `$knn` leaves found, in the order of positions, and scores of blocks of records put together. */
import { orderByKey, permute } from "../../segment/native-order.ts";
import type { Nearest } from "../../segment/top-k.ts";
import type { Scored } from "../score-order.ts";

/** What one leaf found, by position. */
export interface Finds {
  readonly positions: Int32Array;
  /** f32 distance, or rank from 0 if the leaf asks for it. */
  readonly values: Float32Array;
  /** The next one. */
  at: number;
}

/** The same in any order. */
export type LeafValues = Pick<Finds, "positions" | "values">;

/** What counts of the records that a leaf has found. */
export function leafValues({ positions, distances }: Nearest, returnRank: boolean): LeafValues {
  return { positions, values: returnRank ? Float32Array.from(positions.keys()) : distances };
}

export function findsOf({ positions, values }: LeafValues): Finds {
  const order = orderByKey(positions);
  return {
    positions: permute(positions, order, new Int32Array(order.length)),
    values: permute(values, order, new Float32Array(order.length)),
    at: 0,
  };
}

export function joined(blocks: readonly Scored[]): Scored {
  const [only] = blocks;
  if (only !== undefined && blocks.length === 1) return only;
  const count = blocks.reduce((sum, { scores }) => sum + scores.length, 0);
  const all = { positions: new Int32Array(count), scores: new Float32Array(count) };
  let at = 0;
  for (const { positions, scores } of blocks) {
    all.positions.set(positions, at);
    all.scores.set(scores, at);
    at += scores.length;
  }
  return all;
}
