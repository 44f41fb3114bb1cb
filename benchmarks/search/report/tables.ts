/** Prints the figures of a set as Markdown. */
import { textTable } from "../../measure/text-table.ts";
import { ratio } from "./bars.ts";
import { type Figures, latencyRatio } from "../measured-row.ts";
import type { Cells, SetFigures } from "./set-figures.ts";
import { HYBRID_ROWS, QUERY_ROWS, THROUGHPUT_ROWS, UPSERT_ROW } from "./table-rows.ts";

export function printSet(figures: SetFigures, chromaVersion: string | null): void {
  const { set, rows, dimension, topCosine } = figures;
  console.log(
    `\n## ${set}: ${rows} x ${dimension}, mean cosine to the nearest record ${topCosine.toFixed(3)}\n`,
  );
  const peer = `Chroma ${chromaVersion ?? "(not run)"}`;
  const over = ["over peer", "over floor", "over pair"];
  const header = ["p50 / p99 ms", "Sheaf", "recall", peer, "recall", "floor p50", "pair p50", ...over];
  console.log(`${textTable(header, latencyRows(figures))}\n`);
  console.log(`${textTable(["", "Sheaf", peer, "floor", "pair", "over peer"], singleRows(figures))}\n`);
}

function latencyRows({ latency }: SetFigures): string[][] {
  return [...QUERY_ROWS, UPSERT_ROW, ...HYBRID_ROWS].flatMap(({ id, label }) => {
    const row = latency[id];
    if (row === undefined) return [];
    return [
      [
        label,
        times(row.Sheaf),
        share(row.Sheaf),
        times(row.Chroma),
        share(row.Chroma),
        row.floor?.p50.toFixed(2) ?? "",
        row.pair?.p50.toFixed(2) ?? "",
        latencyRatio(row.Sheaf, row.Chroma)?.toFixed(3) ?? "",
        latencyRatio(row.Sheaf, row.floor)?.toFixed(2) ?? "",
        latencyRatio(row.Sheaf, row.pair)?.toFixed(2) ?? "",
      ],
    ];
  });
}

function singleRows(figures: SetFigures): string[][] {
  const { insert, insertBase64, insertSparse, settle, memorySparse } = figures;
  const only = (value: number | null): Cells => (value === null ? {} : { Sheaf: value });
  const qps = THROUGHPUT_ROWS.map(({ id, label }): [string, Cells, number] => [
    `requests/s, 8 clients, ${label}`,
    figures.throughput[id] ?? {},
    0,
  ]);
  const all: readonly (readonly [string, Cells, number])[] = [
    ["insert, records/s in batches of 1,000", insert, 0],
    ["… embeddings as base64 (first 20,000)", only(insertBase64), 0],
    ["… sparse vectors as well", only(insertSparse), 0],
    ["from the last write to rest, s", settle, 1],
    ...qps,
    ["memory after the load, MiB", figures.memoryAfterLoad, 0],
    ["memory after a restart and the queries, MiB", figures.memoryAfterQueries, 0],
    ["… with sparse vectors as well, without a restart", only(memorySparse), 0],
    ["disk, MiB", figures.disk, 0],
    ["start to first answer, ms", figures.restart, 0],
  ];
  return all
    .filter(([, cells]) => Object.keys(cells).length > 0)
    .map(([label, cells, digits]) => [
      label,
      cells.Sheaf?.toFixed(digits) ?? "",
      cells.Chroma?.toFixed(digits) ?? "",
      cells.floor?.toFixed(digits) ?? "",
      cells.pair?.toFixed(digits) ?? "",
      ratio(cells, "Chroma")?.toFixed(2) ?? "",
    ]);
}

function times(figures: Figures | undefined): string {
  return figures === undefined ? "" : `${figures.p50.toFixed(2)} / ${figures.p99.toFixed(2)}`;
}

function share(figures: Figures | undefined): string {
  return figures?.recall?.toFixed(4) ?? "";
}
