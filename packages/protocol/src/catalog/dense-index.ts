/**
 * The dense index of a collection as its description states it. Clients may describe it in three places
 * (`configuration`, `schema.defaults`, `schema.keys["#embedding"]`); here they become layers of one form, and
 * what comes out is written to both places of the schema, so that a collection reads the same however it was described.
 */
import { DOCUMENT_KEY, EMBEDDING_KEY } from "../system-keys.ts";
import type { Json, JsonObject, Space } from "./ast.ts";
import { completeParameters, type IndexKind, SHOWN_PARAMETERS } from "./index-parameters.ts";
import { objectAt, valueAt } from "./plain-json.ts";

export const SPACES: readonly Space[] = ["l2", "cosine", "ip"];

/** What one place says; `null`: nothing. At most one of `hnsw` and `spann` is set. */
export interface DenseLayer {
  readonly space: Space | null;
  readonly embeddingFunction: JsonObject | null;
  readonly hnsw: JsonObject | null;
  readonly spann: JsonObject | null;
}

export interface DenseIndex {
  readonly space: Space;
  readonly embeddingFunction: JsonObject | null;
  readonly kind: IndexKind;
  /** Complete. */
  readonly parameters: JsonObject;
}

export const EMPTY_LAYER: DenseLayer = Object.freeze({
  space: null,
  embeddingFunction: null,
  hnsw: null,
  spann: null,
});

/** Later layers win. A layer of the other kind of index starts from that kind's defaults. */
export function resolveDense(layers: readonly DenseLayer[]): DenseIndex {
  let space: Space = "l2";
  let embeddingFunction: JsonObject | null = null;
  let kind: IndexKind = "hnsw";
  let parameters: JsonObject = {};
  for (const layer of layers) {
    space = layer.space ?? space;
    embeddingFunction = layer.embeddingFunction ?? embeddingFunction;
    const asked: IndexKind = layer.spann !== null ? "spann" : layer.hnsw !== null ? "hnsw" : kind;
    if (asked !== kind) parameters = {};
    kind = asked;
    parameters = { ...parameters, ...layer[kind] };
  }
  return { space, embeddingFunction, kind, parameters: completeParameters(kind, parameters) };
}

/** The dense index that a stored schema describes. */
export function denseIndexOf(schema: JsonObject): DenseIndex {
  const config = objectAt(schema, "keys", EMBEDDING_KEY, "float_list", "vector_index", "config");
  const space = valueAt(config ?? {}, "space");
  const kind: IndexKind = objectAt(config ?? {}, "spann") === null ? "hnsw" : "spann";
  return {
    space: SPACES.find((known) => known === space) ?? "l2",
    embeddingFunction: objectAt(config ?? {}, "embedding_function"),
    kind,
    parameters: completeParameters(kind, objectAt(config ?? {}, kind) ?? {}),
  };
}

/** `schema` with its dense index described as `dense`, in both places. */
export function withDenseIndex(schema: JsonObject, dense: DenseIndex): JsonObject {
  const describe = (enabled: boolean, sourceKey: string | null): JsonObject => ({
    vector_index: { enabled, config: vectorConfig(dense, sourceKey) },
  });
  const defaults = objectAt(schema, "defaults") ?? {};
  const sourceKey = valueAt(defaults, "float_list", "vector_index", "config", "source_key");
  const defaultSource = typeof sourceKey === "string" ? sourceKey : null;
  const keys = objectAt(schema, "keys") ?? {};
  return {
    ...schema,
    defaults: { ...defaults, float_list: describe(false, defaultSource) },
    keys: { ...keys, [EMBEDDING_KEY]: { float_list: describe(true, DOCUMENT_KEY) } },
  };
}

function vectorConfig(dense: DenseIndex, sourceKey: string | null): JsonObject {
  return {
    space: dense.space,
    ...(dense.embeddingFunction === null ? {} : { embedding_function: dense.embeddingFunction }),
    ...(sourceKey === null ? {} : { source_key: sourceKey }),
    [dense.kind]: dense.parameters,
  };
}

/** `configuration_json` as clients read it: a view of the dense index. */
export function configurationOf(dense: DenseIndex): JsonObject {
  const all: JsonObject = { ...dense.parameters, space: dense.space };
  const shown = SHOWN_PARAMETERS[dense.kind].map((name): [string, Json] => [name, all[name] ?? null]);
  const described: JsonObject = Object.fromEntries(shown);
  return {
    hnsw: dense.kind === "hnsw" ? described : null,
    spann: dense.kind === "spann" ? described : null,
    embedding_function: dense.embeddingFunction,
  };
}
