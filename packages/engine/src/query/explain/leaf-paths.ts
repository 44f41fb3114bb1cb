/** Where the leaves of a rank expression stand in the payload of their search, and how many nodes it has. */
import type { Rank } from "@sheaf/protocol";
import type { Leaf } from "../rank/leaves.ts";

/** Depth first, left to right: `rank.$sum[0].$knn`. */
export function leafPaths(rank: Rank): readonly { readonly leaf: Leaf; readonly path: string }[] {
  return [...pathsOf(rank, "rank")];
}

export function nodeCount(rank: Rank): number {
  return operandsOf(rank).reduce((sum, [operand]) => sum + nodeCount(operand), 1 + tokensOf(rank).length);
}

/** What a leaf shows of its text in every trace. */
export function tokensOf(rank: Rank): readonly string[] {
  if (rank.type !== "knn" || rank.model === undefined) return [];
  return (rank.query.type === "sparse" ? rank.query.vector.tokens : rank.tokens) ?? [];
}

function* pathsOf(rank: Rank, path: string): Generator<{ leaf: Leaf; path: string }> {
  if (rank.type === "knn" || rank.type === "key" || rank.type === "age") {
    yield { leaf: rank, path: `${path}.$${rank.type}` };
  }
  for (const [operand, at] of operandsOf(rank)) yield* pathsOf(operand, path + at);
}

function operandsOf(rank: Rank): readonly (readonly [operand: Rank, at: string])[] {
  if (rank.type === "nary") return rank.operands.map((operand, i) => [operand, `.${rank.operator}[${i}]`]);
  if (rank.type === "unary") return [[rank.operand, `.${rank.operator}`]];
  if (rank.type !== "binary") return [];
  return [
    [rank.left, `.${rank.operator}.left`],
    [rank.right, `.${rank.operator}.right`],
  ];
}
