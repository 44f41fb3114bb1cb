/**
 * `npm run bench:relevance -- FOLDER...`: how well the server finds what people judged relevant. Starts the real
 * command, writes each set (BEIR layout) with the server's own embedding, asks every judged query by text, and prints
 * nDCG@10 of the dense search, of BM25 and of their reciprocal rank fusion. The collections have the client's
 * `hybridSchema()`, and every search its defaults.
 */
import { ROOT_KEY, ServedSheaf } from "../../test/e2e/testing/served-sheaf.ts";
import { type Bar, reportBars } from "../measure/bar.ts";
import { seededRandom } from "../measure/random.ts";
import { mean } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";
import { ndcg } from "./ndcg.ts";
import { comparePaired } from "./randomisation-test.ts";
import { type RelevanceSet, readRelevanceSet } from "./relevance-set.ts";
import { SYSTEMS, SearchedSet, type System } from "./searched-set.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { endWithUsage } from "../measure/read-options.ts";

const USAGE = "bench:relevance -- FOLDER…, each with a set in the format of BEIR, such as scifact";

const DEPTH = 10;
const SEED = 20_260_101;
const PAIRS: readonly (readonly [System, System])[] = [
  ["rrf", "dense"],
  ["rrf", "bm25"],
  ["bm25", "dense"],
];
/** What has to be reached, by the name of the folder. */
const BOUNDS: Readonly<Record<string, Readonly<Record<System, number>>>> = {
  scifact: { dense: 0.642, bm25: 0.685, rrf: 0.72 },
  cranfield: { dense: 0.503, bm25: 0.53, rrf: 0.555 },
};

interface Outcome {
  /** nDCG@10 per query. */
  readonly scores: readonly number[];
  readonly seconds: number;
}

async function main(folders: readonly string[]): Promise<boolean> {
  const missing = folders.find((folder) => !existsSync(join(folder, "corpus.jsonl")));
  if (folders.length === 0) endWithUsage(USAGE, "which set of judged queries? It needs a folder");
  if (missing !== undefined)
    endWithUsage(USAGE, `${missing}: no folder with corpus.jsonl, queries.jsonl and qrels`);
  const sets = await Promise.all(folders.map(readRelevanceSet));
  const served = await ServedSheaf.start();
  try {
    const bars: Bar[] = [];
    for (const set of sets) bars.push(...(await measure(set, served.url)));
    return reportBars(bars);
  } finally {
    await served.dispose();
  }
}

async function measure(set: RelevanceSet, url: string): Promise<readonly Bar[]> {
  console.log(`\n## ${set.name}: ${set.documents.length} documents, ${set.queries.length} judged queries`);
  const startedAt = performance.now();
  const searched = await SearchedSet.write(set, { url, key: ROOT_KEY }, (written) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${written} documents written`);
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`written in ${seconds.toFixed(1)} s (tokenized, embedded, stored)\n`);
  const outcomes = new Map<System, Outcome>();
  for (const system of SYSTEMS) outcomes.set(system, await ask(set, searched, system));
  printScores(outcomes);
  printSignificance(outcomes);
  const bounds = BOUNDS[set.name];
  if (bounds === undefined) return [];
  const measured = (system: System): number => mean(outcomes.get(system)?.scores ?? []);
  const bar = (name: string, system: System, bound: number): Bar => {
    return { name: `${set.name} ${name}`, measured: measured(system), bound, side: "at least", digits: 4 };
  };
  const better = Math.max(measured("dense"), measured("bm25"));
  return [
    ...SYSTEMS.map((system) => bar(`${system} nDCG@${DEPTH}`, system, bounds[system])),
    bar("rrf against the better of the two", "rrf", better),
  ];
}

async function ask(set: RelevanceSet, searched: SearchedSet, system: System): Promise<Outcome> {
  const startedAt = performance.now();
  const rankings = await searched.rankings(set.queries, system);
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    scores: set.queries.map(({ grades }, query) => ndcg(rankings[query] ?? [], grades, DEPTH)),
    seconds,
  };
}

function printScores(outcomes: ReadonlyMap<System, Outcome>): void {
  const rows = [...outcomes].map(([system, { scores, seconds }]) => [
    system,
    mean(scores).toFixed(4),
    ((seconds * 1_000) / scores.length).toFixed(1),
  ]);
  console.log(textTable(["search", `nDCG@${DEPTH}`, "ms per query"], rows));
}

function printSignificance(outcomes: ReadonlyMap<System, Outcome>): void {
  const random = seededRandom(SEED);
  const rows = PAIRS.map(([a, b]) => {
    const { difference, p } = comparePaired(
      outcomes.get(a)?.scores ?? [],
      outcomes.get(b)?.scores ?? [],
      random,
    );
    return [`${a} - ${b}`, difference.toFixed(4), p.toFixed(5)];
  });
  console.log(`\n${textTable(["paired difference", `nDCG@${DEPTH}`, "p"], rows)}\n`);
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
