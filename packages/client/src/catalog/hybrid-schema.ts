/** Schemas whose vectors the server computes. */
import { type MembersOf, requireKnown } from "../require-known.ts";
import type { Chunking, EmbeddingFunction, Schema, Space } from "./schema.ts";

export interface HybridSchemaParams {
  /** Dense model of the documents; the bundled one if omitted. */
  readonly model?: string;
  readonly space?: Space;
  /** Metadata key that holds each document's BM25 vector. */
  readonly sparseKey?: string;
  /** Cut documents over the model's limit instead of refusing them. */
  readonly truncate?: boolean;
  /** Cut documents into chunks instead, each a record of its own. */
  readonly chunking?: Chunking;
}

const HYBRID: MembersOf<HybridSchemaParams> = {
  model: true,
  space: true,
  sparseKey: true,
  truncate: true,
  chunking: true,
};

/**
 * A dense index and a BM25 index over `#document`, both filled on the server at every write. BM25 scores by the average
 * length and the document frequencies of the collection.
 */
export function hybridSchema(params: HybridSchemaParams = {}): Schema {
  requireKnown(params, HYBRID, "params");
  const model = params.model ?? "sentence-transformers/all-MiniLM-L6-v2";
  const dense: EmbeddingFunction = {
    type: "known",
    name: "sheaf",
    config: { model, truncate: params.truncate ?? false },
  };
  // Whose statistics it has, the server writes into the schema: one that does not know of them must not be told.
  const sparse: EmbeddingFunction = { type: "known", name: "sheaf", config: { model: "sheaf/bm25" } };
  const vector = {
    space: params.space ?? "cosine",
    embedding_function: dense,
    source_key: "#document",
  };
  const sparseIndex = { bm25: true, embedding_function: sparse, source_key: "#document" };
  return {
    defaults: {},
    keys: {
      "#embedding": { float_list: { vector_index: { enabled: true, config: vector } } },
      [params.sparseKey ?? "bm25"]: {
        sparse_vector: { sparse_vector_index: { enabled: true, config: sparseIndex } },
      },
    },
    ...(params.chunking !== undefined && { chunking: params.chunking }),
  };
}
