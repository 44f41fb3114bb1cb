/**
 * Bounds the entries of a sparse vector: of more than `count` entries the largest values stay, in index order. Among
 * equal values the lower index stays, so the same text always gives the same vector.
 */
import type { SparseVector } from "@sheaf/protocol";

export function keepLargest(vector: SparseVector, count: number): SparseVector {
  const { indices, values, tokens } = vector;
  if (indices.length <= count) return vector;
  // Typed arrays are sorted without a comparison function: a vector of a long text has 100,000 entries.
  const least = values.toSorted()[values.length - count] as number;
  let equals = count - values.reduce((larger, value) => larger + (value > least ? 1 : 0), 0);
  const kept: number[] = [];
  for (const [position, value] of values.entries()) {
    if (value > least || (value === least && equals-- > 0)) kept.push(position);
  }
  return {
    indices: Uint32Array.from(kept, (position) => indices[position] as number),
    values: Float32Array.from(kept, (position) => values[position] as number),
    ...(tokens === undefined ? {} : { tokens: kept.map((position) => tokens[position] as string) }),
  };
}
