/**
 * The rank stage: what the leaves have becomes one score per record of the expression's support, best first. Records that no
 * leaf has are never in a support, whatever the defaults.
 */
import type { Rank } from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import type { Pace } from "../pace.ts";
import { type Finds, type LeafValues, findsOf, joined } from "./finds.ts";
import { hasFields } from "./leaves.ts";
import { type Scored, sortScored } from "../score-order.ts";
import { type FieldReading, rankFields } from "./rank-fields.ts";
import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

const BLOCK_RECORDS = 4_096;

/** `leaves` has one entry per `$knn` leaf, in the order of `knnLeaves`. */
export async function rankRecords(
  rank: Rank,
  leaves: readonly LeafValues[],
  reading: FieldReading,
): Promise<Scored> {
  return hasFields(rank)
    ? rankFields(rank, await allFinds(leaves, reading.pace), reading)
    : rankLeaves(rank, leaves, reading);
}

/** The same of an expression without `$key` and `$age`, for which no record is looked at. */
export async function rankLeaves(
  rank: Rank,
  leaves: readonly LeafValues[],
  { snapshot, pace }: { readonly snapshot: Pick<IndexSnapshot, "offset">; readonly pace: Pace },
): Promise<Scored> {
  const finds = await allFinds(leaves, pace);
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

async function allFinds(leaves: readonly LeafValues[], pace: Pace): Promise<Finds[]> {
  const finds: Finds[] = [];
  for (const values of leaves) {
    finds.push(findsOf(values));
    await pace.breathe();
  }
  return finds;
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
