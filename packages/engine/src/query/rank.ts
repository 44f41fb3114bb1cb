/**
 * The rank stage: what the `$knn` leaves found becomes one score per record of the expression's support, best first.
 * Records that no leaf found are never in a support, whatever the defaults.
 */
import type { Knn, Rank } from "@sheaf/protocol";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { Nearest } from "../index/top-k.ts";
import { LeafValues } from "./leaf-values.ts";
import { type Scored, sortScored } from "./order.ts";
import type { Pace } from "./pace.ts";
import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

const BLOCK_RECORDS = 4_096;

export interface Ranking extends Scored {
  /** One per `$knn`, in depth-first order, left to right. */
  readonly leaves: readonly LeafValues[];
}

/** The `$knn` leaves in depth-first order, left to right. */
export function knnLeaves(rank: Rank): Knn[] {
  const leaves: Knn[] = [];
  addLeaves(rank, leaves);
  return leaves;
}

function addLeaves(rank: Rank, leaves: Knn[]): void {
  if (rank.type === "knn") leaves.push(rank);
  else if (rank.type === "nary") for (const operand of rank.operands) addLeaves(operand, leaves);
  else if (rank.type === "unary") addLeaves(rank.operand, leaves);
  else if (rank.type === "binary") {
    addLeaves(rank.left, leaves);
    addLeaves(rank.right, leaves);
  }
}

/** `nearest` has one entry per leaf, in the order of `knnLeaves`. */
export async function rankRecords(
  rank: Rank,
  nearest: readonly Nearest[],
  snapshot: IndexSnapshot,
  pace: Pace,
): Promise<Ranking> {
  const leaves = knnLeaves(rank).map((knn, i) => new LeafValues(nearest[i]!, { returnRank: knn.returnRank }));
  const candidates = union(leaves);
  const positions = new Int32Array(candidates.length);
  const scores = new Float32Array(candidates.length);
  let found = 0;
  for (let start = 0; start < candidates.length; start += BLOCK_RECORDS) {
    const records = candidates.subarray(start, start + BLOCK_RECORDS);
    const { values, present } = evaluateRank(rank, foundAmong(records, leaves));
    for (let i = 0; i < records.length; i++) {
      if (present[i] !== 1) continue;
      positions[found] = records[i]!;
      scores[found++] = values[i]!;
    }
    await pace.breathe();
  }
  const scored = { positions: positions.subarray(0, found), scores: scores.subarray(0, found) };
  return { ...sortScored(scored, snapshot), leaves };
}

/** Every position of any leaf once, ascending. */
function union(leaves: readonly LeafValues[]): Int32Array {
  const all = new Int32Array(leaves.reduce((sum, { positions }) => sum + positions.length, 0));
  let at = 0;
  for (const { positions } of leaves) {
    all.set(positions, at);
    at += positions.length;
  }
  all.sort();
  let count = 0;
  for (const position of all) if (count === 0 || all[count - 1] !== position) all[count++] = position;
  return all.subarray(0, count);
}

function foundAmong(records: Int32Array, leaves: readonly LeafValues[]): FoundByLeaf[] {
  return leaves.map((leaf) => {
    const values = new Float32Array(records.length);
    const present = new Uint8Array(records.length);
    let at = leaf.lowerBound(records[0]!);
    for (let i = 0; i < records.length; i++) {
      if (leaf.positions[at] !== records[i]) continue;
      values[i] = leaf.values[at++]!;
      present[i] = 1;
    }
    return { values, present };
  });
}
