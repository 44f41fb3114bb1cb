/**
 * How the server embeds for a collection or a sparse index: its `embedding_function`, read. Clients store the
 * description of a function of theirs; the server has the models behind five of these names. Everything else stays
 * opaque and is embedded by clients alone.
 */
import { DEFAULT_TASKS, type TaskInstructions, type TaskTable } from "../embed/instruction.ts";
import { type ModelKind, describeUnknownModel, kindOfModel } from "../embed/models.ts";
import { invalid } from "../errors.ts";
import { JsonFloat } from "../json/json-float.ts";
import { itemPath, memberPath } from "../json/json-shape.ts";
import type { Json, JsonObject } from "./ast.ts";
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
    return { ...plan("sheaf/bm25", config, NO_INSTRUCTIONS), bm25: readBm25(config, path) };
  },
  sheaf: (config, path, table) => {
    const model = optionalText(config, "model", path);
    if (model === null || model === "") throw invalid(memberPath(path, "model"), "must name a model");
    const truncate = config["truncate"] ?? false;
    if (typeof truncate !== "boolean") throw invalid(memberPath(path, "truncate"), "must be true or false");
    const queryModel = optionalText(config, "query_model", path);
    return { ...plan(model, config, readInstructions(config, path, table)), queryModel };
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
  requireModel(read.model, kind, memberPath(config, "model"));
  if (read.queryModel !== null) requireModel(read.queryModel, kind, memberPath(config, "query_model"));
}

function requireModel(model: string, kind: ModelKind, path: string): void {
  const known = kindOfModel(model);
  if (known === null) throw invalid(path, describeUnknownModel(model));
  if (known !== kind) throw invalid(path, `${model} makes ${known} vectors, the index holds ${kind} ones`);
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
  const value = config[key] ?? null;
  const number = value instanceof JsonFloat ? value.value : value;
  if (number !== null && typeof number !== "number") throw invalid(memberPath(path, key), "must be a number");
  return number;
}
