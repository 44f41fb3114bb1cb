/** How collections are described: which values are indexed, and which vectors the server computes. Member names are the wire's. */

export type Space = "l2" | "cosine" | "ip";

/**
 * `default`, `sheaf`, `chroma-cloud-qwen`, `chroma-cloud-splade` and `chroma_bm25` are known to the server. Any other is
 * kept, and its vectors come from clients.
 */
export type EmbeddingFunction =
  | { readonly type: "known"; readonly name: string; readonly config?: object }
  | { readonly type: "legacy" | "unknown" };

export interface IndexSwitch<C = object> {
  readonly enabled: boolean;
  readonly config?: C;
}

export interface VectorIndex {
  readonly space?: Space;
  readonly embedding_function?: EmbeddingFunction;
  /** `#document`. */
  readonly source_key?: string;
  readonly hnsw?: object;
  readonly spann?: object;
}

export interface SparseIndex {
  readonly embedding_function?: EmbeddingFunction;
  /** `#document` or a metadata field that a missing vector is made from. */
  readonly source_key?: string;
  /** Weigh query terms by how rare they are in the collection. */
  readonly bm25?: boolean;
  readonly algorithm?: "wand" | "max_score";
}

/** Kinds of values and their indexes. */
export interface ValueTypes {
  readonly string?: { readonly fts_index?: IndexSwitch; readonly string_inverted_index?: IndexSwitch };
  readonly float_list?: { readonly vector_index?: IndexSwitch<VectorIndex> };
  readonly sparse_vector?: { readonly sparse_vector_index?: IndexSwitch<SparseIndex> };
  readonly int?: { readonly int_inverted_index?: IndexSwitch };
  readonly float?: { readonly float_inverted_index?: IndexSwitch };
  readonly bool?: { readonly bool_inverted_index?: IndexSwitch };
}

/**
 * How the server cuts a document into chunks that fit its model. Document `x` becomes the records `x#0` to `x#n`, with `parent`,
 * `start` and `end` (in UTF-16 units, as JavaScript counts) in their metadata; its id writes, reads and deletes all of them.
 */
export type Chunking =
  | {
      /** Where chunks end: between words, sentences or before Markdown headings. */
      readonly by: "tokens" | "sentences" | "headings";
      /** Tokens of a chunk at most, 256 if omitted; never more than the model takes. */
      readonly size?: number;
      /** Tokens at the end of a chunk that the next one begins with at most, 0 if omitted. */
      readonly overlap?: number;
    }
  /** Documents stay whole. */
  | { readonly by: "none" };

/**
 * What the server writes into the metadata of a chunk. `Note & ChunkFields` is the type of a collection's metadata where `Note` is
 * that of its documents.
 */
export interface ChunkFields {
  /** Id of the document. */
  readonly parent?: string;
  /** Where the chunk begins in its document, in UTF-16 units. */
  readonly start?: number;
  /** Where it ends. */
  readonly end?: number;
}

/** Laid over the server's default schema. `hybridSchema` makes one. */
export interface Schema {
  /** For keys that the schema does not list. */
  readonly defaults?: ValueTypes;
  readonly keys?: Readonly<Record<string, ValueTypes>>;
  /** How documents are cut; left out: they stay whole. Needs a function that the server has. */
  readonly chunking?: Chunking;
  /** Into how many parts the collection is divided, 1 to 64; of servers on a database. It never changes. */
  readonly partitions?: number;
}

/** Instead of a schema, as older clients describe a collection. */
export interface Configuration {
  readonly hnsw?: object | null;
  readonly spann?: object | null;
  readonly embedding_function?: EmbeddingFunction | null;
}
