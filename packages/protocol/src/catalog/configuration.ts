/**
 * `configuration` of a new collection, `new_configuration` of an existing one, and the `hnsw:*` metadata that older
 * clients describe an index with. All of them become a layer of the dense index (dense-index.ts).
 */
import { invalid } from "../errors.ts";
import { listOf, memberPath } from "../json/json-shape.ts";
import type { Metadata } from "../metadata.ts";
import type { JsonObject } from "./ast.ts";
import type { BodyReader } from "./body-reader.ts";
import { type DenseLayer, EMPTY_LAYER, resolveDense, SPACES } from "./dense-index.ts";
import { isDefaultFunction, parseEmbeddingFunction } from "./embedding-function.ts";
import {
  type IndexKind,
  MUTABLE_PARAMETERS,
  parameterNames,
  parseParameter,
  parseParameters,
} from "./index-parameters.ts";

const LEGACY_PREFIX = "hnsw:";

const LEGACY_NAMES: Readonly<Record<string, string>> = {
  construction_ef: "ef_construction",
  search_ef: "ef_search",
  M: "max_neighbors",
  num_threads: "num_threads",
  resize_factor: "resize_factor",
  sync_threshold: "sync_threshold",
  batch_size: "batch_size",
};

/**
 * The configuration of a new collection. Metadata counts where the configuration leaves the index at its defaults:
 * clients send default indexes along without being asked.
 *
 * @param reader `null`: the body has none. Members that are not known are ignored at this level only.
 * @throws SheafError 422 for a wrong type, an unknown space or an unknown parameter; 400 for two kinds of index, for
 * a value out of range and for bad `hnsw:*` metadata.
 */
export function parseConfiguration(reader: BodyReader | null, metadata: Metadata | null): DenseLayer {
  const asked = reader === null ? EMPTY_LAYER : readConfiguration(reader);
  const legacy = metadata === null ? EMPTY_LAYER : readLegacyMetadata(metadata);
  const legacyCounts = isDefaultIndex(asked) && !isDefaultIndex(legacy);
  return legacyCounts ? { ...legacy, embeddingFunction: asked.embeddingFunction } : asked;
}

function readConfiguration(reader: BodyReader): DenseLayer {
  const hnsw = reader.object("hnsw");
  const spann = reader.object("spann");
  if (hnsw !== null && spann !== null) throw twoKinds(reader.path);
  const index = hnsw ?? spann;
  for (const [part, kind] of [
    [hnsw, "hnsw"],
    [spann, "spann"],
  ] as const) {
    part?.refuseUnknown(["space", ...parameterNames(kind)]);
  }
  return {
    space: index?.choice("space", SPACES) ?? null,
    embeddingFunction: parseEmbeddingFunction(reader, "dense"),
    hnsw: hnsw && parseParameters(hnsw, "hnsw", parameterNames("hnsw"), "loose"),
    spann: spann && parseParameters(spann, "spann", parameterNames("spann"), "strict"),
  };
}

export function twoKinds(path: string): Error {
  return invalid(path, "Multiple vector index configurations provided: choose one of hnsw and spann");
}

/** What a configuration changes of an existing collection; the space is not among it. */
export function parseConfigurationUpdate(reader: BodyReader): DenseLayer {
  reader.refuseUnknown(["hnsw", "spann", "embedding_function"]);
  const hnsw = reader.object("hnsw");
  const spann = reader.object("spann");
  if (hnsw !== null && spann !== null) throw twoKinds(reader.path);
  return {
    space: null,
    embeddingFunction: parseEmbeddingFunction(reader, "dense"),
    hnsw: hnsw && readMutable(hnsw, "hnsw"),
    spann: spann && readMutable(spann, "spann"),
  };
}

function readMutable(reader: BodyReader, kind: IndexKind): JsonObject {
  reader.refuseUnknown(MUTABLE_PARAMETERS[kind]);
  return parseParameters(reader, kind, MUTABLE_PARAMETERS[kind], "loose");
}

/** True where `layer` asks for nothing that a collection without configuration would not have. */
export function isDefaultConfiguration(layer: DenseLayer): boolean {
  return isDefaultIndex(layer) && isDefaultFunction(layer.embeddingFunction);
}

function isDefaultIndex(layer: DenseLayer): boolean {
  if (layer.spann !== null) return false;
  // The number of threads says something about a machine and nothing about a collection.
  const comparable = (layers: readonly DenseLayer[]): string => {
    const { space, parameters } = resolveDense(layers);
    return JSON.stringify({ space, ...parameters, num_threads: null });
  };
  return comparable([layer]) === comparable([]);
}

function readLegacyMetadata(metadata: Metadata): DenseLayer {
  const parameters: [string, JsonObject[string]][] = [];
  let space: DenseLayer["space"] = null;
  for (const [key, value] of metadata) {
    if (!key.startsWith(LEGACY_PREFIX)) continue;
    const legacyName = key.slice(LEGACY_PREFIX.length);
    const path = memberPath("metadata", key);
    if (legacyName === "space") {
      space = SPACES.find((known) => known === value) ?? null;
      if (space === null) throw refuseLegacy(path, `must be ${listOf(SPACES)}`);
      continue;
    }
    const name = Object.hasOwn(LEGACY_NAMES, legacyName) ? LEGACY_NAMES[legacyName] : undefined;
    if (name === undefined) throw refuseLegacy(path, "unknown parameter");
    // In metadata a `number` is a float even when it is whole; only an int64 is a count.
    const isCount = typeof value === "bigint" || name === "resize_factor";
    const at = { path, refuse: refuseLegacy, bounds: "strict" } as const;
    const read = typeof value === "bigint" ? Number(value) : value;
    parameters.push([name, parseParameter("hnsw", name, isCount ? read : null, at)]);
  }
  return { ...EMPTY_LAYER, space, hnsw: parameters.length === 0 ? null : Object.fromEntries(parameters) };
}

function refuseLegacy(path: string, problem: string): ReturnType<typeof invalid> {
  return invalid(path, `Failed to parse hnsw parameters from segment metadata: ${problem}`);
}
