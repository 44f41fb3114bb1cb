/** Bounds of filters, ranks, groups and pages. */
import type { LimitName } from "@sheaf/protocol";
import { type CaseOf, times, toCollection } from "./limit-case.ts";

const KNN = { $knn: { query: [1, 2] } };
const AGGREGATE = { $min_k: { keys: ["#score"], k: 1 } };

export const SEARCH_CASES = {
  resultsPerPage: toCollection("query", /^n_results/u, (size) => ({
    query_embeddings: [[1, 2]],
    n_results: size,
  })),
  searchesPerCall: toCollection("search", /^searches/u, (size) => ({ searches: times(size, () => ({})) })),
  rankNodes: ranked((size) => ({ $sum: times(size - 1, () => ({ $val: 1 })) }), /^searches\[0\]\.rank/u),
  knnLeaves: ranked((size) => ({ $sum: times(size, () => KNN) }), /^searches\[0\]\.rank/u),
  knnLimit: ranked(
    (size) => ({ $knn: { query: [1, 2], limit: size } }),
    /^searches\[0\]\.rank\.\$knn\.limit/u,
  ),
  groupKeys: searched(
    (size) => ({ rank: KNN, group_by: { keys: names(size), aggregate: AGGREGATE } }),
    /^searches\[0\]\.group_by\.keys/u,
  ),
  aggregateKeys: searched(
    (size) => ({ rank: KNN, group_by: { keys: ["a"], aggregate: { $min_k: { keys: names(size), k: 1 } } } }),
    /^searches\[0\]\.group_by\.aggregate\.\$min_k\.keys/u,
  ),
  selectKeys: searched((size) => ({ select: { keys: names(size) } }), /^searches\[0\]\.select\.keys/u),
  whereNodes: filtered((size) => ({ $or: times(size - 1, () => ({ a: 1 })) }), /^where/u),
  whereValues: filtered((size) => ({ a: { $in: times(size, (i) => i) } }), /^where\.a\.\$in/u),
  regexPatterns: filtered((size) => ({ $or: times(size, (i) => regex(`p${i}`)) }), /regular expressions/u),
  regexCharacters: filtered((size) => regex("a".repeat(size)), /^where\.#document\.\$regex/u),
} satisfies { readonly [name in LimitName]?: CaseOf };

function searched(make: (size: number) => object, says: RegExp): CaseOf {
  return toCollection("search", says, (size) => ({ searches: [make(size)] }));
}

function ranked(make: (size: number) => object, says: RegExp): CaseOf {
  return searched((size) => ({ rank: make(size) }), says);
}

function filtered(make: (size: number) => object, says: RegExp): CaseOf {
  return toCollection("get", says, (size) => ({ where: make(size) }));
}

function names(count: number): string[] {
  return times(count, (i) => `key-${i}`);
}

function regex(pattern: string): object {
  return { "#document": { $regex: pattern } };
}
