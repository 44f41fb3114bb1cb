/** The dense index as a `configuration` or a schema describes it. Sheaf keeps and returns the settings; they change nothing. */
import { type SchemaMembers, type JsonSchema, Type } from "../json-schema.ts";
import { closed, count, maybe, ref, words } from "../schema-parts.ts";

const UINT32_MAX = 2 ** 32 - 1;
const space = maybe(words(["l2", "cosine", "ip"]), "Distance, `l2` by default.");
const setting = maybe(count(undefined, UINT32_MAX));
const factor = maybe(Type.Number());

function range(minimum: number, maximum: number): JsonSchema {
  return maybe(Type.Integer({ minimum, maximum }));
}

/** @param atLeast Smallest `batch_size` and `sync_threshold`: a `configuration` has always taken any. */
function hnsw(atLeast: number): SchemaMembers {
  return {
    space,
    ef_construction: setting,
    max_neighbors: setting,
    ef_search: setting,
    num_threads: setting,
    batch_size: range(atLeast, UINT32_MAX),
    sync_threshold: range(atLeast, UINT32_MAX),
    resize_factor: factor,
  };
}

const SPANN: SchemaMembers = {
  space,
  search_nprobe: range(0, 128),
  write_nprobe: setting,
  ef_construction: range(0, 200),
  ef_search: range(0, 200),
  max_neighbors: setting,
  reassign_neighbor_count: setting,
  split_threshold: range(25, 200),
  merge_threshold: range(12, 100),
  search_rng_factor: factor,
  search_rng_epsilon: factor,
  write_rng_factor: factor,
  write_rng_epsilon: factor,
  nreplica_count: setting,
  num_samples_kmeans: setting,
  initial_lambda: factor,
  num_centers_to_merge_to: setting,
  center_drift_threshold: factor,
  quantize: maybe(words(["none", "four_bit_rabit_q_with_u_search"])),
};

function pick(from: SchemaMembers, names: readonly string[]): SchemaMembers {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}

function without(from: SchemaMembers, name: string): SchemaMembers {
  return Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));
}

const ONE_KIND = "At most one of `hnsw` and `spann`.";

export const DENSE_INDEX_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Configuration: Type.Object(
    {
      hnsw: maybe(closed(hnsw(0))),
      spann: maybe(closed(SPANN)),
      embedding_function: maybe(ref("EmbeddingFunction")),
    },
    { description: ONE_KIND },
  ),
  ConfigurationUpdate: closed(
    {
      hnsw: maybe(
        closed(
          pick(hnsw(0), [
            "ef_search",
            "max_neighbors",
            "num_threads",
            "resize_factor",
            "sync_threshold",
            "batch_size",
          ]),
        ),
      ),
      spann: maybe(closed(pick(SPANN, ["search_nprobe", "ef_search"]))),
      embedding_function: maybe(ref("EmbeddingFunction")),
    },
    { description: `${ONE_KIND} The distance stays as it is.` },
  ),
  VectorIndex: closed(
    {
      space,
      embedding_function: maybe(ref("EmbeddingFunction")),
      source_key: maybe(
        Type.String({ pattern: "^(?:#document$|[^#]|$)" }),
        "`#document`. The `defaults` may name another key, which is kept and means nothing.",
      ),
      hnsw: maybe(closed(without(hnsw(2), "space"))),
      spann: maybe(closed(without(SPANN, "space"))),
    },
    { description: ONE_KIND },
  ),
};
