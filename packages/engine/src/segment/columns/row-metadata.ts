/** The metadata of the rows of a block. Sparse vectors are empty: they are in the postings, and whole in the store. */
import type { Metadata, MetadataValue } from "@sheaf/protocol";

export interface RowMetadata {
  /** Rows. */
  readonly length: number;
  get(row: number): Metadata | null;
  /** `get` of a row that may be long. */
  getInSteps(row: number): Generator<void, Metadata | null>;
  /** `undefined`: the row does not have the key. */
  value(row: number, key: string): MetadataValue | undefined;
  /** Of all rows, about. */
  readonly totalBytes: number;
  /** What a look at a value of the row may have to walk through. */
  bytes(row: number): number;
}
