/**
 * The rank stage: what the `$knn` leaves found becomes one score per record of the expression's support, best first.
 * Records that no leaf found are never in a support, whatever the defaults.
 */
import type { Rank } from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import { orderByKey } from "../../segment/native-order.ts";
import type { Nearest } from "../../segment/top-k.ts";
import { knnLeaves } from "./knn-leaves.ts";
import { type Scored, sortScored } from "../order.ts";
import type { Pace } from "../pace.ts";
import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

const BLOCK_RECORDS = 4_096;

/** Everything that any leaf found, leaf after leaf; the arrays have one length. */
interface Finds {
  readonly positions: Int32Array;
  /** f32 distance, or rank from 0 if the leaf asks for it. */
  readonly values: Float32Array;
  /** Which leaf it was. */
  readonly leaves: Uint8Array;
  readonly leafCount: number;
}

/** `nearest` has one entry per leaf, in the order of `knnLeaves`. */
export async function rankRecords(
  rank: Rank,
  nearest: readonly Nearest[],
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Scored> {
  const finds = findsOf(rank, nearest);
  const order = orderByKey(finds.positions);
  const positions = new Int32Array(order.length);
  const scores = new Float32Array(order.length);
  const records = new Int32Array(Math.min(BLOCK_RECORDS, order.length));
  let found = 0;
  for (let at = 0; at < order.length;) {
    const block = nextBlock(finds, order, { at, records });
    at = block.end;
    const { values, present } = evaluateRank(rank, block.leaves);
    for (let i = 0; i < block.count; i++) {
      if (present[i] !== 1) continue;
      positions[found] = records[i]!;
      scores[found++] = values[i]!;
    }
    await pace.breathe();
  }
  return sortScored({ positions: positions.subarray(0, found), scores: scores.subarray(0, found) }, snapshot);
}

function findsOf(rank: Rank, nearest: readonly Nearest[]): Finds {
  const count = nearest.reduce((sum, { positions }) => sum + positions.length, 0);
  const positions = new Int32Array(count);
  const values = new Float32Array(count);
  const leaves = new Uint8Array(count);
  let at = 0;
  for (const [leaf, { returnRank }] of knnLeaves(rank).entries()) {
    const found = nearest[leaf]!;
    const end = at + found.positions.length;
    positions.set(found.positions, at);
    if (returnRank) for (let i = at; i < end; i++) values[i] = i - at;
    else values.set(found.distances, at);
    leaves.fill(leaf, at, end);
    at = end;
  }
  return { positions, values, leaves, leafCount: nearest.length };
}

/** What the leaves found of the next records, which are put in `records`: from `at` on in the order by position. */
function nextBlock(
  finds: Finds,
  order: Uint32Array,
  { at, records }: { readonly at: number; readonly records: Int32Array },
): { readonly leaves: FoundByLeaf[]; readonly count: number; readonly end: number } {
  const size = Math.min(records.length, order.length - at);
  const leaves = Array.from({ length: finds.leafCount }, () => ({
    values: new Float32Array(size),
    present: new Uint8Array(size),
  }));
  let count = 0;
  let end = at;
  for (; end < order.length; end++) {
    const find = order[end]!;
    const position = finds.positions[find]!;
    if (count === 0 || records[count - 1] !== position) {
      if (count === size) break;
      records[count++] = position;
    }
    const { values, present } = leaves[finds.leaves[find]!]!;
    values[count - 1] = finds.values[find]!;
    present[count - 1] = 1;
  }
  return { leaves, count, end };
}
