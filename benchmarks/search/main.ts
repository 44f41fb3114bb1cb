/**
 * `npm run bench:search`: Sheaf over HTTP beside Chroma and beside a floor, with recall against exact answers. Ends with
 * status 1 if a bar is missed at the size that the bars are for. The flags are in `options.ts`.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { sparseBar } from "../kernels/bm25s-bar.ts";
import { type SparseFigures, measureSparse } from "../kernels/sparse.ts";
import { type Bar, reportBars } from "../measure/bar.ts";
import { barsOf } from "./report/bars.ts";
import { measureGrowth } from "./growth.ts";
import { findChroma } from "./servers/launch-chroma.ts";
import { measureSet } from "./measure-set.ts";
import { type BenchmarkOptions, USAGE, readOptions } from "./options.ts";
import { searchSet } from "./workload/search-set.ts";
import type { SetFigures } from "./report/set-figures.ts";
import { printSet } from "./report/tables.ts";

/** The bars say nothing about other sizes. */
const BAR_ROWS = 100_000;
const BAR_DIMENSION = 384;

async function main(options: BenchmarkOptions): Promise<boolean> {
  const { rows, dimension, queries } = options;
  const chroma = options.chroma ? findChroma() : { problem: "--skip-chroma" };
  if ("problem" in chroma) console.log(`Chroma: not run: ${chroma.problem}`);
  const peer = "version" in chroma ? chroma : null;
  const measured: SetFigures[] = [];
  const bars: Bar[] = [];
  for (const name of options.sets) {
    const figures = await measureSet(searchSet(name, { rows, dimension, queries }), peer, options);
    printSet(figures, peer?.version ?? null);
    measured.push(figures);
    bars.push(...barsOf(figures));
  }
  const sparse =
    options.only === null || options.only.has("bm25s") ? await compareSparse(options, bars) : null;
  const growth = options.growth ? await measureGrowth(options) : [];
  if (options.json !== null) {
    const machine = { cpu: cpus()[0]?.model.trim(), cores: availableParallelism(), node: process.version };
    const chromaVersion = peer?.version ?? null;
    writeFileSync(
      options.json,
      `${JSON.stringify({ machine, chromaVersion, measured, sparse, bars, growth }, null, 2)}\n`,
    );
  }
  const judged = rows === BAR_ROWS && dimension === BAR_DIMENSION;
  if (!judged)
    console.log(`The bars are for ${BAR_ROWS} x ${BAR_DIMENSION}; at this size they decide nothing:`);
  return reportBars(bars) || !judged;
}

async function compareSparse({ rows, queries }: BenchmarkOptions, bars: Bar[]): Promise<SparseFigures> {
  const figures = await measureSparse(rows, queries);
  const { engineMs, bm25s } = figures;
  const own = `Sparse top 100 in the engine alone: ${engineMs.toFixed(2)} ms`;
  if ("problem" in bm25s) console.log(`${own}; bm25s not run: ${bm25s.problem}\n`);
  else {
    const { version, ms } = bm25s.figures;
    console.log(`${own}; bm25s ${version}: ${ms.toFixed(2)} ms\n`);
    bars.push(sparseBar(engineMs, ms));
  }
  return figures;
}

let options: BenchmarkOptions | null = null;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
}
if (options === null) process.exitCode = 2;
else {
  console.log(
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(`Node ${process.version}`);
  process.exitCode = (await main(options)) ? 0 : 1;
}
