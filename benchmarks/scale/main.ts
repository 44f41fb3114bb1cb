/**
 * `npm run bench:scale`: Sheaf over HTTP with a million records, authentication on: loading, searches in every state of
 * the index, opening, memory, disk; beside faiss and a bare server. Says which bars are held, and ends with status 0
 * where some are missed. The flags are in `options.ts`.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { type Bar, reportBars } from "../measure/bar.ts";
import { largeSet } from "./data/large-set.ts";
import { measureScale } from "./measure-scale.ts";
import { type ScaleOptions, USAGE, readOptions } from "./options.ts";
import { barsOf } from "./report/bars.ts";
import { printSet } from "./report/tables.ts";
import type { ScaleFigures } from "./scale-figures.ts";

/** The bars say nothing about other sizes. */
const BAR_ROWS = 1_000_000;
const BAR_DIMENSIONS: readonly number[] = [384, 1_024];

async function main(options: ScaleOptions): Promise<void> {
  const { rows, dimension, queries, json } = options;
  const measured: ScaleFigures[] = [];
  const bars: Bar[] = [];
  for (const name of options.sets) {
    const set = await largeSet(name, { rows, dimension, queries });
    if (options.prepare) continue;
    const figures = await measureScale(set, options);
    printSet(figures, options);
    measured.push(figures);
    bars.push(...barsOf(figures));
  }
  if (options.prepare) return;
  if (json !== null) {
    const machine = { cpu: cpus()[0]?.model.trim(), cores: availableParallelism(), node: process.version };
    const { batch, encoding, inFlight } = options;
    writeFileSync(
      json,
      `${JSON.stringify({ machine, batch, encoding, inFlight, measured, bars }, null, 2)}\n`,
    );
  }
  if (rows !== BAR_ROWS || !BAR_DIMENSIONS.includes(dimension))
    console.log(
      `The bars are for ${BAR_ROWS} x ${BAR_DIMENSIONS.join(" and ")}; at this size they decide nothing:`,
    );
  reportBars(bars);
}

let options: ScaleOptions | null = null;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
}
if (options === null) process.exitCode = 2;
else {
  const load = loadavg()[0]?.toFixed(1);
  console.log(
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, load ${load}, Node ${process.version}`,
  );
  await main(options);
}
