/** The leaves of a rank expression, in depth-first order, left to right. */
import type { FieldLeaf, Knn, Rank, Search } from "@sheaf/protocol";

export type Leaf = Knn | FieldLeaf;

/** Whether threads may share its work: one is then at a leaf while another one is at the next. */
export function hasSeveralLeaves({ rank }: Search): boolean {
  return rank !== null && knnLeaves(rank).length > 1;
}

export function knnLeaves(rank: Rank): Knn[] {
  return leavesOf(rank).filter((leaf) => leaf.type === "knn");
}

export function hasFields(rank: Rank): boolean {
  return leavesOf(rank).some(({ type }) => type !== "knn");
}

/** All but constants. */
export function leavesOf(rank: Rank): Leaf[] {
  const leaves: Leaf[] = [];
  addLeaves(rank, leaves);
  return leaves;
}

function addLeaves(rank: Rank, leaves: Leaf[]): void {
  if (rank.type === "knn" || rank.type === "key" || rank.type === "age") leaves.push(rank);
  else if (rank.type === "nary") for (const operand of rank.operands) addLeaves(operand, leaves);
  else if (rank.type === "unary") addLeaves(rank.operand, leaves);
  else if (rank.type === "binary") {
    addLeaves(rank.left, leaves);
    addLeaves(rank.right, leaves);
  }
}
