/**
 * Measures the query stages beside their plain twins, one thread, records in memory: median milliseconds over
 * different queries. Plain: every row tested by the predicate, every vector compared.
 *   npx tsx --conditions=@sheaf/source packages/engine/scripts/bench-queries.ts [rows] [dimension] [queries]
 */
import { setTimeout } from "node:timers/promises";
import type { IndexPlan, Knn, Search, SparseVector, Where } from "@sheaf/protocol";
import { randomOf, sampler } from "../src/index/dense/testing/data-sets.ts";
import { executeCount, executeSearch } from "../src/query/execute.ts";
import { PatternCache } from "../src/query/pattern-cache.ts";
import { TestCollection } from "../src/query/testing/test-collection.ts";
import { compileWhere } from "../src/query/where-predicate.ts";

const [rows = 100_000, dimension = 384, queries = 40] = process.argv.slice(2).map(Number);
const random = randomOf(7);
const pick = (count: number): number => Math.floor(random() * count);
const source = sampler("topics", dimension, 1);
const plan: IndexPlan = {
  space: "cosine",
  embeddingFunction: null,
  sparse: [{ key: "terms", bm25: false, sourceKey: null, embeddingFunction: null }],
};
const NO_SELECT = { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] };
const WORDS = Array.from({ length: 5_000 }, () =>
  Array.from({ length: 3 + pick(7) }, () => String.fromCharCode(97 + pick(26))).join(""),
);

/** Zipf: low numbers are common. */
function zipf(count: number): number {
  return Math.min(count - 1, Math.floor(count ** random()) - 1);
}

function sparse(terms: number): SparseVector {
  const indices = Uint32Array.from(new Set(Array.from({ length: terms }, () => zipf(30_000)))).sort();
  return { indices, values: Float32Array.from(indices, random) };
}

function fill(collections: readonly TestCollection[]): void {
  for (let i = 0; i < rows; i++) {
    const content = {
      embedding: source.next().vector,
      document: Array.from({ length: 20 }, () => WORDS[zipf(WORDS.length)]).join(" "),
      uri: null,
      metadata: new Map<string, bigint | number | string | SparseVector>([
        ["year", BigInt(2_000 + pick(24))],
        ["category", `c${pick(20)}`],
        ["price", random() * 1_000],
        ["terms", sparse(120)],
      ]),
    };
    for (const collection of collections) collection.put(`r${i}`, content);
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

async function time(runs: number, work: (i: number) => unknown): Promise<number> {
  const times: number[] = [];
  for (let i = -2; i < runs; i++) {
    const start = performance.now();
    await work(Math.max(i, 0));
    if (i >= 0) times.push(performance.now() - start);
  }
  return median(times);
}

function print(name: string, plain: number, now: number): void {
  process.stdout.write(
    `| ${name} | ${plain.toFixed(2)} | ${now.toFixed(3)} | ${(plain / now).toFixed(0)}x |\n`,
  );
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

function knn(changes: Partial<Knn>): Search {
  const query = { type: "dense" as const, vector: source.next().vector };
  const rank: Knn = {
    type: "knn",
    query,
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

async function measureFilters(collection: TestCollection): Promise<void> {
  for (const [name, where] of FILTERS) {
    const patterns = new PatternCache();
    const matches = compileWhere(where, "where", patterns);
    const records = collection.records;
    const plain = await time(5, () =>
      records.filter(({ id, metadata, document }) =>
        matches({ id, value: (key) => metadata?.get(key), document: () => document }),
      ),
    );
    print(name, plain, await time(queries, () => executeCount(collection.context, { ids: null, where })));
    patterns.free();
  }
}

async function measureRanks(fast: TestCollection, plain: TestCollection): Promise<void> {
  const run = (collection: TestCollection, search: Search): Promise<unknown> =>
    executeSearch(collection.context, { searches: [search], readLevel: "index_and_wal" });
  for (const [name, where] of [
    ["dense, all", null],
    ["dense, half", HALF],
    ["dense, 5 %", TWENTIETH],
    ["dense, 0.1 %", THOUSANDTH],
  ] as const) {
    const searches = Array.from({ length: queries }, () => ({ ...knn({}), where }));
    const exact = await time(5, (i) => run(plain, searches[i]!));
    print(name, exact, await time(queries, (i) => run(fast, searches[i]!)));
  }
  const exacts = Array.from({ length: 10 }, () => knn({ exact: true }));
  print(
    "dense, exact: true",
    await time(5, (i) => run(plain, exacts[i]!)),
    await time(10, (i) => run(fast, exacts[i]!)),
  );
  const terms = Array.from({ length: queries }, () =>
    knn({ key: "terms", limit: 100, query: { type: "sparse", vector: sparse(29) } }),
  );
  print("sparse top 100", Number.NaN, await time(queries, (i) => run(fast, terms[i]!)));
}

const fast = new TestCollection(plan);
const plain = new TestCollection(plan, { denseRows: Infinity });
const start = performance.now();
fill([fast, plain]);
const filled = performance.now();
while (fast.index.isBuilding) await setTimeout(20);
process.stdout.write(
  `${rows} x ${dimension}: filled in ${((filled - start) / 1_000).toFixed(1)} s, fast index ready ${((performance.now() - filled) / 1_000).toFixed(1)} s later\n`,
);
process.stdout.write("| | plain ms | now ms | |\n|---|---|---|---|\n");
await measureFilters(fast);
await measureRanks(fast, plain);
fast.index.close();
