/**
 * A block of a sealed segment, wherever its parts are: in memory, as the segment was made, until its file is there. They say
 * the same in both places, so snapshots that have the block do not notice.
 */
import type { BlockColumns, DocBlock } from "./doc-block.ts";
import type { RowMetadata } from "./columns/row-metadata.ts";
import type { Signatures } from "./trigrams/signatures.ts";

export class SealedBlock implements DocBlock {
  #block: DocBlock;

  constructor(block: DocBlock) {
    this.#block = block;
  }

  get metadata(): RowMetadata {
    return this.#block.metadata;
  }

  get signatures(): Signatures {
    return this.#block.signatures;
  }

  get columns(): BlockColumns {
    return this.#block.columns;
  }

  moveTo(block: DocBlock): void {
    this.#block = block;
  }
}
