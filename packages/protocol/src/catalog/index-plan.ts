/** What the engine reads out of a stored schema, and how a schema grows by the metadata that is written. */
import { LIMITS } from "../limits.ts";
import type { MetadataKind } from "../metadata.ts";
import type { IndexPlan, Json, JsonObject, SparseIndexPlan } from "./ast.ts";
import type { ValueType } from "./default-schema.ts";
import { denseIndexOf } from "./dense-index.ts";
import { collectionStatistics } from "./embedding-plan.ts";
import { type ChunkingChoice, parseChunking } from "../records/chunking.ts";
import { objectAt, valueAt } from "./plain-json.ts";

/** Metadata keys of clients' own; they are neither listed nor returned. */
export const CLIENT_PREFIX = "chroma:";

/** An array counts as its element. */
const VALUE_TYPE_OF: Readonly<Record<MetadataKind, ValueType>> = {
  bool: "bool",
  int: "int",
  float: "float",
  string: "string",
  sparse_vector: "sparse_vector",
  bool_array: "bool",
  int_array: "int",
  float_array: "float",
  string_array: "string",
};

/** Of schemas that are frozen: many collections have the same one, and each call asks for what it says. */
const PLANS = new WeakMap<JsonObject, IndexPlan>();

/** The indexes that a collection with this schema has, apart from those every collection has. */
export function indexPlan(schema: JsonObject): IndexPlan {
  if (!Object.isFrozen(schema)) return readPlan(schema);
  const known = PLANS.get(schema) ?? readPlan(schema);
  PLANS.set(schema, known);
  return known;
}

function readPlan(schema: JsonObject): IndexPlan {
  const { space, embeddingFunction } = denseIndexOf(schema);
  const sparse: SparseIndexPlan[] = [];
  for (const key of Object.keys(objectAt(schema, "keys") ?? {})) {
    const index = sparseIndexOf(schema, key);
    if (index !== null) sparse.push(index);
  }
  const plan = { space, embeddingFunction, sparse: Object.freeze(sparse) };
  const chunking = chunkingOf(schema);
  return Object.freeze(chunking === null ? plan : { ...plan, chunking });
}

/** How documents are cut; `null`: none ever was. */
export function chunkingOf(schema: JsonObject): ChunkingChoice | null {
  const chunking = objectAt(schema, "chunking");
  return chunking === null ? null : parseChunking(chunking, "schema.chunking");
}

/** Into how many parts its records are divided, by id; it never changes. */
export function partitionsOf(schema: JsonObject): number {
  const partitions = schema["partitions"];
  return typeof partitions === "number" ? partitions : 1;
}

/** The schema of a collection that has chunks because writes have asked for them. */
export function withChunks(schema: JsonObject): JsonObject {
  return { ...schema, chunking: { by: "none" } };
}

/** `null` where the key has no sparse index. */
export function sparseIndexOf(schema: JsonObject, key: string): SparseIndexPlan | null {
  const index = objectAt(schema, "keys", key, "sparse_vector", "sparse_vector_index");
  if (index === null || index["enabled"] !== true) return null;
  const sourceKey = valueAt(index, "config", "source_key");
  const embeddingFunction = objectAt(index, "config", "embedding_function");
  const statistics = collectionStatistics(embeddingFunction);
  return Object.freeze({
    ...(statistics === null ? {} : { statistics }),
    key,
    bm25: valueAt(index, "config", "bm25") === true,
    sourceKey: typeof sourceKey === "string" ? sourceKey : null,
    embeddingFunction,
  });
}

/**
 * `schema` with the metadata keys of a write in it: a key, or a kind of value under a key, that was never seen gets
 * the default entry of its value type, so that listing a key changes nothing that holds for it.
 *
 * @param seen Metadata key -> the kinds of value it was written with.
 * @returns `null` when there is nothing new, or no room for it (`LIMITS.schemaKeys`).
 */
export function extendSchema(
  schema: JsonObject,
  seen: ReadonlyMap<string, ReadonlySet<MetadataKind>>,
): JsonObject | null {
  const keys = objectAt(schema, "keys") ?? {};
  const added = new Map<string, Json>();
  let room = LIMITS.schemaKeys - Object.keys(keys).length;
  for (const [key, kinds] of seen) {
    const isListed = Object.hasOwn(keys, key);
    if (key.startsWith(CLIENT_PREFIX) || (!isListed && room <= 0)) continue;
    const entry = extendEntry(schema, key, kinds);
    if (entry === null) continue;
    added.set(key, entry);
    if (!isListed) room -= 1;
  }
  if (added.size === 0) return null;
  return { ...schema, keys: { ...keys, ...Object.fromEntries(added) } };
}

/** The schema has an entry for the metadata key. */
export function isListed(schema: JsonObject, key: string): boolean {
  return Object.hasOwn(objectAt(schema, "keys") ?? {}, key);
}

function extendEntry(schema: JsonObject, key: string, kinds: ReadonlySet<MetadataKind>): JsonObject | null {
  const entry = objectAt(schema, "keys", key) ?? {};
  const missing = new Map<string, Json>();
  for (const kind of kinds) {
    const valueType = VALUE_TYPE_OF[kind];
    if (Object.hasOwn(entry, valueType)) continue;
    missing.set(valueType, objectAt(schema, "defaults", valueType) ?? {});
  }
  return missing.size === 0 ? null : { ...entry, ...Object.fromEntries(missing) };
}
