/**
 * Parameters of the two vector indexes that clients know. Sheaf builds neither of them: its own index has no such
 * knobs, so the values are checked, kept and returned, and change nothing. A collection that asks for `spann` keeps
 * `spann` (where the single-node server turned it into `hnsw` and dropped all but the space), so that a description
 * moves between servers unchanged; without either, `hnsw` is what a client reads.
 */
import { invalid, unprocessable } from "../errors.ts";
import { JsonFloat } from "../json/json-float.ts";
import { listOf, type Refuse } from "../json/json-shape.ts";
import type { Json, JsonObject } from "./ast.ts";
import type { BodyReader } from "./body-reader.ts";

export type IndexKind = "hnsw" | "spann";

interface Parameter {
  /** `count` is a non-negative integer, `factor` any finite number. */
  readonly kind: "count" | "factor" | "quantization";
  /** `null`: absent unless asked for. */
  readonly default: number | null;
  readonly min?: number;
  readonly max?: number;
}

type ParameterTable = Readonly<Record<string, Parameter>>;

const HNSW: ParameterTable = {
  ef_construction: { kind: "count", default: 100 },
  max_neighbors: { kind: "count", default: 16 },
  ef_search: { kind: "count", default: 100 },
  // Clients expect a number; it is the same on every machine because a description must survive a move.
  num_threads: { kind: "count", default: 1 },
  batch_size: { kind: "count", default: 100, min: 2 },
  sync_threshold: { kind: "count", default: 1000, min: 2 },
  resize_factor: { kind: "factor", default: 1.2 },
};

const SPANN: ParameterTable = {
  search_nprobe: { kind: "count", default: 64, max: 128 },
  write_nprobe: { kind: "count", default: 32 },
  ef_construction: { kind: "count", default: 200, max: 200 },
  ef_search: { kind: "count", default: 200, max: 200 },
  max_neighbors: { kind: "count", default: 64 },
  reassign_neighbor_count: { kind: "count", default: 64 },
  split_threshold: { kind: "count", default: 50, min: 25, max: 200 },
  merge_threshold: { kind: "count", default: 25, min: 12, max: 100 },
  search_rng_factor: { kind: "factor", default: null },
  search_rng_epsilon: { kind: "factor", default: null },
  write_rng_factor: { kind: "factor", default: null },
  write_rng_epsilon: { kind: "factor", default: null },
  nreplica_count: { kind: "count", default: null },
  num_samples_kmeans: { kind: "count", default: null },
  initial_lambda: { kind: "factor", default: null },
  num_centers_to_merge_to: { kind: "count", default: null },
  center_drift_threshold: { kind: "factor", default: null },
  quantize: { kind: "quantization", default: null },
};

const TABLES: Readonly<Record<IndexKind, ParameterTable>> = { hnsw: HNSW, spann: SPANN };

/** What `configuration_json` shows of an index, in its order. */
export const SHOWN_PARAMETERS: Readonly<Record<IndexKind, readonly string[]>> = {
  hnsw: ["space", "ef_construction", "ef_search", "max_neighbors", "resize_factor", "sync_threshold"],
  spann: [
    "search_nprobe",
    "write_nprobe",
    "space",
    "ef_construction",
    "ef_search",
    "max_neighbors",
    "reassign_neighbor_count",
    "split_threshold",
    "merge_threshold",
  ],
};

/** What `new_configuration` may change. */
export const MUTABLE_PARAMETERS: Readonly<Record<IndexKind, readonly string[]>> = {
  hnsw: ["ef_search", "max_neighbors", "num_threads", "resize_factor", "sync_threshold", "batch_size"],
  spann: ["search_nprobe", "ef_search"],
};

const QUANTIZATIONS: readonly string[] = ["none", "four_bit_rabit_q_with_u_search"];

/** Largest count any client writes; also keeps the numbers exact everywhere. */
const LARGEST_COUNT = 2 ** 32 - 1;

export function parameterNames(kind: IndexKind): readonly string[] {
  return Object.keys(TABLES[kind]);
}

/** `asked` over the defaults, in the order in which a schema shows them. */
export function completeParameters(kind: IndexKind, asked: JsonObject): JsonObject {
  const members: [string, Json][] = [];
  for (const [name, parameter] of Object.entries(TABLES[kind])) {
    const value = asked[name] ?? parameter.default;
    if (value !== null) members.push([name, value]);
  }
  return Object.fromEntries(members);
}

/** How strictly a range is kept: the public `configuration` of `hnsw` has always taken `batch_size: 1`. */
export type Bounds = "strict" | "loose";

/**
 * Those of the parameters `names` that `reader` holds, as they were asked for.
 *
 * @throws SheafError 422 for a wrong type, 400 out of range.
 */
export function parseParameters(
  reader: BodyReader,
  kind: IndexKind,
  names: readonly string[],
  bounds: Bounds,
): JsonObject {
  const asked: [string, Json][] = [];
  for (const name of names) {
    const value = reader.get(name);
    if (value === undefined) continue;
    const at = { path: reader.pathOf(name), refuse: unprocessable, bounds };
    asked.push([name, parseParameter(kind, name, value, at)]);
  }
  return Object.fromEntries(asked);
}

interface ParameterPlace {
  readonly path: string;
  readonly refuse: Refuse;
  readonly bounds: Bounds;
}

/** One parameter of `parameterNames(kind)`. */
export function parseParameter(kind: IndexKind, name: string, value: unknown, at: ParameterPlace): Json {
  const parameter = TABLES[kind][name];
  if (parameter === undefined) throw at.refuse(at.path, "unknown parameter");
  if (parameter.kind === "quantization") {
    if (typeof value === "string" && QUANTIZATIONS.includes(value)) return value;
    throw at.refuse(at.path, `must be ${listOf(QUANTIZATIONS)}`);
  }
  const isFactor = parameter.kind === "factor";
  const number = isFactor ? parseFactor(value, at) : parseCount(value, at);
  if (at.bounds === "strict" || kind === "spann") checkRange(number, parameter, at.path);
  // A factor is a float to every client, however it was written.
  return isFactor && Number.isInteger(number) ? new JsonFloat(number) : number;
}

function parseFactor(value: unknown, at: ParameterPlace): number {
  const factor = value instanceof JsonFloat ? value.value : value;
  if (typeof factor !== "number") throw at.refuse(at.path, "must be a number");
  return factor;
}

function parseCount(value: unknown, at: ParameterPlace): number {
  const count = typeof value === "bigint" ? Number(value) : value;
  if (typeof count !== "number" || !Number.isInteger(count) || count < 0) {
    throw at.refuse(at.path, "must be a non-negative integer");
  }
  if (count > LARGEST_COUNT) throw invalid(at.path, `must be at most ${LARGEST_COUNT}`);
  return count;
}

function checkRange(value: number, parameter: Parameter, path: string): void {
  const { min = -Infinity, max = Infinity } = parameter;
  if (value < min) throw invalid(path, `must be at least ${min}`);
  if (value > max) throw invalid(path, `must be at most ${max}`);
}
