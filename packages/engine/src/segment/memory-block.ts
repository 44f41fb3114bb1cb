/** A block in memory. Rows are only ever appended and never change. */
import type { Metadata } from "@sheaf/protocol";
import { BLOCK_DOCS } from "./block-docs.ts";
import { MetadataRows } from "./columns/metadata-rows.ts";
import { TrigramSignatures } from "./trigrams/trigram-signatures.ts";
import { DocColumns } from "./columns/doc-columns.ts";
import type { DocBlock } from "./doc-block.ts";

/** So many rows may be missing from the columns of a block that still fills before they are made anew. */
const STALE_ROWS = 256;
/** Columns are of whole words of rows. */
const WORD_ROWS = 32;

export class MemoryBlock implements DocBlock {
  readonly metadata = new MetadataRows();
  readonly signatures: TrigramSignatures;
  #columns = new DocColumns(this.metadata);
  #isSealed = false;

  constructor(signatures = new TrigramSignatures(BLOCK_DOCS)) {
    this.signatures = signatures;
  }

  /** Columns of the metadata of all rows but the newest; the same object until those are too many. */
  get columns(): DocColumns {
    const missing = this.metadata.length - this.#columns.rows;
    if (missing >= (this.#isSealed ? WORD_ROWS : STALE_ROWS)) this.#columns = new DocColumns(this.metadata);
    return this.#columns;
  }

  /** The next row, in steps where it is long. */
  *push(metadata: Metadata | null): Generator<void, void> {
    yield* this.metadata.push(metadata);
    if (this.metadata.length === BLOCK_DOCS) this.seal();
  }

  /** Nothing is added any more. */
  seal(): void {
    this.#isSealed = true;
  }
}
