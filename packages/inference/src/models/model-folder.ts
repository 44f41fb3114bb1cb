/**
 * A model's folder as upstream publishes it: where it is, and what its small configuration files say. Reads no weights.
 */
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { WEIGHT_FILES } from "../graph/prepare-model.ts";
import { isCommit, RepositoryCache } from "../hub/hub-cache.ts";
import type { TokenizerFiles } from "../tokenize/model-tokenizer.ts";
import type { ModelEntry } from "./model-registry.ts";
import { type ModelShape, readModelShape, weightBytesOf } from "./model-size.ts";
import { readJsonObject } from "./read-json-object.ts";

export interface ConfiguredModel {
  /** Folder in the layout of the upstream repository. */
  readonly path: string;
  /** Default: the folder's name if it is a commit, as in the Hugging Face cache, else `local`. */
  readonly revision?: string;
}

/** The operator's own folder, a package of Sheaf, or the cache of the Hugging Face tools. */
export type ModelSource = "folder" | "bundled" | "cache";

export interface ModelFolder {
  readonly source: ModelSource;
  readonly path: string;
  readonly revision: string;
  readonly tokenizer: TokenizerFiles;
  /** Length of a dense vector; `null` for sparse models. */
  readonly dimension: number | null;
  /** The model's own limit, whatever the memory. */
  readonly maxTokens: number;
  /** Weights in memory, as float32. */
  readonly weightBytes: number;
  /** `null` where `config.json` does not say. */
  readonly shape: ModelShape | null;
}

/** What keeps a model from being used. */
export interface AbsentModel {
  /** For the operator: it names folders and files. */
  readonly missing: string;
  /** For everyone: how weights that are not here are fetched; `null`: that is not what is wrong. */
  readonly command: string | null;
}

/** Tokenizer configurations say this or more for "no limit". */
const NO_LIMIT_TOKENS = 1_000_000;

/**
 * The folder of a model, or what keeps it from being used.
 * @param configured the operator's own folder, which wins over a bundled one, which wins over the cache.
 * @param cacheFolder cache of the Hugging Face tools; `null`: none.
 */
export function findModelFolder(
  entry: ModelEntry,
  configured: ConfiguredModel | undefined,
  cacheFolder: string | null = null,
): ModelFolder | AbsentModel {
  try {
    if (configured !== undefined) {
      const name = basename(configured.path);
      const revision = configured.revision ?? (isCommit(name) ? name : "local");
      return readModelFolder(entry, { source: "folder", path: configured.path, revision });
    }
    const bundled = entry.bundled === null ? null : packageFolder(entry.bundled.packageName);
    if (entry.bundled !== null && bundled !== null) {
      return readModelFolder(entry, { source: "bundled", path: bundled, revision: entry.bundled.revision });
    }
    const command = `fetch its weights with \`sheaf models pull ${entry.identifier}\``;
    const absent = { missing: command, command };
    if (cacheFolder === null) return absent;
    const cache = new RepositoryCache(cacheFolder, entry.identifier);
    const commit = cache.commit(entry.hub?.revision ?? null);
    if (commit === null || !isFolder(cache.snapshot(commit))) return absent;
    const found = readModelFolder(entry, { source: "cache", path: cache.snapshot(commit), revision: commit });
    return "missing" in found ? { missing: `${found.missing}; ${command}`, command } : found;
  } catch (error) {
    if (error instanceof SheafError) return { missing: error.message, command: null };
    throw error;
  }
}

/** 503 that names the model and what is missing. */
export function modelUnavailable(identifier: string, missing: string): SheafError {
  return new SheafError("model_unavailable", `the model ${identifier} is not available: ${missing}`);
}

/** 503 for callers; where the files are, and what is wrong with them, is for the log. */
export function modelFilesUnusable(identifier: string, cause?: unknown): SheafError {
  return new SheafError(
    "model_unavailable",
    `the model ${identifier} is not available: files of it on the server are missing or damaged. The operator finds in ` +
      "the log of the server which; until then, trying again does not help",
    { cause },
  );
}

function readModelFolder(
  entry: ModelEntry,
  { source, path, revision }: Pick<ModelFolder, "source" | "path" | "revision">,
): ModelFolder | AbsentModel {
  if (!isFolder(path)) return { missing: `the folder ${path} does not exist`, command: null };
  const absent = ["config.json", "tokenizer.json"].filter((file) => !existsSync(join(path, file)));
  const weights = WEIGHT_FILES.find((file) => existsSync(join(path, file)));
  if (weights === undefined) absent.push(WEIGHT_FILES.join(" or "));
  if (absent.length > 0 || weights === undefined)
    return { missing: `the folder ${path} has no ${absent.join(", no ")}`, command: null };
  const configJson = readJsonObject(join(path, "config.json"));
  const config = numbersOf(configJson);
  const tokenizerConfigJson = join(path, "tokenizer_config.json");
  return {
    source,
    path,
    revision,
    weightBytes: weightBytesOf(join(path, weights), configJson),
    shape: readModelShape(configJson, entry.kind),
    tokenizer: {
      tokenizerJson: join(path, "tokenizer.json"),
      tokenizerConfigJson: existsSync(tokenizerConfigJson) ? tokenizerConfigJson : null,
    },
    dimension: entry.kind === "dense" ? (config("hidden_size") ?? entry.dimension) : null,
    maxTokens: Math.min(entry.maxTokens ?? Infinity, folderLimit(path, config)),
  };
}

/** sentence-transformers' own limit where there is one, else the shorter of tokenizer and position table. */
function folderLimit(path: string, config: NumberReader): number {
  const trained = readNumbers(join(path, "sentence_bert_config.json"))("max_seq_length");
  if (trained !== null) return trained;
  const stated = readNumbers(join(path, "tokenizer_config.json"))("model_max_length") ?? Infinity;
  const rows = config("max_position_embeddings") ?? Infinity;
  return Math.min(stated < NO_LIMIT_TOKENS ? stated : Infinity, rows);
}

/** A positive integer member of an object, `null` if there is none. */
type NumberReader = (member: string) => number | null;

function readNumbers(file: string): NumberReader {
  return existsSync(file) ? numbersOf(readJsonObject(file)) : () => null;
}

function numbersOf(json: Readonly<Record<string, unknown>>): NumberReader {
  return (member) => {
    const value = json[member];
    return typeof value === "number" && value > 0 ? Math.floor(value) : null;
  };
}

function packageFolder(packageName: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return null;
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
