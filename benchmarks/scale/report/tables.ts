/** Prints the figures of a set as Markdown. */
import { textTable } from "../../measure/text-table.ts";
import { SCALE_FILTERS, type ScaleFilter } from "../data/large-set.ts";
import type { ScaleOptions } from "../options.ts";
import type { AskedFigures } from "../phases/ask-queries.ts";
import type { WriteFigures } from "../phases/loading.ts";
import { type OpenedFigures, STATES, type ScaleFigures, type State } from "../scale-figures.ts";

const FILTER_LABELS: Readonly<Record<ScaleFilter, string>> = {
  all: "unfiltered",
  half: "50 %",
  f5: "5 %",
  f01: "0.1 %",
  adversarial: "5 %, adversarial",
};
const STATE_LABELS: Readonly<Record<State, string>> = {
  fresh: "right after the last write",
  settled: "settled",
  restarted: "after a restart",
  cold: "after a restart, cold page cache",
};

export function printSet(figures: ScaleFigures, options: ScaleOptions): void {
  const { set, rows, dimension, topCosine, serve } = figures;
  const flags = serve.length === 0 ? "default settings" : serve.join(" ");
  console.log(`\n## ${set}: ${rows} x ${dimension}, ${flags}\n`);
  console.log(`Mean cosine of a query to the nearest record ${topCosine.toFixed(3)}.\n`);
  const header = ["searches", "p50 ms", "p99", "max", "recall@10", "failed", "over faiss", "over floor"];
  console.log(`${textTable(header, searchRows(figures))}\n`);
  printFaiss(figures);
  console.log(`${textTable(["", "measured", "floor", "over floor"], singleRows(figures, options))}\n`);
  if (figures.cold !== null) console.log(`Cold page cache: ${figures.cold.eviction.method}.\n`);
  const foreign = Object.entries(figures.foreignCores).map(
    ([phase, cores]) => `${phase} ${cores.toFixed(2)}`,
  );
  console.log(`Cores that other programs took meanwhile: ${foreign.join(", ")}.\n`);
  const memory = Object.entries(figures.memory).map(([phase, { whole, below }]) => [
    phase,
    below.toFixed(0),
    whole.toFixed(0),
  ]);
  console.log(
    `${textTable(["peak of anonymous and shared memory, MiB", "host, indexer, workers", "with the gateway"], memory)}\n`,
  );
}

function searchRows({ searches, faiss, floor }: ScaleFigures): string[][] {
  return STATES.flatMap((state) =>
    SCALE_FILTERS.flatMap((filter) => {
      const row = searches[state]?.[filter];
      if (row === undefined) return [];
      const peer = faiss !== null && "figures" in faiss ? faiss.figures.filters[filter]?.ms : undefined;
      const overFloor = state === "settled" ? floor[filter]?.ratio : undefined;
      return [
        [
          `${FILTER_LABELS[filter]}, ${STATE_LABELS[state]}`,
          row.p50.toFixed(2),
          row.p99.toFixed(2),
          row.max?.toFixed(1) ?? "",
          row.recall?.toFixed(4) ?? "",
          failureText(row),
          peer === undefined ? "" : (row.p50 / peer).toFixed(2),
          overFloor?.toFixed(2) ?? "",
        ],
      ];
    }),
  );
}

function failureText({ failures = {}, short = 0 }: Partial<AskedFigures>): string {
  const all = Object.entries(failures).map(([status, count]) => `${count} x ${status}`);
  return [...all, ...(short > 0 ? [`${short} short`] : [])].join(", ");
}

function printFaiss({ faiss }: ScaleFigures): void {
  if (faiss === null) return;
  if ("problem" in faiss) {
    console.log(`faiss: not run: ${faiss.problem}\n`);
    return;
  }
  const { version, filters } = faiss.figures;
  const rows = SCALE_FILTERS.map((filter) => {
    const best = filters[filter];
    if (best === null) return [FILTER_LABELS[filter], "", "", "no setting reaches 0.99"];
    return [FILTER_LABELS[filter], best.ms.toFixed(2), best.recall.toFixed(4), best.setting];
  });
  const header = [`faiss-cpu ${version}, one thread, no server`, "p50 ms", "recall@10", "setting"];
  console.log(`${textTable(header, rows)}\n`);
}

function singleRows(figures: ScaleFigures, { batch, encoding, inFlight }: ScaleOptions): string[][] {
  const { load, restSeconds, throughput, newFiltersSettled, restarted, cold, disk } = figures;
  const rows: string[][] = [];
  const add = (label: string, measured: string, ...others: string[]): void => {
    rows.push([label, measured, ...others]);
  };
  if (load !== null) {
    const { floor, alone } = load;
    const form = `batches of ${batch}, embeddings as ${encoding}, ${inFlight} at a time, ${load.bytesPerRecord.toFixed(0)} bytes a record`;
    const ratio = floor === null ? [] : [floor.toFixed(0), (alone.recordsPerSecond / floor).toFixed(3)];
    add(`load of the first ${load.rows}, records/s (${form})`, alone.recordsPerSecond.toFixed(0), ...ratio);
    addWrites(add, alone);
    add("load beside a searching client, records/s", load.besideSearches.recordsPerSecond.toFixed(0));
    addWrites(add, load.besideSearches);
    addAsked(add, "searches beside it", load.searches);
    addAsked(add, "first queries of new filters while writing", load.newFilters);
  }
  if (restSeconds !== null) add("from the last write to rest, s", restSeconds.toFixed(1));
  if (newFiltersSettled !== null) addAsked(add, "first queries of new filters, settled", newFiltersSettled);
  if (throughput !== null) add("requests/s, 8 clients, unfiltered", throughput.toFixed(0));
  if (restarted !== null) addOpened(add, "restart", restarted);
  if (cold !== null) {
    addOpened(add, "cold restart", cold);
    const { before, after } = cold.eviction;
    add(
      "data folder in the page cache, MiB, before and after eviction",
      `${mebibytes(before)}, ${mebibytes(after)}`,
    );
  }
  if (disk !== null) add("disk, MiB: store, index", `${disk.store.toFixed(0)}, ${disk.index.toFixed(0)}`);
  return rows;
}

type Add = (label: string, measured: string, ...others: string[]) => void;

function addWrites(add: Add, writes: WriteFigures): void {
  const { recordsPerSecond, clientCores, serverCores, batchP50, batchP99, refusals } = writes;
  const spent = (cores: number): string =>
    `${cores.toFixed(2)} (${((1e6 * cores) / recordsPerSecond).toFixed(0)})`;
  add("… processor, cores (µs a record): client, server", `${spent(clientCores)}, ${spent(serverCores)}`);
  add("… a batch, ms, p50 / p99", `${batchP50.toFixed(0)} / ${batchP99.toFixed(0)}`);
  if (refusals > 0) add("… batches answered 429 or 503 and sent again", String(refusals));
}

function addAsked(add: Add, label: string, asked: AskedFigures): void {
  const { requests, p50, p99, max } = asked;
  const failed = failureText(asked);
  const times = `${p50.toFixed(2)} / ${p99.toFixed(1)} / ${max.toFixed(1)}`;
  add(`${label}, ms, p50 / p99 / max of ${requests}`, failed === "" ? times : `${times}; ${failed}`);
}

function addOpened(add: Add, label: string, opened: OpenedFigures): void {
  const { firstAnswerMs, firstSearchMs, before, restSeconds, newFilters } = opened;
  const outcomes = Object.entries(before).map(([outcome, count]) => `${count} x ${outcome}`);
  const text = outcomes.length === 0 ? "" : ` (before it: ${outcomes.join(", ")})`;
  add(`${label}: start to the first answer, ms`, firstAnswerMs.toFixed(0));
  add(`${label}: start to the first complete search, ms${text}`, firstSearchMs.toFixed(0));
  addAsked(add, `${label}: first queries of new filters`, newFilters);
  add(`${label}: start to rest, the searches included, s`, restSeconds.toFixed(1));
}

function mebibytes(value: number | null): string {
  return value === null ? "unknown" : value.toFixed(0);
}
