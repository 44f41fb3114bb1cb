/** A record as the store keeps it and as every index is built from it. */
import type { Metadata } from "@sheaf/protocol";

export interface StoredRecord {
  /** Insertion order, from 0, never used twice in a collection. Ties of a score are broken by it. */
  readonly offset: number;
  /** Sequence number of the write that changed the record last. */
  readonly sequence: number;
  readonly id: string;
  readonly embedding: Float32Array;
  readonly document: string | null;
  readonly uri: string | null;
  readonly metadata: Metadata | null;
}
