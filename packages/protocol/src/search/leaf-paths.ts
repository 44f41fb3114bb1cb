/** Where the parts of a rank expression stand: `rank.$sum[0].$knn`. The sides of `$sub` and `$div` are `left` and `right`. */
import type { FieldLeaf, Knn, Rank } from "./ast.ts";

/** All but constants, depth first, left to right. `path`: of the expression. */
export function* leafPaths(
  rank: Rank,
  path: string,
): Generator<{ readonly leaf: Knn | FieldLeaf; readonly path: string }> {
  if (rank.type === "knn" || rank.type === "key" || rank.type === "age") {
    yield { leaf: rank, path: `${path}.$${rank.type}` };
  }
  for (const [operand, at] of operandsOf(rank)) yield* leafPaths(operand, path + at);
}

/** With their paths in the expression. */
export function operandsOf(rank: Rank): readonly (readonly [operand: Rank, at: string])[] {
  if (rank.type === "nary") return rank.operands.map((operand, i) => [operand, `.${rank.operator}[${i}]`]);
  if (rank.type === "unary") return [[rank.operand, `.${rank.operator}`]];
  if (rank.type !== "binary") return [];
  return [
    [rank.left, `.${rank.operator}.left`],
    [rank.right, `.${rank.operator}.right`],
  ];
}
