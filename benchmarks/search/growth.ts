/** How Sheaf's figures grow with the number of records. */
import { textTable } from "../measure/text-table.ts";
import { measureSet } from "./measure-set.ts";
import type { BenchmarkOptions } from "./options.ts";
import { searchSet } from "./workload/search-set.ts";
import type { SetFigures } from "./report/set-figures.ts";

const SIZES = [10_000, 100_000, 300_000];
const MILLION = 1_000_000;
const QUERIES = 100;
const ROWS = ["all", "half", "f5", "f01", "adversarial"];

export async function measureGrowth(options: BenchmarkOptions): Promise<readonly SetFigures[]> {
  const { dimension, sets, million } = options;
  const measured: SetFigures[] = [];
  for (const name of sets) {
    for (const rows of million ? [...SIZES, MILLION] : SIZES) {
      const set = searchSet(name, { rows, dimension, queries: QUERIES });
      measured.push(await measureSet(set, null, { only: new Set([...ROWS, "qps all"]) }));
    }
    printGrowth(measured.filter(({ set }) => set === name));
  }
  return measured;
}

function printGrowth(measured: readonly SetFigures[]): void {
  const [first] = measured;
  console.log(`\n## Sheaf as it grows: ${first?.set}, ${first?.dimension} dimensions, p50 ms (recall@10)\n`);
  const header = ["rows", ...ROWS, "requests/s", "insert/s", "rest s", "MiB", "disk MiB", "start ms"];
  const rows = measured.map(({ rows, latency, throughput, ...single }) => [
    String(rows),
    ...ROWS.map((row) => {
      const { p50 = Number.NaN, recall = null } = latency[row]?.Sheaf ?? {};
      return `${p50.toFixed(2)} (${recall?.toFixed(3)})`;
    }),
    throughput["all"]?.Sheaf?.toFixed(0) ?? "",
    single.insert.Sheaf?.toFixed(0) ?? "",
    single.settle.Sheaf?.toFixed(1) ?? "",
    single.memoryAfterQueries.Sheaf?.toFixed(0) ?? "",
    single.disk.Sheaf?.toFixed(0) ?? "",
    single.restart.Sheaf?.toFixed(0) ?? "",
  ]);
  console.log(`${textTable(header, rows)}\n`);
}
