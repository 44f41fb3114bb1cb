/** Requests as large as the limits and the longest body allow, as JSON. */
import { LIMITS } from "@sheaf/protocol";

export const LONG_IDS = LIMITS.whereValues;
export const SPARSE_TERMS = LIMITS.sparseNonZeros;
/** Of as many terms each as fill a body. */
const SPARSE_RECORDS = 300;
const SPARSE_SEARCHES = 4;
const SPARSE_KEY = "terms";
export const LARGEST_RANKS = { records: 20_000, callers: 5 };

export const SPARSE_SCHEMA = {
  keys: {
    [SPARSE_KEY]: { sparse_vector: { sparse_vector_index: { enabled: true, config: { bm25: false } } } },
  },
};

/** Different ids agree in all but their ends. */
export function longId(i: number): string {
  return String(i).padStart(LIMITS.idBytes, "i");
}

/** Records with some of them. */
export function longIdWrite(from: number, count: number): string {
  const ids = Array.from({ length: count }, (_, i) => longId(from + i));
  return JSON.stringify({ ids, embeddings: ids.map((_, i) => [from + i]) });
}

function sparseVector(value: number): { indices: readonly number[]; values: readonly number[] } {
  const indices = Array.from({ length: SPARSE_TERMS }, (_, i) => 3 * i);
  return { indices, values: indices.map(() => value) };
}

/** Record 0 has the largest values. */
export function sparseWrite(): string {
  const numbers = Array.from({ length: SPARSE_RECORDS }, (_, i) => i);
  const metadata = (i: number): object => ({
    [SPARSE_KEY]: { "#type": "sparse_vector", ...sparseVector(i === 0 ? 2 : 1) },
  });
  return JSON.stringify({
    ids: numbers.map((i) => `r${i}`),
    embeddings: numbers.map((i) => [i]),
    metadatas: numbers.map(metadata),
  });
}

export function sparseSearches(searches = SPARSE_SEARCHES, leaves: number = LIMITS.knnLeaves): string {
  const query = JSON.stringify(sparseVector(1));
  const leaf = `{"$knn":{"query":${query},"key":"${SPARSE_KEY}","limit":100}}`;
  const rank = `{"$sum":[${Array.from({ length: leaves }, () => leaf).join()}]}`;
  const search = `{"rank":${rank},"limit":{"limit":3}}`;
  return `{"searches":[${Array.from({ length: searches }, () => search).join()}]}`;
}

/** Every leaf finds as many as it may, and every node is an operator or one of its operands. */
export function rankSearches(searches: number): string {
  const leaf = `{"$knn":{"query":[0,1],"limit":${LIMITS.knnLimit},"default":1}}`;
  const operands = [
    ...Array.from({ length: LIMITS.knnLeaves }, () => leaf),
    ...Array.from({ length: LIMITS.rankNodes - LIMITS.knnLeaves - 1 }, () => `{"$val":1.5}`),
  ];
  const search = `{"rank":{"$sum":[${operands.join()}]},"limit":{"limit":10}}`;
  return `{"searches":[${Array.from({ length: searches }, () => search).join()}]}`;
}
