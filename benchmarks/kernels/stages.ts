/**
 * The query stages beside their plain twins, one thread, records in memory: median milliseconds over different queries.
 * Plain: every row tested by the oracle, every vector compared.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { IndexPlan, Knn, Metadata, Search, SparseVector, Where } from "@sheaf/protocol";
import { executeCount, executeSearch } from "../../packages/engine/src/query/execute.ts";
import { oracleSelect } from "../../packages/engine/src/query/testing/oracle.ts";
import { TestCollection } from "../../packages/engine/src/query/testing/test-collection.ts";
import { median } from "../measure/statistics.ts";
import {
  type SparseTerms,
  WORDS,
  queryTerms,
  recordContent,
  recordId,
  recordTerms,
} from "../search/workload/record-content.ts";
import { type SearchSet, type SetSize, searchSet, vectorOf } from "../search/workload/search-set.ts";

const KEY = "terms";
const PLAN: IndexPlan = {
  space: "cosine",
  embeddingFunction: null,
  sparse: [{ key: KEY, bm25: false, sourceKey: null, embeddingFunction: null }],
};
const NO_SELECT = { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] };
/** The plain twin is slow, and its time does not depend on the query. */
const PLAIN_QUERIES = 5;

/** Rows of a table: name, milliseconds plain and indexed, ratio. */
export async function measureStages(size: SetSize): Promise<readonly (readonly string[])[]> {
  const set = searchSet("clusters", size);
  const plain = new TestCollection(PLAN, { denseRows: Infinity });
  const fast = new TestCollection(PLAN);
  fill(set, [plain, fast]);
  while (fast.index.isBuilding) await sleep(20);
  const rows = [...(await measureFilters(fast, size.queries)), ...(await measureRanks(set, plain, fast))];
  fast.index.close();
  plain.index.close();
  return rows;
}

function fill(set: SearchSet, collections: readonly TestCollection[]): void {
  for (let row = 0; row < set.rows; row++) {
    const { document, metadata } = recordContent(row, set.groups[row] ?? 0);
    const fields: Metadata = new Map<string, bigint | number | string | SparseVector>([
      ["year", BigInt(metadata.year)],
      ["category", metadata.category],
      ["price", metadata.price],
      [KEY, sparseVector(recordTerms(row))],
    ]);
    const embedding = vectorOf(set.vectors, row, set.dimension);
    for (const collection of collections)
      collection.put(recordId(row), { embedding, document, uri: null, metadata: fields });
  }
}

function sparseVector({ indices, values }: SparseTerms): SparseVector {
  return { indices: Uint32Array.from(indices), values: Float32Array.from(values) };
}

/** Median over the items, after two turns that do not count. */
async function time<T>(items: readonly T[], work: (item: T) => unknown): Promise<number> {
  const times: number[] = [];
  for (const item of [...items.slice(0, 2), ...items]) {
    const start = performance.now();
    await work(item);
    times.push(performance.now() - start);
  }
  return median(times.slice(-items.length));
}

/** `before`: `null` where there is no plain twin. */
function tableRow(name: string, before: number | null, now: number): readonly string[] {
  const [plain, ratio] = before === null ? ["", ""] : [before.toFixed(2), (before / now).toFixed(1)];
  return [name, plain, now.toFixed(3), ratio];
}

const compare = (key: string, operator: "$eq" | "$gte" | "$lt", value: bigint | number | string): Where => ({
  type: "compare",
  key,
  operator,
  value,
});
const contains = (text: string): Where => ({ type: "document_contains", negated: false, text });
const regex = (pattern: string): Where => ({ type: "document_regex", negated: false, pattern });
const and = (...children: Where[]): Where => ({ type: "and", children });

const HALF = compare("year", "$gte", 2_012n);
const TWENTIETH = compare("category", "$eq", "c7");
const THOUSANDTH = and(compare("price", "$gte", 500), compare("price", "$lt", 501));
const FILTERS: readonly (readonly [string, Where])[] = [
  ["where, half (int range)", HALF],
  ["where, 5 % (string)", TWENTIETH],
  ["where, 0.1 % (float range)", THOUSANDTH],
  ["where, half and 5 %", and(HALF, TWENTIETH)],
  ["substring, rare word", contains(` ${WORDS[4_000]} `)],
  ["substring, common word", contains(` ${WORDS[3]} `)],
  ["regex, rare literal", regex(`\\b${WORDS[4_001]}\\b`)],
  ["regex, literal with classes", regex(`${WORDS[40]} [a-m]\\w+ ${WORDS[1]}`)],
  ["regex, no literal", regex("q[aeiou]z\\b")],
];

async function measureFilters(
  collection: TestCollection,
  queries: number,
): Promise<readonly (readonly string[])[]> {
  const repeats = Array.from({ length: queries }, (_, i) => i);
  const rows: (readonly string[])[] = [];
  for (const [name, where] of FILTERS) {
    const selector = { ids: null, where };
    const before = await time(
      repeats.slice(0, PLAIN_QUERIES),
      () => oracleSelect(collection, selector).length,
    );
    const now = await time(repeats, () => executeCount(collection.context, selector));
    rows.push(tableRow(name, before, now));
  }
  return rows;
}

async function measureRanks(
  set: SearchSet,
  plain: TestCollection,
  fast: TestCollection,
): Promise<readonly (readonly string[])[]> {
  const run =
    ({ context }: TestCollection) =>
    (search: Search): Promise<unknown> =>
      executeSearch(context, { searches: [search], readLevel: "index_and_wal" });
  const both = async (name: string, searches: readonly Search[]): Promise<readonly string[]> =>
    tableRow(name, await time(searches.slice(0, PLAIN_QUERIES), run(plain)), await time(searches, run(fast)));
  const queries = Array.from({ length: set.queries }, (_, query) => query);
  const dense = (where: Where | null, exact = false): Search[] =>
    queries.map((query) => {
      const vector = vectorOf(set.queryVectors, query, set.dimension);
      return { ...knn({ exact, query: { type: "dense", vector } }), where };
    });
  const sparse = queries.map((query) =>
    knn({ key: KEY, limit: 100, query: { type: "sparse", vector: sparseVector(queryTerms(query)) } }),
  );
  return [
    await both("dense, all", dense(null)),
    await both("dense, half", dense(HALF)),
    await both("dense, 5 %", dense(TWENTIETH)),
    await both("dense, 0.1 %", dense(THOUSANDTH)),
    await both("dense, exact: true", dense(null, true)),
    tableRow("sparse top 100", null, await time(sparse, run(fast))),
  ];
}

function knn(changes: Pick<Knn, "query"> & Partial<Knn>): Search {
  const rank: Knn = {
    type: "knn",
    key: "#embedding",
    limit: 10,
    default: null,
    returnRank: false,
    exact: false,
    path: "rank",
    ...changes,
  };
  return { where: null, rank, groupBy: null, offset: 0, limit: null, select: NO_SELECT };
}
