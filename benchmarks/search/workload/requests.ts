/** The requests, byte for byte the same for every server. Bodies are made before the clock starts. */
import { rrf } from "@sheaf/client";
import { FILTERS, type FilterName } from "./filters.ts";
import { K, type Queries } from "./ground-truth.ts";
import { KINDS, PRICES, queryTerms, recordContent, recordTerms } from "./record-content.ts";
import { type SearchSet, vectorOf } from "./search-set.ts";

/** Of the sparse index of Sheaf's collections. */
export const TERMS_KEY = "terms";
/** Records that each leaf of a hybrid search finds, and that the sparse search returns. */
const LEAF_LIMIT = 100;

export interface WriteForm {
  /** Embeddings as base64 of 32-bit floats instead of lists of numbers. */
  readonly base64?: boolean;
  readonly terms?: boolean;
}

/** Body of `/add` and `/upsert` for the rows from `from` to before `to`. */
export function writeBody(set: SearchSet, from: number, to: number, form: WriteForm = {}): Buffer {
  const { vectors, groups, dimension } = set;
  const rows = Array.from({ length: to - from }, (_, index) => from + index);
  const records = rows.map((row) => recordContent(row, groups[row] ?? 0));
  return json({
    ids: records.map(({ id }) => id),
    embeddings: rows.map((row) => embedding(vectorOf(vectors, row, dimension), form.base64 === true)),
    documents: records.map(({ document }) => document),
    metadatas: records.map(({ metadata }, index) =>
      form.terms === true ? { ...metadata, [TERMS_KEY]: sparse(recordTerms(from + index)) } : metadata,
    ),
  });
}

/** One body of `/query` per query. */
export function queryBodies(set: Queries, filter: FilterName, include: readonly string[]): Buffer[] {
  return perQuery(set, (query) => ({
    query_embeddings: [queryVector(set, query)],
    n_results: K,
    ...FILTERS[filter](query, set.queryGroups[query] ?? 0).body,
    include,
  }));
}

/** Bodies of `/get`, each for one record. */
export function getBodies(set: SearchSet): Buffer[] {
  return perQuery(set, (query) => ({
    ids: [recordContent(spread(set, query), 0).id],
    include: ["documents", "metadatas"],
  }));
}

/** Bodies of `/upsert`, each of one record as it already is, so that every answer stays right. */
export function upsertBodies(set: SearchSet): Buffer[] {
  return Array.from({ length: set.queries }, (_, query) =>
    writeBody(set, spread(set, query), spread(set, query) + 1),
  );
}

export type SearchShape = "dense leaf" | "sparse" | "hybrid" | "explained" | "metadata" | "grouped";

/** Bodies of Sheaf's `/search`. */
export function searchBodies(set: SearchSet, shape: SearchShape): Buffer[] {
  return perQuery(set, (query) => {
    const dense = { query: queryVector(set, query), limit: LEAF_LIMIT };
    const terms = { query: queryTerms(query), key: TERMS_KEY, limit: LEAF_LIMIT };
    const select = { keys: ["#score"] };
    if (shape === "dense leaf")
      return { searches: [{ rank: { $knn: dense }, limit: { limit: LEAF_LIMIT }, select }] };
    if (shape === "sparse")
      return { searches: [{ rank: { $knn: terms }, limit: { limit: LEAF_LIMIT }, select }] };
    const search = { rank: rrf({ ranks: [dense, terms] }), limit: { limit: K }, select };
    if (shape === "hybrid") return { searches: [search] };
    if (shape === "explained") return { searches: [{ ...search, explain: true }] };
    if (shape === "metadata") {
      const price = { $key: { key: "price" } };
      const where = { category: `c${query % KINDS}` };
      return { searches: [{ where, rank: price, limit: { limit: K }, select }] };
    }
    const group_by = { keys: ["category"], aggregate: { $min_k: { keys: ["#score"], k: 2 } } };
    return { searches: [{ ...search, group_by }] };
  });
}

/** Bodies of Sheaf's `/facets`: all keys of the records, each time under another filter. */
export function facetBodies(set: SearchSet): Buffer[] {
  return perQuery(set, (query) => ({
    keys: ["year", "category", "shelf"],
    where: { price: { $lt: (1 + (query % 10)) * (PRICES / 10) } },
  }));
}

export function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Rows far apart, a different one for each query. */
function spread({ rows, queries }: SearchSet, query: number): number {
  return Math.floor((query * rows) / queries);
}

function perQuery(set: Pick<Queries, "queries">, body: (query: number) => object): Buffer[] {
  return Array.from({ length: set.queries }, (_, query) => json(body(query)));
}

export function queryVector({ queryVectors, dimension }: Queries, query: number): number[] {
  return [...vectorOf(queryVectors, query, dimension)];
}

function embedding(vector: Float32Array, base64: boolean): number[] | string {
  if (!base64) return [...vector];
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}

function sparse(terms: object): object {
  return { "#type": "sparse_vector", ...terms };
}
