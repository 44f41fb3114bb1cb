/** Bounds of filters, ranks, groups and pages. */
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS, type LimitName, parseGetRequest, parseSearchRequest } from "@sheaf/protocol";
import { RegexPool } from "../../../packages/engine/src/query/regex/regex-pool.ts";
import { executeGet, executeSearch } from "../../../packages/engine/src/query/execute.ts";
import { TestCollection } from "../../../packages/engine/src/query/testing/test-collection.ts";
import { type Bench, type CaseOf, type Outcome, bySize, called, times, toCollection } from "./limit-case.ts";

const KNN = { $knn: { query: [1, 2] } };
const BATCH = 50_000;
const LONGEST_TEXT = LIMITS.facetTextCharacters;
const AGGREGATE = { $min_k: { keys: ["#score"], k: 1 } };

export const SEARCH_CASES = {
  resultsPerPage: searched((size) => ({ limit: { limit: size } }), /^searches\[0\]\.limit\.limit/u),
  resultsPerQuery: bySize(
    (bench, size) => query(bench, { records: size, queries: 1 }),
    /^n_results: must be at most/u,
  ),
  resultsPerCall: bySize(
    // One record more for each of a thousand queries: the least that there can be over it.
    (bench, size) => query(bench, { records: Math.ceil(size / 1_000), queries: 1_000 }),
    /^n_results: .*in one call/u,
  ),
  queriesPerCall: toCollection("query", /^query_embeddings/u, (size) => ({
    query_embeddings: times(size, () => [1, 2]),
  })),
  searchesPerCall: toCollection("search", /^searches/u, (size) => ({ searches: times(size, () => ({})) })),
  rankNodes: ranked((size) => ({ $sum: times(size - 1, () => ({ $val: 1 })) }), /^searches\[0\]\.rank/u),
  knnLeaves: ranked((size) => ({ $sum: times(size, () => KNN) }), /^searches\[0\]\.rank/u),
  fieldLeaves: ranked(
    (size) => ({ $sum: times(size, () => ({ $key: { key: "a" } })) }),
    /^searches\[0\]\.rank/u,
  ),
  knnLimit: ranked(
    (size) => ({ $knn: { query: [1, 2], limit: size } }),
    /^searches\[0\]\.rank\.\$knn\.limit/u,
  ),
  explainedIds: searched((size) => ({ explain: { ids: names(size) } }), /^searches\[0\]\.explain\.ids/u),
  traceNodes: bySize(
    (_bench, size) => called(() => trace(size)),
    /^searches\[0\]\.explain: the traces of a call/u,
  ),
  groupKeys: searched(
    (size) => ({ rank: KNN, group_by: { keys: names(size), aggregate: AGGREGATE } }),
    /^searches\[0\]\.group_by\.keys/u,
  ),
  aggregateKeys: searched(
    (size) => ({ rank: KNN, group_by: { keys: ["a"], aggregate: { $min_k: { keys: names(size), k: 1 } } } }),
    /^searches\[0\]\.group_by\.aggregate\.\$min_k\.keys/u,
  ),
  facetKeys: toCollection("facets", /^keys/u, (size) => ({ keys: names(size) })),
  facetValues: toCollection("facets", /^limit/u, (size) => ({ keys: ["a"], limit: size })),
  facetBuckets: toCollection("facets", /^histogram/u, (size) => ({ keys: ["a"], histogram: size })),
  facetTextCharacters: bySize((bench, size) => facetsOf(bench, ["x".repeat(size)]), /$/u),
  facetCharacters: bySize(
    (bench, size) =>
      facetsOf(
        bench,
        times(Math.ceil(size / LONGEST_TEXT), (i) =>
          `${i}`.padEnd(Math.min(LONGEST_TEXT, size - i * LONGEST_TEXT), "x"),
        ),
      ),
    /^keys: the texts of all facets/u,
  ),
  mmrPool: searched((size) => ({ rank: KNN, mmr: { limit: size } }), /^searches\[0\]\.mmr\.limit/u),
  orderKeys: searched(
    (size) => ({ order_by: names(size).map((name) => ({ [name]: "asc" })) }),
    /^searches\[0\]\.order_by/u,
  ),
  orderedResults: bySize((_bench, size) => called(() => order(size)), /^order_by: the page ends at record/u),
  highlights: bySize(highlightsOf, /$/u),
  snippetCharacters: searched(
    (size) => ({ highlight: { snippet: size } }),
    /^searches\[0\]\.highlight\.snippet/u,
  ),
  selectKeys: searched((size) => ({ select: { keys: names(size) } }), /^searches\[0\]\.select\.keys/u),
  whereNodes: filtered((size) => ({ $or: times(size - 1, () => ({ a: 1 })) }), /^where/u),
  whereValues: filtered((size) => ({ a: { $in: times(size, (i) => i) } }), /^where\.a\.\$in/u),
  regexPatterns: filtered((size) => ({ $or: times(size, (i) => regex(`p${i}`)) }), /regular expressions/u),
  regexBytes: filtered(
    // What it compiles to cannot be told by the byte: 388 times is the most that fits.
    (size) => regex(size > LIMITS.regexBytes ? "\\w{389}" : "\\w{388}"),
    /^where\.#document\.\$regex: Compiled regex exceeds size limit of 10485760/u,
  ),
  queuedRegexRequests: bySize((_bench, size) => called(() => queueRegexes(size)), /regular expressions/u),
  containsCharacters: filtered(
    (size) => ({ "#document": { $contains: "a".repeat(size) } }),
    /^where\.#document\.\$contains/u,
  ),
  regexCharacters: filtered((size) => regex("a".repeat(size)), /^where\.#document\.\$regex/u),
} satisfies { readonly [name in LimitName]?: CaseOf };

/** So many requests of a tenant wait behind one. */
async function queueRegexes(waiting: number): Promise<void> {
  const pool = new RegexPool({ threads: 1 });
  const regexes = pool.forTenant("tenant");
  let release = (): void => {};
  const first = regexes.run(undefined, () => new Promise<void>((resolve) => (release = resolve)));
  const others = times(waiting, () => regexes.run(undefined, () => Promise.resolve()));
  const outcomes = Promise.allSettled(others);
  await sleep(0);
  release();
  await first;
  for (const outcome of await outcomes) if (outcome.status === "rejected") throw outcome.reason;
  await pool.close();
}

/** All records of a collection of `records`, for each of `queries`. */
async function query(bench: Bench, counts: { records: number; queries: number }): Promise<Outcome> {
  const path = await bench.collection();
  const ids = times(counts.records, (i) => `r${i}`);
  for (let from = 0; from < ids.length; from += BATCH) {
    const batch = ids.slice(from, from + BATCH);
    await bench.ask(`POST ${path}/add`, { json: { ids: batch, embeddings: batch.map((_, i) => [i]) } });
  }
  const json = { query_embeddings: times(counts.queries, () => [1]), n_results: counts.records, include: [] };
  return bench.send(`POST ${path}/query`, { json });
}

/** A document with so many matches, of which no more than the bound are shown. */
async function highlightsOf(bench: Bench, size: number): Promise<Outcome> {
  const path = await bench.collection();
  const record = { ids: ["a"], embeddings: [[1]], documents: ["a ".repeat(size)] };
  await bench.ask(`POST ${path}/add`, { json: record });
  const json = { where_document: { $contains: "a" }, highlight: true };
  const { highlights } = await bench.ask<{ highlights: unknown[][] }>(`POST ${path}/get`, { json });
  const isRight = highlights[0]?.length === Math.min(size, LIMITS.highlights);
  return { status: isRight ? 200 : 500, message: "" };
}

/** Of a collection in which each of these is the value of a record, under one key after the other. */
async function facetsOf(bench: Bench, texts: readonly string[]): Promise<Outcome> {
  const path = await bench.collection();
  const ids = times(Math.min(LIMITS.facetValues, texts.length), (i) => `r${i}`);
  const keys = names(Math.ceil(texts.length / ids.length));
  const textsOf = (record: number): [string, string][] =>
    keys.flatMap((key, i): [string, string][] => {
      const text = texts[i * ids.length + record];
      return text === undefined ? [] : [[key, text]];
    });
  const metadatas = ids.map((_, i) => Object.fromEntries(textsOf(i)));
  await bench.ask(`POST ${path}/add`, { json: { ids, embeddings: ids.map(() => [1]), metadatas } });
  return bench.send(`POST ${path}/facets`, { json: { keys, limit: LIMITS.facetValues } });
}

/** All of so many records. */
async function order(records: number): Promise<void> {
  await executeGet(filled(records).context, parseGetRequest({ order_by: [{ a: "asc" }] }));
}

/** A page of records, each with its share of the nodes. */
async function trace(nodes: number): Promise<void> {
  const records = LIMITS.resultsPerPage;
  const constants = times(Math.ceil(nodes / records) - 2, () => ({ $val: 1 }));
  const rank = { $sum: [{ $knn: { query: [1], limit: records } }, ...constants] };
  const request = parseSearchRequest({ searches: [{ rank, explain: true }] });
  const { rest } = await executeSearch(filled(records).context, request);
  rest?.ticket.close();
}

function filled(records: number): TestCollection {
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
  const content = { embedding: Float32Array.of(1), document: null, uri: null, metadata: null };
  for (let i = 0; i < records; i++) collection.put(`r${i}`, content);
  return collection;
}

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
