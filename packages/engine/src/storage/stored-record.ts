/** A record as the store keeps it and as every index is built from it. */
import type { DocumentText, Metadata } from "@sheaf/protocol";

/** One version of a record's vector. */
export interface VectorVersion {
  /** Sequence number of the write that changed the record last. */
  readonly sequence: number;
  readonly embedding: Float32Array;
}

/** How far one version of a record's vector is from a query. */
export interface VectorDistance {
  readonly sequence: number;
  /** f32. */
  readonly distance: number;
}

/** One version of a record's document. */
export interface DocumentVersion {
  readonly sequence: number;
  /** UTF-8; `null`: it has none. */
  readonly document: Uint8Array | null;
}

export interface StoredRecord extends VectorVersion {
  /** Insertion order, from 0, never used twice in a collection. Ties of a score are broken by it. */
  readonly offset: number;
  readonly id: string;
  readonly document: DocumentText | null;
  readonly uri: string | null;
  readonly metadata: Metadata | null;
}
