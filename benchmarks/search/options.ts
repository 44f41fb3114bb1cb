/** What a run measures, as its flags say. */
import { parseArgs } from "node:util";

export const SET_NAMES = ["clusters", "topics"] as const;
export type SetName = (typeof SET_NAMES)[number];

export interface BenchmarkOptions {
  readonly rows: number;
  readonly dimension: number;
  readonly sets: readonly SetName[];
  /** Different queries, each asked about once in each row of the table. */
  readonly queries: number;
  readonly chroma: boolean;
  readonly growth: boolean;
  /** Whether the growth table goes on to a million rows. */
  readonly million: boolean;
  /** Where to write the figures as JSON; `null`: nowhere. */
  readonly json: string | null;
  /** Ids of the rows to measure; `null`: all. */
  readonly only: ReadonlySet<string> | null;
}

export const USAGE = `npm run bench:search -- [--rows 100000] [--dim 384] [--set clusters|topics|both] [--queries 300]
  [--only ROW,ROW…] [--skip-chroma] [--growth] [--million] [--json FILE]`;

/** Throws an `Error` for flags that are none of these. */
export function readOptions(args: readonly string[]): BenchmarkOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: "string", default: "100000" },
      dim: { type: "string", default: "384" },
      set: { type: "string", default: "both" },
      queries: { type: "string", default: "300" },
      only: { type: "string" },
      "skip-chroma": { type: "boolean", default: false },
      growth: { type: "boolean", default: false },
      million: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  return {
    rows: positive("rows", values.rows),
    dimension: positive("dim", values.dim),
    sets: values.set === "both" ? SET_NAMES : [setName(values.set)],
    queries: positive("queries", values.queries),
    chroma: !values["skip-chroma"],
    growth: values.growth || values.million,
    million: values.million,
    json: values.json ?? null,
    only: values.only === undefined ? null : new Set(values.only.split(",")),
  };
}

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name} must be a positive whole number`);
  return Number(text);
}

function setName(text: string): SetName {
  const name = SET_NAMES.find((candidate) => candidate === text);
  if (name === undefined) throw new Error(`--set must be both or one of ${SET_NAMES.join(", ")}`);
  return name;
}
