/**
 * How the server embeds for a collection or a sparse index: its `embedding_function`, read. Clients store the
 * description of a function of theirs; the server has the models behind five of these names. Everything else stays
 * opaque and is embedded by clients alone.
 */
import { DEFAULT_TASKS, type TaskInstructions, type TaskTable } from "../embed/instruction.ts";
import { type ModelKind, describeUnknownModel, kindOfModel } from "../embed/models.ts";
import { invalid } from "../errors.ts";
import { JsonFloat } from "../json/json-float.ts";
import { itemPath, memberPath, refuseUnknown } from "../json/json-shape.ts";
import type { Bm25Parameters, Json, JsonObject } from "./ast.ts";
import { isPlainObject, objectAt, valueAt } from "./plain-json.ts";

export interface Bm25Settings {
  /** Saturation of the term frequency. */
  readonly k?: number;
  /** Weight of the document length, 0 to 1. */
  readonly b?: number;
  /** In tokens. */
  readonly averageDocumentLength?: number;
  /** Longest token in characters; longer ones are dropped. */
  readonly tokenMaxLength?: number;
  readonly stopwords?: readonly string[];
  /** Vectors hold frequencies, which the index scores by the statistics of the collection. */
  readonly frequencies?: boolean;
}

export interface EmbeddingPlan {
  /** Model identifier. */
  readonly model: string;
  /** Model for queries where the function names one; `null`: the model's own choice. */
  readonly queryModel: string | null;
  readonly documentInstruction: string;
  readonly queryInstruction: string;
  /** Cut a document over the model's limit instead of refusing it. */
  readonly truncate: boolean;
  /** Store the terms behind the indices of a sparse vector with it. */
  readonly includeTokens: boolean;
  /** Settings of `sheaf/bm25`; `null` for other models. */
  readonly bm25: Bm25Settings | null;
}

type Planner = (config: JsonObject, path: string, table: TaskTable) => EmbeddingPlan;

const BM25_MODEL = "sheaf/bm25";
const STATISTICS = "statistics";
/** Those of `chroma_bm25`. */
const BM25_DEFAULTS: Bm25Parameters = { k: 1.2, b: 0.75 };
/** With a larger one all documents score by raw frequencies, and f32 has no room for the weights. */
const MAX_K = 1_000;

/** Of the config of `sheaf`. */
const OWN_MEMBERS = [
  ...["model", "query_model", "task", "instructions", "truncate", "include_tokens"],
  ...[STATISTICS, "k", "b", "avg_doc_length", "token_max_length", "stopwords"],
];

const NO_INSTRUCTIONS: TaskInstructions = { documents: "", query: "" };

const PLANNERS: Readonly<Record<string, Planner>> = {
  default: (config) => plan("sentence-transformers/all-MiniLM-L6-v2", config, NO_INSTRUCTIONS),
  "chroma-cloud-qwen": (config, path, table) => {
    const model = optionalText(config, "model", path) ?? "Qwen/Qwen3-Embedding-0.6B";
    return plan(model, config, readInstructions(config, path, table));
  },
  "chroma-cloud-splade": (config, path) => {
    const model = optionalText(config, "model", path) ?? "prithivida/Splade_PP_en_v1";
    return plan(model, config, NO_INSTRUCTIONS);
  },
  chroma_bm25: (config, path) => {
    return { ...plan(BM25_MODEL, config, NO_INSTRUCTIONS), bm25: readBm25(config, path) };
  },
  sheaf: (config, path, table) => {
    const model = optionalText(config, "model", path);
    if (model === null || model === "") throw invalid(memberPath(path, "model"), "must name a model");
    const truncate = config["truncate"] ?? false;
    if (typeof truncate !== "boolean") throw invalid(memberPath(path, "truncate"), "must be true or false");
    const queryModel = optionalText(config, "query_model", path);
    const bm25 = readOwnBm25(config, model, path);
    return { ...plan(model, config, readInstructions(config, path, table)), queryModel, bm25 };
  },
};

/** The embedding functions that the server has. */
export const FUNCTION_NAMES: readonly string[] = Object.keys(PLANNERS);

/**
 * What the server does to embed with this function; `null` where it does not know it (the type is not `known`, or
 * the name is none of ours) and vectors must come from clients. A task that no table knows means no instruction, as
 * it does to the clients that wrote it.
 *
 * @throws SheafError 400 for a function that `checkEmbeddingFunction` refuses.
 */
export function embeddingPlan(
  embeddingFunction: JsonObject | null,
  table: TaskTable = DEFAULT_TASKS,
): EmbeddingPlan | null {
  return embeddingFunction === null ? null : readPlan(embeddingFunction, "embedding_function", table);
}

/**
 * Refuses a function that the server knows by name but could not embed with, so that the mistake shows when the
 * collection is made and not at its first write. Passes whatever it does not know. The models of `sheaf`, which no client
 * runs, must be known and of the index's kind; the models of other functions may be those of clients.
 *
 * @throws SheafError 400 with the path of the setting.
 */
export function checkEmbeddingFunction(embeddingFunction: JsonObject, kind: ModelKind, path: string): void {
  const read = readPlan(embeddingFunction, path, DEFAULT_TASKS);
  if (read === null || embeddingFunction["name"] !== "sheaf") return;
  const config = memberPath(path, "config");
  refuseUnknown(objectAt(embeddingFunction, "config") ?? {}, OWN_MEMBERS, config);
  requireModel(read.model, kind, memberPath(config, "model"));
  if (read.queryModel !== null) requireModel(read.queryModel, kind, memberPath(config, "query_model"));
}

function requireModel(model: string, kind: ModelKind, path: string): void {
  const known = kindOfModel(model);
  if (known === null) throw invalid(path, describeUnknownModel(model));
  if (known !== kind) throw invalid(path, `${model} makes ${known} vectors, the index holds ${kind} ones`);
}

/**
 * The plan that embeds texts of queries. Where documents have frequencies, a query has weights: its frequencies saturate by k
 * alone, as those of a document of average length do (Robertson & Zaragoza 2009, section 3.4, with k3 = k).
 */
export function planForQueries(plan: EmbeddingPlan): EmbeddingPlan {
  if (plan.bm25?.frequencies !== true) return plan;
  return { ...plan, bm25: { ...plan.bm25, b: 0, frequencies: false } };
}

/**
 * k and b of an index that scores by the statistics of its collection; `null`: values of its vectors are weights. Reads
 * any stored function, and throws for none: the collection could not be opened.
 */
export function collectionStatistics(embeddingFunction: JsonObject | null): Bm25Parameters | null {
  const config = ownBm25Config(embeddingFunction);
  if (config?.[STATISTICS] !== "collection") return null;
  const k = numberOf(config["k"]);
  const b = numberOf(config["b"]);
  return Object.freeze({ k: k ?? BM25_DEFAULTS.k, b: b ?? BM25_DEFAULTS.b });
}

/** The function with its `statistics` in words, as the schema of a new collection has it. See `readOwnBm25`. */
export function withStatistics(embeddingFunction: JsonObject): JsonObject {
  const config = ownBm25Config(embeddingFunction);
  if (config === null || (config[STATISTICS] ?? null) !== null) return embeddingFunction;
  return { ...embeddingFunction, config: { ...config, [STATISTICS]: "collection" } };
}

/** `null`: it is not `sheaf` with `sheaf/bm25`. */
function ownBm25Config(embeddingFunction: JsonObject | null): JsonObject | null {
  if (embeddingFunction?.["type"] !== "known" || embeddingFunction["name"] !== "sheaf") return null;
  const config = objectAt(embeddingFunction, "config");
  return config?.["model"] === BM25_MODEL ? config : null;
}

function readPlan(embeddingFunction: JsonObject, path: string, table: TaskTable): EmbeddingPlan | null {
  const { type, name } = embeddingFunction;
  if (type !== "known" || typeof name !== "string" || !Object.hasOwn(PLANNERS, name)) return null;
  const config = objectAt(embeddingFunction, "config") ?? {};
  const read = PLANNERS[name]?.(config, memberPath(path, "config"), table);
  return read === undefined ? null : Object.freeze(read);
}

function plan(model: string, config: JsonObject, instructions: TaskInstructions): EmbeddingPlan {
  return {
    model,
    queryModel: null,
    documentInstruction: instructions.documents,
    queryInstruction: instructions.query,
    truncate: config["truncate"] === true,
    includeTokens: config["include_tokens"] === true,
    bm25: null,
  };
}

/** A string is the sentence for queries; an object holds sentences per task, and wins over the table. */
function readInstructions(config: JsonObject, path: string, table: TaskTable): TaskInstructions {
  const task = optionalText(config, "task", path) ?? "";
  const instructions = config["instructions"] ?? null;
  if (typeof instructions === "string") return { documents: "", query: instructions };
  const instructionsPath = memberPath(path, "instructions");
  if (instructions !== null && !isPlainObject(instructions)) {
    throw invalid(instructionsPath, "must be a string or an object");
  }
  if (task === "") return NO_INSTRUCTIONS;
  const own = valueAt(instructions ?? {}, task);
  if (own === undefined)
    return Object.hasOwn(table, task) ? (table[task] ?? NO_INSTRUCTIONS) : NO_INSTRUCTIONS;
  const ownPath = memberPath(instructionsPath, task);
  if (!isPlainObject(own)) throw invalid(ownPath, "must be an object of documents and query");
  return {
    documents: optionalText(own, "documents", ownPath) ?? "",
    query: optionalText(own, "query", ownPath) ?? "",
  };
}

/**
 * Settings of `sheaf` for `sheaf/bm25`; `null`: it has another model, or no `statistics`. A function that was stored without
 * them is of an earlier version, which embedded with the defaults whatever else the config said.
 */
function readOwnBm25(config: JsonObject, model: string, path: string): Bm25Settings | null {
  const statistics = optionalText(config, STATISTICS, path);
  const statisticsPath = memberPath(path, STATISTICS);
  if (statistics !== null && statistics !== "collection" && statistics !== "fixed")
    throw invalid(statisticsPath, "must be `collection` or `fixed`");
  if (statistics === null) return null;
  if (model !== BM25_MODEL) throw invalid(statisticsPath, `is a setting of ${BM25_MODEL}, not of ${model}`);
  const settings = readBm25(config, path);
  if (statistics === "fixed") return settings;
  if ((settings.k ?? 0) > MAX_K) throw invalid(memberPath(path, "k"), `must not be above ${MAX_K}`);
  if (settings.averageDocumentLength !== undefined) {
    throw invalid(
      memberPath(path, "avg_doc_length"),
      "goes with the statistics `fixed`; these are `collection`",
    );
  }
  return Object.freeze({ ...settings, frequencies: true });
}

function readBm25(config: JsonObject, path: string): Bm25Settings {
  const k = optionalNumber(config, "k", path);
  const b = optionalNumber(config, "b", path);
  const averageDocumentLength = optionalNumber(config, "avg_doc_length", path);
  const tokenMaxLength = optionalNumber(config, "token_max_length", path);
  if (k !== null && k < 0) throw invalid(memberPath(path, "k"), "must not be negative");
  if (b !== null && (b < 0 || b > 1)) throw invalid(memberPath(path, "b"), "must lie within 0 and 1");
  if (averageDocumentLength !== null && averageDocumentLength <= 0) {
    throw invalid(memberPath(path, "avg_doc_length"), "must be positive");
  }
  if (tokenMaxLength !== null && tokenMaxLength < 1) {
    throw invalid(memberPath(path, "token_max_length"), "must be at least 1");
  }
  const stopwords = readStopwords(config["stopwords"] ?? null, memberPath(path, "stopwords"));
  return Object.freeze({
    ...(k === null ? {} : { k }),
    ...(b === null ? {} : { b }),
    ...(averageDocumentLength === null ? {} : { averageDocumentLength }),
    ...(tokenMaxLength === null ? {} : { tokenMaxLength }),
    ...(stopwords === null ? {} : { stopwords }),
  });
}

function readStopwords(value: Json, path: string): readonly string[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw invalid(path, "must be an array of strings");
  return value.map((word: unknown, i) => {
    if (typeof word !== "string") throw invalid(itemPath(path, i), "must be a string");
    return word;
  });
}

function optionalText(config: JsonObject, key: string, path: string): string | null {
  const value = config[key] ?? null;
  if (value !== null && typeof value !== "string") throw invalid(memberPath(path, key), "must be a string");
  return value;
}

function optionalNumber(config: JsonObject, key: string, path: string): number | null {
  const number = numberOf(config[key]);
  if (number === null && (config[key] ?? null) !== null)
    throw invalid(memberPath(path, key), "must be a number");
  return number;
}

/** `null`: it is not a number. */
function numberOf(value: Json | undefined): number | null {
  const number = value instanceof JsonFloat ? value.value : value;
  return typeof number === "number" ? number : null;
}
