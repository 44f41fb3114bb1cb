/** Tenants, databases and collections as the catalog keeps them. */
import type { JsonFloat } from "../json/json-float.ts";
import type { Metadata } from "../metadata.ts";
import type { ChunkingChoice } from "../records/chunking.ts";

export interface Tenant {
  readonly name: string;
  readonly resourceName: string | null;
}

export interface Database {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
}

export type Space = "l2" | "cosine" | "ip";

/** Plain JSON, kept and returned as it was written: a float that is whole is a `JsonFloat`, `1` is a number. */
export type Json =
  | null
  | boolean
  | number
  | JsonFloat
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * What the engine needs to know of one index. Derived from `schema` by `indexPlan` and never stored: `schema` is
 * the truth.
 */
export interface SparseIndexPlan {
  readonly key: string;
  readonly bm25: boolean;
  /** Metadata key or `#document` whose text fills a missing vector; `null`: writers send vectors. */
  readonly sourceKey: string | null;
  readonly embeddingFunction: JsonObject | null;
  /**
   * Values are term frequencies, scored by BM25 with the statistics of the collection; absent: values are weights.
   * `bm25` says nothing then.
   */
  readonly statistics?: Bm25Parameters;
}

export interface Bm25Parameters {
  /** Saturation of the term frequency, within 0 and 1,000. */
  readonly k: number;
  /** Weight of the document length, within 0 and 1. */
  readonly b: number;
}

export interface IndexPlan {
  readonly space: Space;
  readonly embeddingFunction: JsonObject | null;
  readonly sparse: readonly SparseIndexPlan[];
  /** Left out: there are no chunks of documents. */
  readonly chunking?: ChunkingChoice;
}

/** One embedding model as a collection remembers it. */
export interface ModelIdentity {
  readonly identifier: string;
  readonly revision: string;
  /** `sha256:<hex>` over the weights. */
  readonly digest: string;
}

/** Model identifier -> the weights that vectors of the collection were made with, as far as the server made them. */
export type CollectionModels = Readonly<Record<string, ModelIdentity>>;

export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
  readonly metadata: Metadata | null;
  /** `configuration_json` as clients read it. */
  readonly configuration: JsonObject;
  /** Full merged schema as clients read it. */
  readonly schema: JsonObject;
  /** Fixed by the first written embedding; `null` before. */
  readonly dimension: number | null;
  /** Sequence number of the newest write that is checkpointed. */
  readonly logPosition: number;
  readonly version: number;
  /** The server's own memory; no reply shows it. */
  readonly models: CollectionModels;
}

/** A collection addressed by id under the tenant and database of the request; any mismatch is a 404. */
export interface CollectionRef {
  readonly tenant: string;
  readonly database: string;
  readonly id: string;
}

export interface CreateCollection {
  readonly tenant: string;
  readonly database: string;
  readonly name: string;
  readonly metadata: Metadata | null;
  readonly configuration: JsonObject;
  readonly schema: JsonObject;
  readonly getOrCreate: boolean;
}

/** Fields that are `undefined` stay as they are; `schema` and `configuration` are whole replacements. */
export interface UpdateCollection {
  readonly name?: string;
  readonly metadata?: Metadata | null;
  readonly configuration?: JsonObject;
  readonly schema?: JsonObject;
}
