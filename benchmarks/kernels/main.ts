/**
 * `npm run bench:kernels -- [--rows 100000] [--dim 384] [--queries 300] [--only dense,sparse,stages]`: the engine without
 * HTTP, one thread: dense index beside faiss, sparse index beside bm25s, query stages beside their plain twins. Ends
 * with status 1 if a bar is missed at the size that the bars are for.
 */
import { type Bar, reportBars } from "../measure/bar.ts";
import { textTable } from "../measure/text-table.ts";
import type { FaissFigures } from "../peers/faiss.ts";
import type { PeerResult } from "../peers/python-peer.ts";
import { SET_NAMES, type SetName } from "../search/options.ts";
import { searchSet } from "../search/workload/search-set.ts";
import { sparseBar } from "./bm25s-bar.ts";
import { DENSE_FILTERS, type DenseFilter, type EngineFigures, measureDense, measureFaiss } from "./dense.ts";
import { measureSparse } from "./sparse.ts";
import { measureStages } from "./stages.ts";
import { readOptions } from "../measure/read-options.ts";

const BAR_ROWS = 100_000;
const BAR_DIMENSION = 384;
/** Of the time of faiss, by set. */
const DENSE_BOUNDS: Readonly<Record<SetName, Partial<Record<DenseFilter, number>>>> = {
  clusters: { all: 2, f5: 1, adversarial: 1 },
  topics: { all: 1, f5: 1, adversarial: 1 },
};
const STAGE_QUERIES = 15;

const { values } = readOptions(
  "bench:kernels -- [--rows ROWS] [--dim 384] [--queries 300] [--only dense,sparse,stages]",
  {
    options: {
      rows: { type: "string", default: String(BAR_ROWS) },
      dim: { type: "string", default: String(BAR_DIMENSION) },
      queries: { type: "string", default: "300" },
      only: { type: "string", default: "dense,sparse,stages" },
    },
  },
);
const rows = Number(values.rows);
const dimension = Number(values.dim);
const queries = Number(values.queries);
const parts = new Set(values.only.split(","));
const bars: Bar[] = [];

if (parts.has("dense")) {
  for (const name of SET_NAMES) {
    const set = searchSet(name, { rows, dimension, queries });
    const engine = measureDense(set);
    const faiss = await measureFaiss(set);
    printDense(name, engine, faiss);
    if ("figures" in faiss) bars.push(...denseBars(name, engine, faiss.figures));
  }
}
if (parts.has("sparse")) {
  const { documents, postings, engineMs, bm25s } = await measureSparse(rows, queries);
  console.log(`\n## sparse top 100: ${documents} documents, ${postings.toFixed(0)} postings a query\n`);
  console.log(`Sheaf ${engineMs.toFixed(2)} ms; ${describeBm25s(bm25s)}`);
  if ("figures" in bm25s) bars.push(sparseBar(engineMs, bm25s.figures.ms));
}
if (parts.has("stages")) {
  console.log(`\n## query stages, ${rows} records\n`);
  const header = ["", "plain ms", "indexed ms", "times faster"];
  console.log(textTable(header, await measureStages({ rows, dimension, queries: STAGE_QUERIES })));
}
const judged = rows === BAR_ROWS && dimension === BAR_DIMENSION;
if (bars.length > 0 && !judged)
  console.log(`\nThe bars are for ${BAR_ROWS} x ${BAR_DIMENSION}; here they decide nothing:`);
console.log("");
process.exitCode = reportBars(bars) || !judged ? 0 : 1;

function printDense(
  name: SetName,
  engine: EngineFigures,
  faiss: PeerResult<FaissFigures<DenseFilter>>,
): void {
  console.log(`\n## dense, ${name}: ${rows} x ${dimension}\n`);
  console.log(
    `put ${engine.putMicroseconds.toFixed(1)} us a row; sealed in ${engine.sealSeconds.toFixed(1)} s, longest slice ${engine.longestSliceMs.toFixed(1)} ms\n`,
  );
  const peer = "figures" in faiss ? faiss.figures : null;
  const table = DENSE_FILTERS.map((filter) => {
    const own = engine.filters[filter];
    const other = peer?.filters[filter] ?? null;
    return [
      filter,
      own.ms.toFixed(3),
      own.recall.toFixed(4),
      other?.ms.toFixed(3) ?? "",
      other?.recall.toFixed(4) ?? "",
      other === null ? "" : (own.ms / other.ms).toFixed(2),
      other?.setting ?? "",
    ];
  });
  const faissName = peer === null ? "faiss (not run)" : `faiss ${peer.version} ms`;
  console.log(textTable(["", "Sheaf ms", "recall", faissName, "recall", "ratio", "setting"], table));
  if ("problem" in faiss) console.log(`faiss: not run: ${faiss.problem}`);
}

function denseBars(name: SetName, engine: EngineFigures, faiss: FaissFigures<DenseFilter>): readonly Bar[] {
  return DENSE_FILTERS.flatMap((filter): Bar[] => {
    const { ms, recall } = engine.filters[filter];
    const found: Bar = {
      name: `${name}, recall@10, ${filter}`,
      measured: recall,
      bound: 0.99,
      side: "at least",
      digits: 4,
    };
    const bound = DENSE_BOUNDS[name][filter];
    const other = faiss.filters[filter];
    if (bound === undefined || other === null) return [found];
    const speed: Bar = {
      name: `${name}, over faiss, ${filter}`,
      measured: ms / other.ms,
      bound,
      side: "at most",
      digits: 2,
    };
    return [found, speed];
  });
}

function describeBm25s(bm25s: Awaited<ReturnType<typeof measureSparse>>["bm25s"]): string {
  if ("problem" in bm25s) return `bm25s: not run: ${bm25s.problem}`;
  const { version, ms, agreement } = bm25s.figures;
  return `bm25s ${version} ${ms.toFixed(2)} ms, ${(100 * agreement).toFixed(1)} % of its results are the same`;
}
