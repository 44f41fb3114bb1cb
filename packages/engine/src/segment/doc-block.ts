/**
 * What filters look at, of up to `BLOCK_DOCS` docIds of a segment: metadata as rows, columns of it, and the trigrams of
 * documents. In memory, or in a file and read when it is asked for.
 */
import type { PackedColumn } from "./columns/column-builder.ts";
import type { MetadataColumn } from "./columns/metadata-column.ts";
import type { RowMetadata } from "./columns/row-metadata.ts";
import type { Signatures } from "./trigrams/signatures.ts";

export interface DocBlock {
  readonly metadata: RowMetadata;
  readonly signatures: Signatures;
  readonly columns: BlockColumns;
}

/** Columns of the metadata of a block's first rows; later rows are the caller's to test. */
export interface BlockColumns {
  /** Rows covered, a multiple of 32. */
  readonly rows: number;
  /** Keys whose columns are in memory. */
  readonly keys: Iterable<string>;
  /** A few keys that many of the rows hold, the most frequent first: what a filter is likely to ask for. */
  readonly common: readonly string[];
  /** The column if it is in memory. */
  peek(key: string): MetadataColumn | undefined;
  /** Reads or makes the column if need be; pauses about every millisecond. `null`: it would be too large. */
  column(key: string): Generator<undefined, MetadataColumn | null>;
  /** Has the column in memory, unless others would have to go for it; pauses as often. `false`: nothing was to be done. */
  preload(key: string): Generator<undefined, boolean>;
  /** The column as a file has it, if it was made in memory and is there; `null`: it would be too large. */
  packed(key: string): PackedColumn | null | undefined;
}
