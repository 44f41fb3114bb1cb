/** How many nodes the trace of a score has. */
import { type Rank, operandsOf } from "@sheaf/protocol";

export function nodeCount(rank: Rank): number {
  return operandsOf(rank).reduce((sum, [operand]) => sum + nodeCount(operand), 1 + tokensOf(rank).length);
}

/** What a leaf shows of its text in every trace. */
export function tokensOf(rank: Rank): readonly string[] {
  if (rank.type !== "knn" || rank.model === undefined) return [];
  return (rank.query.type === "sparse" ? rank.query.vector.tokens : rank.tokens) ?? [];
}
