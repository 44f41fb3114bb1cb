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
const source = sampler("clusters", dimension, 1);
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
function print(name: string, before: number | null, now: number): void {
  const [old, ratio] = before === null ? ["", ""] : [before.toFixed(2), `${(before / now).toFixed(1)}x`];
  process.stdout.write(`| ${name} | ${old} | ${now.toFixed(3)} | ${ratio} |\n`);
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
  const repeats = Array.from({ length: queries }, (_, i) => i);
  const { records } = collection;
  for (const [name, where] of FILTERS) {
    const patterns = new PatternCache();
    const matches = compileWhere(where, "where", patterns);
    let record = records[0];
    const row = {
      id: "",
      value: (key: string) => record?.metadata?.get(key),
      document: () => record?.document ?? null,
    };
    const before = await time(repeats.slice(0, 5), () => {
      let found = 0;
      for (record of records) if (matches(row)) found++;
      return found;
    });
    patterns.free();
    print(name, before, await time(repeats, () => executeCount(collection.context, { ids: null, where })));
  }
}

async function measureRanks(): Promise<void> {
  const run =
    ({ context }: TestCollection) =>
    (search: Search): Promise<unknown> =>
      executeSearch(context, { searches: [search], readLevel: "index_and_wal" });
  const both = async (name: string, searches: readonly Search[]): Promise<void> =>
    print(name, await time(searches.slice(0, 5), run(plain)), await time(searches, run(fast)));
  const dense = (where: Where | null, changes: Partial<Knn> = {}): Search[] =>
    Array.from({ length: queries }, () => ({ ...knn(changes), where }));
  await both("dense, all", dense(null));
  await both("dense, half", dense(HALF));
  await both("dense, 5 %", dense(TWENTIETH));
  await both("dense, 0.1 %", dense(THOUSANDTH));
  await both("dense, exact: true", dense(null, { exact: true }));
  const terms = Array.from({ length: queries }, () =>
    knn({ key: "terms", limit: 100, query: { type: "sparse", vector: sparse(29) } }),
  );
  print("sparse top 100", null, await time(terms, run(fast)));
}

const fast = new TestCollection(plan);
const plain = new TestCollection(plan, { denseRows: Infinity });
const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
const start = performance.now();
fill([fast, plain]);
process.stdout.write(`${rows} x ${dimension}: made and filled two collections in ${seconds(start)}\n`);
const filled = performance.now();
while (fast.index.isBuilding) await setTimeout(20);
process.stdout.write(`fast index built in the background in ${seconds(filled)}\n\n`);
process.stdout.write("| | plain ms | now ms | |\n|---|---|---|---|\n");
await measureFilters(fast);
await measureRanks();
fast.index.close();
