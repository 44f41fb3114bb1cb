/** What Sheaf has to clear, from the figures of one set. A bar without both of its figures is left out. */
import type { Bar } from "../../measure/bar.ts";
import { type Contender, latencyRatio } from "../measured-row.ts";
import type { Cells, SetFigures } from "./set-figures.ts";

/** Rows of the dense collection that have an exact answer. */
const RECALL_ROWS = [
  "all",
  "half",
  "f5",
  "f01",
  "adversarial",
  "substring",
  "regex",
  "alternatives",
  "caseless",
  "documents",
];
const FLOOR_BOUNDS: Readonly<Record<string, number>> = {
  all: 2.5,
  half: 3.2,
  f5: 3.2,
  adversarial: 3.2,
  f01: 1.9,
};
const RECALL = 0.99;
/** A hybrid search may take longer than its slower leaf by this factor. */
const HYBRID_BOUND = 1.2;

export function barsOf(figures: SetFigures): readonly Bar[] {
  const { set, latency, throughput } = figures;
  const bars: Bar[] = [];
  const add = (name: string, measured: number | undefined, bound: Omit<Bar, "name" | "measured">): void => {
    if (measured !== undefined && !Number.isNaN(measured))
      bars.push({ name: `${set}, ${name}`, measured, ...bound });
  };
  const atMost = (bound: number, digits = 3) => ({ bound, side: "at most", digits }) as const;
  const atLeast = (bound: number, digits = 2) => ({ bound, side: "at least", digits }) as const;
  const over = (row: string, contender: Contender): number | undefined =>
    latencyRatio(latency[row]?.Sheaf, latency[row]?.[contender]);
  for (const row of RECALL_ROWS)
    add(`recall@10, ${row}`, latency[row]?.Sheaf?.recall ?? undefined, atLeast(RECALL, 4));
  for (const [row, bound] of Object.entries(FLOOR_BOUNDS))
    add(`p50 over the floor, ${row}`, over(row, "floor"), atMost(bound, 2));
  add("p50 over Chroma's, all", over("all", "Chroma"), atMost(0.4));
  add("p50 over Chroma's, half", over("half", "Chroma"), atMost(0.02, 4));
  add("p50 over Chroma's, regular expression, alternatives", over("alternatives", "Chroma"), atMost(0.3));
  add("p50 over Chroma's, regular expression, (?i)", over("caseless", "Chroma"), atMost(0.3));
  add("p50 over Chroma's, single upsert", over("upsert", "Chroma"), atMost(0.15));
  add("requests a second over Chroma's", ratio(throughput["all"] ?? {}, "Chroma"), atLeast(5));
  add("batch insert over Chroma's", ratio(figures.insert, "Chroma"), atLeast(8));
  add("memory over Chroma's, after the load", ratio(figures.memoryAfterLoad, "Chroma"), atMost(1));
  add("memory over Chroma's, after the queries", ratio(figures.memoryAfterQueries, "Chroma"), atMost(1));
  const [sparse, dense] = [latency["sparse"]?.Sheaf, latency["dense leaf"]?.Sheaf];
  if (sparse !== undefined && dense !== undefined) {
    const grouped = latencyRatio(latency["grouped"]?.Sheaf, sparse.p50 > dense.p50 ? sparse : dense);
    add("hybrid, grouped, over its slower leaf", grouped, atMost(HYBRID_BOUND, 2));
  }
  return bars;
}

export function ratio(cells: Cells, to: "Chroma" | "floor"): number | undefined {
  const { Sheaf: own, [to]: other } = cells;
  return own === undefined || other === undefined ? undefined : own / other;
}
