/**
 * `schema` of a new collection: which indexes its keys have. A partial schema is laid over the default one; the result
 * is complete, is what replies show, and is the only place where a collection's indexes are written down
 * (`configuration_json` is a view of it). Older spellings (`#string`, `$fts_index`, `key_overrides`) mean the same.
 */
import { invalid, SheafError, unprocessable } from "../errors.ts";
import { exceedsBytes } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { type ChunkingChoice, parseChunking } from "../records/chunking.ts";
import { DOCUMENT_KEY, EMBEDDING_KEY } from "../system-keys.ts";
import type { Json, JsonObject } from "./ast.ts";
import type { BodyReader } from "./body-reader.ts";
import { isDefaultConfiguration } from "./configuration.ts";
import { DEFAULT_SCHEMA, type IndexName, VALUE_TYPES, type ValueType } from "./default-schema.ts";
import { type DenseLayer, denseIndexOf, resolveDense, withDenseIndex } from "./dense-index.ts";
import { isDefaultFunction, namesFunction } from "./embedding-function.ts";
import { embeddingPlan } from "./embedding-plan.ts";
import { describeMissingFunction } from "./missing-function.ts";
import { isPlainObject, layer, objectAt, valueAt } from "./plain-json.ts";
import { denseLayerOf, parseIndex } from "./schema-index.ts";

/** A schema as it was asked for: canonical spelling, nothing filled in. */
export interface SchemaRequest {
  readonly defaults: JsonObject;
  readonly keys: JsonObject;
  /** `null`: the request does not say. */
  readonly chunking: ChunkingChoice | null;
  readonly partitions: number;
}

/**
 * @throws SheafError 422 for a wrong type or an unknown member of an index, 400 for an index where it cannot be, 501
 * for encryption with a customer's key.
 */
export function parseSchema(reader: BodyReader): SchemaRequest {
  const defaultsReader = reader.object("defaults");
  const defaults = defaultsReader === null ? {} : parseValueTypes(defaultsReader);
  if (defaultsReader !== null) checkDefaults(defaults, defaultsReader.path);
  const keysReader = aliased(reader, "keys", "key_overrides");
  const keys = keysReader === null ? {} : parseKeys(keysReader);
  refuseEncryption(reader);
  const chunking = reader.get("chunking");
  return {
    defaults,
    keys,
    chunking: chunking === undefined ? null : parseChunking(chunking, reader.pathOf("chunking")),
    partitions: parsePartitions(reader),
  };
}

function parsePartitions(reader: BodyReader): number {
  const partitions = reader.get("partitions") ?? 1;
  const most = LIMITS.partitions;
  if (typeof partitions === "number" && Number.isInteger(partitions) && partitions >= 1 && partitions <= most)
    return partitions;
  throw invalid(reader.pathOf("partitions"), `must be a whole number from 1 to ${most}`);
}

function parseKeys(reader: BodyReader): JsonObject {
  const names = reader.keys();
  if (names.length > LIMITS.schemaKeys) {
    throw invalid(reader.path, `holds ${names.length} keys, the limit is ${LIMITS.schemaKeys}`);
  }
  const keys = names.map((key): [string, Json] => {
    const keyReader = reader.object(key);
    const valueTypes = keyReader === null ? {} : parseValueTypes(keyReader);
    checkKey(key, valueTypes, reader.pathOf(key));
    return [key, valueTypes];
  });
  return Object.fromEntries(keys);
}

function parseValueTypes(reader: BodyReader): JsonObject {
  const valueTypes: [string, Json][] = [];
  for (const [valueType, indexNames] of Object.entries(VALUE_TYPES)) {
    const indexes = aliased(reader, valueType, `#${valueType}`);
    if (indexes !== null) valueTypes.push([valueType, parseIndexes(indexes, indexNames)]);
  }
  return Object.fromEntries(valueTypes);
}

function parseIndexes(reader: BodyReader, names: readonly IndexName[]): JsonObject {
  const indexes: [string, Json][] = [];
  for (const name of names) {
    const index = aliased(reader, name, `$${name}`);
    if (index !== null) indexes.push([name, parseIndex(index, name)]);
  }
  return Object.fromEntries(indexes);
}

function aliased(reader: BodyReader, name: string, alias: string): BodyReader | null {
  if (reader.has(name) && reader.has(alias)) {
    throw unprocessable(reader.pathOf(alias), `is the same field as ${name}, which is present too`);
  }
  return reader.object(reader.has(alias) ? alias : name);
}

function isEnabled(valueTypes: JsonObject, valueType: ValueType, index: IndexName): boolean {
  return valueAt(valueTypes, valueType, index, "enabled") === true;
}

function checkDefaults(defaults: JsonObject, path: string): void {
  if (isEnabled(defaults, "string", "fts_index")) {
    throw invalid(
      `${path}.string.fts_index`,
      "Full text search / regular expression index cannot be enabled by default. It can only be enabled on #document field.",
    );
  }
  if (isEnabled(defaults, "float_list", "vector_index")) {
    throw invalid(
      `${path}.float_list.vector_index`,
      "Vector index cannot be enabled by default. It can only be enabled on #embedding field.",
    );
  }
  if (isEnabled(defaults, "sparse_vector", "sparse_vector_index")) {
    throw invalid(
      `${path}.sparse_vector.sparse_vector_index`,
      "Sparse vector index cannot be enabled by default. Please enable sparse vector index on specific keys.",
    );
  }
}

function checkKey(key: string, valueTypes: JsonObject, path: string): void {
  if (key === DOCUMENT_KEY) return checkDocumentKey(valueTypes, path);
  if (key === EMBEDDING_KEY) return checkEmbeddingKey(valueTypes, path);
  if (key.startsWith("#")) {
    throw invalid(path, "key cannot begin with '#'. Keys starting with '#' are reserved for system use");
  }
  if (key === "" || key.startsWith("$")) throw invalid(path, "no metadata key is empty or begins with '$'");
  if (exceedsBytes(key, LIMITS.metadataKeyBytes)) {
    throw invalid(path, `the key is over ${LIMITS.metadataKeyBytes} bytes`);
  }
  if (isEnabled(valueTypes, "float_list", "vector_index")) {
    throw invalid(path, "Vector index can only be enabled on #embedding field");
  }
  if (isEnabled(valueTypes, "string", "fts_index")) {
    throw invalid(path, "Full text search / regular expression index can only be enabled on #document field");
  }
}

function checkDocumentKey(valueTypes: JsonObject, path: string): void {
  if (Object.keys(valueTypes).some((valueType) => valueType !== "string")) {
    throw invalid(path, "Document field cannot have any value types other than string");
  }
  if (isEnabled(valueTypes, "string", "string_inverted_index")) {
    throw invalid(path, "String inverted index can not be enabled on #document key");
  }
}

function checkEmbeddingKey(valueTypes: JsonObject, path: string): void {
  if (Object.keys(valueTypes).some((valueType) => valueType !== "float_list")) {
    throw invalid(path, "Embedding field cannot have any value types other than float_list");
  }
  if (valueAt(valueTypes, "float_list", "vector_index", "enabled") === false) {
    throw invalid(path, "the vector index of #embedding is always enabled");
  }
  // The defaults may name any key, as the Python client's schemas do: they describe what no collection has.
  const sourceKey = valueAt(valueTypes, "float_list", "vector_index", "config", "source_key");
  if (sourceKey !== undefined && sourceKey !== DOCUMENT_KEY) {
    throw invalid(
      `${path}.float_list.vector_index.config.source_key`,
      "Vector index can only source from #document",
    );
  }
}

/** To take the key and store in plain text all the same would be a promise broken in silence. */
function refuseEncryption(reader: BodyReader): void {
  if (reader.object("cmek") === null) return;
  throw new SheafError("unimplemented", `${reader.pathOf("cmek")}: customer-managed keys are not supported`);
}

/**
 * The complete schema of a collection that was described by `request` and `configuration`.
 *
 * @param request `null`: no schema was sent.
 * @throws SheafError 400 where both say something of their own.
 */
export function completeSchema(request: SchemaRequest | null, configuration: DenseLayer): JsonObject {
  if (request === null) return withDenseIndex(DEFAULT_SCHEMA, resolveDense([configuration]));
  const schema = withChunking(completeIndexes(request, configuration), request.chunking);
  return request.partitions === 1 ? schema : { ...schema, partitions: request.partitions };
}

/** Throws 400 where documents would be cut and the server could not embed what comes of it. */
function withChunking(schema: JsonObject, chunking: ChunkingChoice | null): JsonObject {
  if (chunking === null) return schema;
  const { embeddingFunction } = denseIndexOf(schema);
  if (chunking !== "none" && embeddingPlan(embeddingFunction) === null) {
    const why = describeMissingFunction(embeddingFunction, "dense");
    throw invalid("schema.chunking", `the server embeds the chunks of documents that it cuts: ${why}`);
  }
  return { ...schema, chunking: chunking === "none" ? { by: "none" } : { ...chunking } };
}

function completeIndexes(request: SchemaRequest, configuration: DenseLayer): JsonObject {
  const { base, layers } = split(request);
  const own = resolveDense(layers);
  if (isDefaultSchema(withDenseIndex(base, own))) {
    return withDenseIndex(DEFAULT_SCHEMA, resolveDense([...layers, configuration]));
  }
  if (!isDefaultConfiguration(configuration)) {
    throw invalid("schema", "Cannot set both collection config and schema simultaneously");
  }
  // Clients put their default function into the configuration even beside a schema; a schema that names one wins.
  const { embeddingFunction } = configuration;
  if (namesFunction(own.embeddingFunction) || embeddingFunction === null) return withDenseIndex(base, own);
  return withDenseIndex(base, { ...own, embeddingFunction });
}

/** The request over the default schema, and apart from it what the request says of the dense index. */
function split(request: SchemaRequest): { base: JsonObject; layers: readonly DenseLayer[] } {
  const layers = [request.defaults, objectAt(request.keys, EMBEDDING_KEY) ?? {}].map((valueTypes) =>
    denseLayerOf(objectAt(valueTypes, "float_list", "vector_index", "config") ?? {}),
  );
  const defaults = layer(objectAt(DEFAULT_SCHEMA, "defaults") ?? {}, request.defaults);
  const keys = new Map(Object.entries(request.keys));
  for (const [key, valueTypes] of Object.entries(objectAt(DEFAULT_SCHEMA, "keys") ?? {})) {
    const asked = objectAt(request.keys, key) ?? {};
    if (isPlainObject(valueTypes)) keys.set(key, layer(valueTypes, asked));
  }
  return { base: { defaults, keys: orderedKeys(keys) }, layers };
}

/** The system keys first, as every reply has them. */
function orderedKeys(keys: ReadonlyMap<string, Json>): JsonObject {
  const system = [DOCUMENT_KEY, EMBEDDING_KEY].map((key): [string, Json] => [key, keys.get(key) ?? {}]);
  const custom = [...keys].filter(([key]) => key !== DOCUMENT_KEY && key !== EMBEDDING_KEY);
  return Object.fromEntries([...system, ...custom]);
}

function isDefaultSchema(schema: JsonObject): boolean {
  const keys = Object.keys(objectAt(schema, "keys") ?? {});
  if (keys.some((key) => key !== DOCUMENT_KEY && key !== EMBEDDING_KEY)) return false;
  return comparable(schema) === comparable(DEFAULT_SCHEMA);
}

/** Without what clients fill in by themselves. The number of threads says nothing about a collection. */
function comparable(schema: JsonObject): string {
  return JSON.stringify(schema, (name, value: Json) => {
    if (name === "num_threads") return undefined;
    if (name !== "embedding_function") return value;
    return isPlainObject(value) && !isDefaultFunction(value) ? value : undefined;
  });
}
