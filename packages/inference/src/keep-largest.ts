/**
 * Bounds the entries of a sparse vector: of more than `count` entries the largest values stay, in index order. Among
 * equal values the lower index stays, so the same text always gives the same vector.
 */
import type { SparseVector } from "@sheaf/protocol";

export function keepLargest(vector: SparseVector, count: number): SparseVector {
  const { indices, values, tokens } = vector;
  if (indices.length <= count) return vector;
  const kept = Array.from(indices, (_, position) => position)
    .sort((a, b) => (values[b] as number) - (values[a] as number) || a - b)
    .slice(0, count)
    .sort((a, b) => a - b);
  return {
    indices: Uint32Array.from(kept, (position) => indices[position] as number),
    values: Float32Array.from(kept, (position) => values[position] as number),
    ...(tokens === undefined ? {} : { tokens: kept.map((position) => tokens[position] as string) }),
  };
}
