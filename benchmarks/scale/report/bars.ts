/** What Sheaf has to hold at a million records, from the figures of one set. What was not measured is left out. */
import type { Bar } from "../../measure/bar.ts";
import { SCALE_FILTERS } from "../data/large-set.ts";
import { STATES, type ScaleFigures } from "../scale-figures.ts";

const RECALL = 0.99;
/** By dimension; the larger ones hold for what is between. */
const SIZES = [
  { dimension: 384, p50: 1.5, restSeconds: 60 },
  { dimension: 1_024, p50: 3, restSeconds: 180 },
] as const;
/** Of searches with no more than this memory, GiB: slower, but nothing slow. */
const SMALL_MEMORY = 0.5;
const SMALL_P50 = 4;
const SMALL_P99 = 100;
/** What the processes below the gateway may hold over the setting, MiB. */
const MEMORY_MARGIN = 300;

export function barsOf(figures: ScaleFigures): readonly Bar[] {
  const size = SIZES.find(({ dimension }) => figures.dimension <= dimension) ?? SIZES[1];
  return [
    ...recallBars(figures),
    ...latencyBars(figures, size.p50),
    ...loadBars(figures, size.restSeconds),
    ...openingBars(figures),
    ...memoryBars(figures),
  ].filter(({ measured }) => !Number.isNaN(measured));
}

function recallBars({ set, searches }: ScaleFigures): readonly Bar[] {
  return STATES.flatMap((state) =>
    SCALE_FILTERS.flatMap((filter) => {
      const recall = searches[state]?.[filter]?.recall ?? Number.NaN;
      return [atLeast(`${set}, recall@10, ${filter}, ${state}`, recall, RECALL, 4)];
    }),
  );
}

function latencyBars(figures: ScaleFigures, most: number): readonly Bar[] {
  const { set, searches, throughput, newFiltersSettled, load, restarted } = figures;
  const settled = searches.settled ?? {};
  const memory = memorySetting(figures.serve);
  const isSmall = memory !== null && memory <= SMALL_MEMORY;
  const rows = SCALE_FILTERS.flatMap((filter) => [
    atMost(`${set}, p50 ms, ${filter}`, settled[filter]?.p50, isSmall ? SMALL_P50 : most),
    atMost(`${set}, p99 ms, ${filter}`, settled[filter]?.p99, isSmall ? SMALL_P99 : 10),
  ]);
  const overSettled = (state: "fresh" | "restarted"): number =>
    (searches[state]?.all?.p50 ?? Number.NaN) / (settled.all?.p50 ?? Number.NaN);
  return [
    ...rows,
    atMost(`${set}, p50 right after the last write over the settled one`, overSettled("fresh"), 2),
    atMost(
      `${set}, p50 of the first queries after a restart over the settled one`,
      overSettled("restarted"),
      2,
    ),
    atLeast(`${set}, requests/s of eight clients`, throughput, 800, 0),
    atMost(`${set}, first query of a new filter, ms, while writing`, load?.newFilters.max, 50, 1),
    atMost(`${set}, first query of a new filter, ms, settled`, newFiltersSettled?.max, 50, 1),
    atMost(`${set}, first query of a new filter, ms, after a restart`, restarted?.newFilters.max, 50, 1),
  ];
}

function loadBars({ set, load, restSeconds }: ScaleFigures, mostRest: number): readonly Bar[] {
  const alone = load?.alone.recordsPerSecond;
  const overFloor = (alone ?? Number.NaN) / (load?.floor ?? Number.NaN);
  return [
    atLeast(`${set}, load over the floor`, overFloor, 0.6, 3),
    atLeast(`${set}, load, records/s`, alone, 6_000, 0),
    atLeast(`${set}, load beside searches, records/s`, load?.besideSearches.recordsPerSecond, 5_000, 0),
    atMost(`${set}, p99 ms of searches beside it`, load?.searches.p99, 25, 1),
    atMost(`${set}, rest after the last write, s`, restSeconds, mostRest, 1),
  ];
}

function openingBars({ set, restarted }: ScaleFigures): readonly Bar[] {
  const { firstAnswerMs = Number.NaN, firstSearchMs = Number.NaN } = restarted ?? {};
  return [
    atMost(`${set}, start to the first answer, ms`, firstAnswerMs, 600, 0),
    atMost(`${set}, from there to the first complete search, ms`, firstSearchMs - firstAnswerMs, 500, 0),
  ];
}

/** Only where the server was given a setting. */
function memoryBars({ set, serve, memory }: ScaleFigures): readonly Bar[] {
  const setting = memorySetting(serve);
  if (setting === null) return [];
  return Object.entries(memory).map(([phase, { below }]) =>
    atMost(
      `${set}, memory of host, indexer and workers, MiB, ${phase}`,
      below,
      1_024 * setting + MEMORY_MARGIN,
      0,
    ),
  );
}

/** GiB. */
function memorySetting(serve: readonly string[]): number | null {
  const text = serve.join(" ");
  const given = /--(?:index|vector)-memory[ =](\S+)/u.exec(text)?.[1];
  return given === undefined ? null : Number(given);
}

function atMost(name: string, measured: number | null | undefined, bound: number, digits = 2): Bar {
  return { name, measured: measured ?? Number.NaN, bound, side: "at most", digits };
}

function atLeast(name: string, measured: number | null | undefined, bound: number, digits = 2): Bar {
  return { name, measured: measured ?? Number.NaN, bound, side: "at least", digits };
}
