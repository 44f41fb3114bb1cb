/** Record writes and reads after parsing: frozen, complete, with absent and `null` made the same. */
import type { Metadata, MetadataPatch, MetadataScalar } from "../metadata.ts";
import type { HighlightRequest, OrderBy, Where } from "../search/ast.ts";
import type { ChunkingChoice } from "./chunking.ts";
import type { DocumentText } from "./document-text.ts";
import type { Snippet } from "./highlights.ts";

export type WriteKind = "add" | "update" | "upsert";

/** One record of a write. A field that is `null` was not sent and keeps its old value. */
export interface WriteRecord {
  readonly id: string;
  readonly embedding: Float32Array | null;
  readonly document: DocumentText | null;
  readonly uri: string | null;
  /** `add` never holds a `null` value inside. */
  readonly metadata: MetadataPatch | null;
  /** Of a document that the server has cut: what is stored in place of the record. It has no document or embedding then. */
  readonly chunks?: readonly RecordChunk[];
}

/** A part of a document. */
export interface RecordChunk {
  /** In UTF-16 units of the document. */
  readonly start: number;
  readonly end: number;
  readonly embedding: Float32Array;
  readonly document: DocumentText;
  /** Sparse vectors of the part, by key; `null`: there are none. */
  readonly metadata: Metadata | null;
}

export interface WriteRequest {
  readonly kind: WriteKind;
  readonly records: readonly WriteRecord[];
  /** How documents are to be cut, whatever the schema says; left out: as that says. Nothing to the engine. */
  readonly chunking?: ChunkingChoice;
}

/** Names a state of a collection: a non-negative safe integer, which only the engine reads. */
export type ReadToken = number;

export interface DeleteOperation {
  readonly kind: "delete";
  readonly ids: readonly string[];
}

export type CommitOperation = WriteRequest | DeleteOperation;

/** Operations to apply in order, all or none, unless one of `readIds` has changed since `token`. */
export interface CommitRequest {
  /** `null` only where `readIds` is empty. */
  readonly token: ReadToken | null;
  readonly readIds: readonly string[];
  readonly operations: readonly CommitOperation[];
}

export interface CommitResult {
  /** Sequence number of the first operation; `null` if there was none. */
  readonly firstSequence: number | null;
  /** Records that the operations named. */
  readonly recordCount: number;
}

/** Which records: by id, by filter, or both (intersection). `null` = not restricted. */
export interface Selector {
  readonly ids: readonly string[] | null;
  readonly where: Where | null;
}

export interface FacetsRequest extends Selector {
  /** Metadata keys, each once. */
  readonly keys: readonly string[];
  /** Values of each key at most. */
  readonly limit: number;
  /** Buckets for the numbers of each key; `null`: none are asked for. */
  readonly histogram: number | null;
}

export interface FacetValue {
  readonly value: MetadataScalar;
  readonly count: number;
}

/** Numbers from `from` on and below `to`; the last bucket has its `to` as well. */
export interface FacetBucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** What the records of a selection have under one key. */
export interface Facet {
  readonly key: string;
  /** The most frequent first. */
  readonly values: readonly FacetValue[];
  /** Records that have no value there. */
  readonly missing: number;
  /** Occurrences of values that are not listed. */
  readonly other: number;
  /** Of the numbers; `null`: there are none. */
  readonly min: bigint | number | null;
  readonly max: bigint | number | null;
  /** `null`: not asked for. */
  readonly histogram: readonly FacetBucket[] | null;
}

export interface DeleteRequest extends Selector {
  readonly limit: number | null;
}

export interface Include {
  readonly documents: boolean;
  readonly embeddings: boolean;
  readonly metadatas: boolean;
  readonly uris: boolean;
  readonly distances: boolean;
  /** As the reply echoes it, in the order it was sent. */
  readonly keys: readonly string[];
}

export interface GetRequest extends Selector {
  /** Left out: insertion order. */
  readonly orderBy?: OrderBy;
  readonly limit: number | null;
  readonly offset: number;
  readonly include: Include;
  /** Left out: not asked for. */
  readonly highlight?: HighlightRequest;
  /** How embeddings are written. Left out: as lists of numbers. */
  readonly encoding?: "base64";
}

export interface QueryRequest extends Selector {
  /** One nearest-neighbour search per vector. */
  readonly embeddings: readonly Float32Array[];
  readonly limit: number;
  readonly include: Include;
}

/** One record of a reply; a field is `undefined` where it was not asked for and `null` where the record has none. */
export interface ResultRecord {
  readonly id: string;
  readonly embedding?: Float32Array | null;
  readonly document?: DocumentText | null;
  readonly uri?: string | null;
  readonly metadata?: Metadata | null;
  /** f32: the distance of a query or the score of a search. */
  readonly score?: number;
  /** Ranges as in `mergeRanges`; left out for a record without a document, too. */
  readonly highlights?: Uint32Array;
  readonly snippet?: Snippet;
  /** JSON of the score's trace, of an explained search; `"null"`: the search has no rank. */
  readonly trace?: string;
}
