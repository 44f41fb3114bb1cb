/** One index of a schema off the wire: `{enabled, config}`, by the name of the index. */
import { invalid, unprocessable } from "../errors.ts";
import { DOCUMENT_KEY } from "../system-keys.ts";
import type { Json, JsonObject } from "./ast.ts";
import type { BodyReader } from "./body-reader.ts";
import { twoKinds } from "./configuration.ts";
import type { IndexName } from "./default-schema.ts";
import { type DenseLayer, SPACES } from "./dense-index.ts";
import { parseEmbeddingFunction } from "./embedding-function.ts";
import { type IndexKind, parameterNames, parseParameters } from "./index-parameters.ts";

/** The document as it was asked for, in the order of replies, without what was absent or `null`. */
export function parseIndex(reader: BodyReader, name: IndexName): JsonObject {
  reader.refuseUnknown(["enabled", "config"]);
  const enabled = reader.boolean("enabled");
  if (enabled === null) throw unprocessable(reader.pathOf("enabled"), "is required");
  const config = reader.object("config");
  return { enabled, config: config === null ? {} : CONFIG_PARSERS[name](config) };
}

const CONFIG_PARSERS: Readonly<Record<IndexName, (reader: BodyReader) => JsonObject>> = {
  vector_index: parseVectorConfig,
  sparse_vector_index: parseSparseConfig,
  fts_index: parseFullTextConfig,
  string_inverted_index: parseEmptyConfig,
  int_inverted_index: parseEmptyConfig,
  float_inverted_index: parseEmptyConfig,
  bool_inverted_index: parseEmptyConfig,
};

function parseEmptyConfig(reader: BodyReader): JsonObject {
  reader.refuseUnknown([]);
  return {};
}

function parseFullTextConfig(reader: BodyReader): JsonObject {
  reader.refuseUnknown(["algorithm"]);
  return present({ algorithm: reader.choice("algorithm", ["trigram", "token_bitmap"]) });
}

function parseVectorConfig(reader: BodyReader): JsonObject {
  reader.refuseUnknown(["space", "embedding_function", "source_key", "hnsw", "spann"]);
  const config = {
    space: reader.choice("space", SPACES),
    embedding_function: parseEmbeddingFunction(reader, "dense"),
    source_key: reader.string("source_key"),
    hnsw: parseKind(reader, "hnsw"),
    spann: parseKind(reader, "spann"),
  };
  if (config.hnsw !== null && config.spann !== null) throw twoKinds(reader.path);
  checkSourceKey(config.source_key, reader);
  return present(config);
}

function parseKind(reader: BodyReader, kind: IndexKind): JsonObject | null {
  const parameters = reader.object(kind);
  if (parameters === null) return null;
  parameters.refuseUnknown(parameterNames(kind));
  return parseParameters(parameters, kind, parameterNames(kind), "strict");
}

function parseSparseConfig(reader: BodyReader): JsonObject {
  reader.refuseUnknown(["embedding_function", "source_key", "bm25", "algorithm"]);
  const config = {
    embedding_function: parseEmbeddingFunction(reader, "sparse"),
    source_key: reader.string("source_key"),
    bm25: reader.boolean("bm25"),
    algorithm: reader.choice("algorithm", ["wand", "max_score"]),
  };
  checkSourceKey(config.source_key, reader);
  // `unknown` is what clients write where no function was given; `legacy` stands for one that lives on the client.
  const type = config.embedding_function?.["type"] ?? "unknown";
  if (config.source_key !== null && type === "unknown") {
    throw invalid(
      reader.pathOf("source_key"),
      "If source_key is provided then embedding_function must also be provided since there is no default embedding function",
    );
  }
  return present(config);
}

function checkSourceKey(sourceKey: string | null, reader: BodyReader): void {
  if (sourceKey === null || !sourceKey.startsWith("#") || sourceKey === DOCUMENT_KEY) return;
  throw invalid(reader.pathOf("source_key"), "source_key cannot begin with '#', except for #document");
}

function present(members: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** A parsed vector config as a layer of the dense index. */
export function denseLayerOf(config: JsonObject): DenseLayer {
  const object = (key: string): JsonObject | null => (config[key] ?? null) as JsonObject | null;
  return {
    space: SPACES.find((space) => space === config["space"]) ?? null,
    embeddingFunction: object("embedding_function"),
    hnsw: object("hnsw"),
    spann: object("spann"),
  };
}
