/**
 * The rank stage: what the `$knn` leaves found becomes one score per record of the expression's support, best first.
 * Records that no leaf found are never in a support, whatever the defaults.
 */
import type { Rank } from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import { orderByKey, permute } from "../../segment/native-order.ts";
import type { Nearest } from "../../segment/top-k.ts";
import { knnLeaves } from "./knn-leaves.ts";
import { type Scored, sortScored } from "../score-order.ts";
import type { Pace } from "../pace.ts";
import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

const BLOCK_RECORDS = 4_096;

/** What one leaf found, by position. */
interface Finds {
  readonly positions: Int32Array;
  /** f32 distance, or rank from 0 if the leaf asks for it. */
  readonly values: Float32Array;
  /** The next one. */
  at: number;
}

/** `nearest` has one entry per leaf, in the order of `knnLeaves`. */
export async function rankRecords(
  rank: Rank,
  nearest: readonly Nearest[],
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Scored> {
  const finds: Finds[] = [];
  for (const [leaf, { returnRank }] of knnLeaves(rank).entries()) {
    finds.push(findsOf(nearest[leaf]!, returnRank));
    await pace.breathe();
  }
  const most = finds.reduce((sum, { positions }) => sum + positions.length, 0);
  const records = new Int32Array(Math.min(BLOCK_RECORDS, most));
  const blocks: Scored[] = [];
  for (;;) {
    const block = nextBlock(finds, records);
    if (block.count === 0) break;
    const { values, present } = evaluateRank(rank, block.leaves);
    let found = 0;
    for (let i = 0; i < block.count; i++) {
      if (present[i] !== 1) continue;
      records[found] = records[i]!;
      values[found++] = values[i]!;
    }
    blocks.push({ positions: records.slice(0, found), scores: values.slice(0, found) });
    await pace.breathe();
  }
  return sortScored(joined(blocks), snapshot, pace);
}

function findsOf({ positions, distances }: Nearest, returnRank: boolean): Finds {
  const order = orderByKey(positions);
  const values = returnRank
    ? Float32Array.from(order)
    : permute(distances, order, new Float32Array(order.length));
  return { positions: permute(positions, order, new Int32Array(order.length)), values, at: 0 };
}

/** What the leaves found of the next records, which are put in `records`; none are left where the count is 0. */
function nextBlock(
  finds: readonly Finds[],
  records: Int32Array,
): { readonly leaves: FoundByLeaf[]; readonly count: number } {
  const size = records.length;
  const leaves = finds.map(() => ({ values: new Float32Array(size), present: new Uint8Array(size) }));
  let count = 0;
  for (let next = firstPosition(finds); next < Infinity && count < size; next = firstPosition(finds)) {
    records[count] = next;
    for (let leaf = 0; leaf < finds.length; leaf++) {
      const found = finds[leaf]!;
      if (found.positions[found.at] !== next) continue;
      leaves[leaf]!.values[count] = found.values[found.at++]!;
      leaves[leaf]!.present[count] = 1;
    }
    count++;
  }
  const filled = leaves.map(({ values, present }) => {
    return { values: values.subarray(0, count), present: present.subarray(0, count) };
  });
  return { leaves: filled, count };
}

function firstPosition(finds: readonly Finds[]): number {
  let first = Infinity;
  for (let leaf = 0; leaf < finds.length; leaf++) {
    const { positions, at } = finds[leaf]!;
    if (at < positions.length && positions[at]! < first) first = positions[at]!;
  }
  return first;
}

function joined(blocks: readonly Scored[]): Scored {
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
