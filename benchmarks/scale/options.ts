/** What a run measures, as its flags say. */
import { parseArgs } from "node:util";
import { SET_NAMES, type SetName } from "../search/options.ts";
import { ENCODINGS, type Encoding } from "./load/write-body.ts";

/** `load`: writes, and searches beside and right after them. The others need a folder that was loaded before. */
export const PHASES = ["load", "settled", "restart", "cold", "faiss"] as const;
export type Phase = (typeof PHASES)[number];

export interface ScaleOptions {
  readonly rows: number;
  readonly dimension: number;
  readonly sets: readonly SetName[];
  readonly queries: number;
  readonly phases: ReadonlySet<Phase>;
  /** Records of a write. */
  readonly batch: number;
  readonly encoding: Encoding;
  /** Writes at a time. */
  readonly inFlight: number;
  /** Flags of `sheaf serve`. */
  readonly serve: readonly string[];
  /** Folder for the servers' data, one for each set, which stays; `null`: a temporary one. */
  readonly data: string | null;
  readonly json: string | null;
  /** Only makes the sets and their exact answers. */
  readonly prepare: boolean;
  /** Asks each question once, after no warm-up, and beside no bare server: for tests, which look at answers only. */
  readonly untimed: boolean;
}

export const USAGE = `npm run bench:scale -- [--rows 1000000] [--dimensions 384] [--set clusters|topics|both] [--queries 300]
  [--batch 1000] [--encoding lists|base64] [--in-flight 2] [--serve "FLAGS OF sheaf serve"] [--phases ${PHASES.join(",")}]
  [--data FOLDER] [--skip-faiss] [--prepare] [--json FILE]`;

/** Throws an `Error` for flags that are none of these. */
export function readOptions(args: readonly string[]): ScaleOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: "string", default: "1000000" },
      dimensions: { type: "string", default: "384" },
      set: { type: "string", default: "both" },
      queries: { type: "string", default: "300" },
      batch: { type: "string", default: "1000" },
      encoding: { type: "string", default: "lists" },
      "in-flight": { type: "string", default: "2" },
      serve: { type: "string", default: "" },
      phases: { type: "string", default: PHASES.join(",") },
      data: { type: "string" },
      "skip-faiss": { type: "boolean", default: false },
      prepare: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  const phases = new Set(values.phases.split(",").map((name) => choice("phases", name, PHASES)));
  if (values["skip-faiss"]) phases.delete("faiss");
  return {
    rows: positive("rows", values.rows),
    dimension: positive("dimensions", values.dimensions),
    sets: values.set === "both" ? SET_NAMES : [choice("set", values.set, SET_NAMES)],
    queries: positive("queries", values.queries),
    phases,
    batch: positive("batch", values.batch),
    encoding: choice("encoding", values.encoding, ENCODINGS),
    inFlight: positive("in-flight", values["in-flight"]),
    serve: values.serve.split(/\s+/u).filter((word) => word !== ""),
    data: values.data ?? null,
    json: values.json ?? null,
    prepare: values.prepare,
    untimed: false,
  };
}

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name} must be a positive whole number`);
  return Number(text);
}

function choice<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const chosen = choices.find((candidate) => candidate === text);
  if (chosen === undefined) throw new Error(`--${name}: "${text}" is none of ${choices.join(", ")}`);
  return chosen;
}
