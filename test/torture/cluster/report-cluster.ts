/** The cluster lane as a command: a line for each cycle, and what it came to. */
import { rm } from "node:fs/promises";
import { median } from "../../../benchmarks/measure/statistics.ts";
import { textTable } from "../../../benchmarks/measure/text-table.ts";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { Tally } from "../tally.ts";
import { Violation } from "../violation.ts";
import { BESIDE_NAMES, MISHAP_NAMES } from "./mishaps.ts";
import { type ClusterCycle, tortureCluster } from "./torture-cluster.ts";

export interface ClusterFlags {
  readonly cycles: number;
  readonly seed: number;
  readonly writers: number;
  readonly servers: number;
}

/** The exit code. */
export async function reportCluster({ cycles, seed, writers, servers }: ClusterFlags): Promise<number> {
  console.log(
    `torture: ${servers} search nodes, two gateways and an index node on one database, ${cycles} cycles, seed ${seed}, ${writers} writers`,
  );
  const data = await temporaryFolder();
  const tally = new Tally();
  const done: ClusterCycle[] = [];
  const onCycle = (cycle: ClusterCycle): void => {
    done.push(cycle);
    console.log(describe(cycle, cycles));
  };
  const started = performance.now();
  let violation: Violation | null = null;
  try {
    await tortureCluster({ cycles, seed, writers, servers, data, tally, onCycle });
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
  console.log(`\n${tally.operationsTable()}\n\n${mishapsTable(done)}\n`);
  const seconds = Math.round((performance.now() - started) / 1_000);
  if (violation === null) {
    console.log(`${tally.cycles} cycles in ${seconds} s, seed ${seed}: nothing acknowledged was lost`);
    return 0;
  }
  console.error(`VIOLATION: ${violation.message}`);
  return 1;
}

function describe(
  { cycle, mishap, beside, acknowledged, unknown, goesOnMs, ms }: ClusterCycle,
  of: number,
): string {
  const counts = `${acknowledged} acknowledged, ${unknown} unknown`;
  return `${cycle}/${of}: ${mishap}, ${beside}: ${counts}, goes on after ${Math.round(goesOnMs)} ms; ${Math.round(ms)} ms`;
}

function mishapsTable(cycles: readonly ClusterCycle[]): string {
  const rows = [...MISHAP_NAMES, ...BESIDE_NAMES].map((name) => {
    const times = cycles
      .filter(({ mishap, beside }) => mishap === name || beside === name)
      .map(({ goesOnMs }) => goesOnMs);
    if (times.length === 0) return [name, "0", "", ""];
    return [name, `${times.length}`, median(times).toFixed(0), Math.max(...times).toFixed(0)];
  });
  return textTable(["what happened", "times", "median ms until a write", "longest ms"], rows);
}
