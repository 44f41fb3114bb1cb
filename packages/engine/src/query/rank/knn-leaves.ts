/** The `$knn` leaves of a rank expression. */
import type { Knn, Rank, Search } from "@sheaf/protocol";

/** Whether threads may share its work: one is then at a leaf while another one is at the next. */
export function hasSeveralLeaves({ rank }: Search): boolean {
  return rank !== null && knnLeaves(rank).length > 1;
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
