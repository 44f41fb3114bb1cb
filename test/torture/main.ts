/**
 * `npm run torture -- --cycles N`: kills a real server in the middle of mixed writes, again and again, and compares
 * with its own log. Ends with 1 at the first broken promise, names it, and keeps the data folder.
 */
import { rm } from "node:fs/promises";
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError, Option } from "commander";
import { temporaryFolder } from "../e2e/testing/served-sheaf.ts";
import { reportCluster } from "./cluster/report-cluster.ts";
import { Tally } from "./tally.ts";
import { type CycleReport, type TortureOptions, torture } from "./torture.ts";
import { Violation } from "./violation.ts";

interface Flags {
  readonly cycles: number;
  readonly seed: number;
  readonly writers: number;
  readonly kill: TortureOptions["kill"];
  readonly indexFiles: string;
  readonly sharedStores: string;
  readonly loseIndexFiles?: boolean;
  readonly keepData?: boolean;
  readonly cluster?: boolean;
  readonly servers: number;
}

const LARGEST_SEED = 2 ** 31;

const flags = new Command("torture")
  .description(
    "Kills a server in the middle of mixed writes and compares with a log of its acknowledgements.",
  )
  .option("--cycles <number>", "how often it is killed", parseCount, 30)
  .option("--seed <number>", "repeats the choices of a run", parseCount, Date.now() % LARGEST_SEED)
  .option("--writers <number>", "writers at a time", parseCount, 8)
  .addOption(
    new Option("--kill <victim>", "what is killed")
      .choices(["gateway", "host", "group", "mixed"])
      .default("mixed"),
  )
  .option("--index-files <on|off|sizes>", "as SHEAF_INDEX_FILES", "on")
  .option("--shared-stores <on|off|limits>", "as SHEAF_SHARED_STORES; of a,b each start takes the next", "on")
  .option("--lose-index-files", "damage index files before each cycle, while the server uses them")
  .option(
    "--cluster",
    "several servers on one PostgreSQL database; --kill and what follows it does not count",
  )
  .option("--servers <number>", "with --cluster", parseCount, 3)
  .option("--keep-data", "keep the data folder of a run without violations too")
  .parse()
  .opts<Flags>();

process.exitCode = flags.cluster === true ? await reportCluster(flags) : await main(flags);

async function main({ keepData = false, loseIndexFiles = false, ...run }: Flags): Promise<number> {
  const { cycles, seed, writers, kill, indexFiles, sharedStores } = run;
  const data = await temporaryFolder();
  const tally = new Tally();
  const discard = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
  console.log(
    `torture: ${cycles} cycles, seed ${seed}, ${writers} writers, killing ${kill}, index files ${indexFiles}, shared stores ${sharedStores}${loseIndexFiles ? " (damaged now and then)" : ""}, data in ${data}`,
  );
  const progress = showProgress(cycles);
  const started = performance.now();
  let violation: Violation | null = null;
  try {
    await torture({
      ...run,
      losesIndexFiles: loseIndexFiles,
      data,
      discard,
      tally,
      onCycle: progress.report,
    });
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
  } finally {
    progress.stop();
  }
  console.log(`\n${tally.table(violation === null ? 0 : 1)}\n`);
  const seconds = Math.round((performance.now() - started) / 1_000);
  if (violation === null) {
    console.log(`${tally.cycles} cycles in ${seconds} s, seed ${seed}: nothing acknowledged was lost`);
    if (keepData) console.log(`the data is kept in ${data}`);
    else await discard(data);
    return 0;
  }
  console.error(`VIOLATION: ${violation.message}`);
  return 1;
}

interface Progress {
  readonly report: (cycle: CycleReport) => void;
  readonly stop: () => void;
}

/** A bar where somebody watches, else a line for each cycle. */
function showProgress(cycles: number): Progress {
  if (!process.stderr.isTTY)
    return { report: (cycle) => console.log(describe(cycle, cycles)), stop: () => {} };
  const bar = new SingleBar({ format: "{bar} {value}/{total} cycles, {eta_formatted} left" });
  bar.start(cycles, 0);
  return { report: ({ cycle }) => bar.update(cycle), stop: () => bar.stop() };
}

function describe(
  { cycle, victim, killedAfterMs, acknowledged, unknown, ms }: CycleReport,
  of: number,
): string {
  const when = `${victim} killed after ${Math.round(killedAfterMs)} ms`;
  return `${cycle}/${of}: ${when}, ${acknowledged} acknowledged, ${unknown} unknown, ${Math.round(ms)} ms`;
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError("a whole number from 1 on");
  return count;
}
