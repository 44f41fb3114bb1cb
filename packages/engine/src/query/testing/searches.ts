/** A search of the dictionary and a leaf of its rank, for tests that say only what matters to them. */
import type { Knn, Search } from "@sheaf/protocol";

export const SEARCH: Search = {
  where: null,
  rank: null,
  groupBy: null,
  offset: 0,
  limit: null,
  select: { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] },
};

/** Of collections with two dimensions. */
export function knn(changes: Partial<Knn> = {}): Knn {
  return {
    type: "knn",
    query: { type: "dense", vector: Float32Array.of(0, 0) },
    key: "#embedding",
    limit: 16,
    default: null,
    returnRank: false,
    exact: false,
    path: "searches[0].rank.$knn",
    ...changes,
  };
}
