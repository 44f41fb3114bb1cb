/**
 * Documents that filters have read, kept in memory for the next filter: to read a short one from the store takes longer
 * than to search it. Rows never change, so what is kept is never wrong. All collections of an engine share a bound;
 * once it is reached, blocks of rows that were not searched for a while make room, and if there is none nothing more is kept.
 */
import type { DocBlock } from "../segment/doc-block.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";

const DOCUMENT_MEMORY_BYTES = 64 * 1024 * 1024;
const INDEX_SHARE = 1 / 32;
/** A longer one is searched for longer than it is read. */
const LONGEST_KEPT_BYTES = 4_096;
/** A segment that was searched since is not to make room: it is soon searched again. */
const IN_USE_MS = 10_000;
const FIRST_TEXT_BYTES = 16 * 1024;
const NOT_KEPT = 0xffff_ffff;
const NO_DOCUMENT = 0xffff_fffe;
const TABLE_BYTES_PER_ROW = 2 * 4;

export class DocumentMemory {
  readonly #bound: number;
  readonly #byBlock = new WeakMap<DocBlock, BlockDocuments>();
  /** When they were searched; the one that was not for longest comes first. */
  readonly #used = new Map<BlockDocuments, number>();
  #held = 0;

  /** @param indexMemory Of all indexes, in bytes: it gets a part of it. */
  constructor(indexMemory = Infinity) {
    this.#bound = Math.min(DOCUMENT_MEMORY_BYTES, indexMemory * INDEX_SHARE);
  }

  /** Bytes that are taken. */
  get held(): number {
    return this.#held;
  }

  /** For a search that begins. */
  of(block: DocBlock): BlockDocuments {
    let documents = this.#byBlock.get(block);
    if (documents === undefined) {
      documents = new BlockDocuments(this);
      this.#byBlock.set(block, documents);
    } else if (this.#used.delete(documents)) this.#used.set(documents, performance.now());
    return documents;
  }

  /** `false`: there is no room for so much more. */
  take(bytes: number, by: BlockDocuments): boolean {
    for (const [documents, at] of this.#used) {
      if (this.#held + bytes <= this.#bound || performance.now() - at < IN_USE_MS) break;
      if (documents !== by) this.#drop(documents);
    }
    if (this.#held + bytes > this.#bound) return false;
    this.#held += bytes;
    this.#used.set(by, performance.now());
    return true;
  }

  #drop(documents: BlockDocuments): void {
    this.#held -= documents.bytes;
    this.#used.delete(documents);
    documents.clear();
  }
}

/** Of the rows of one block. */
export class BlockDocuments {
  readonly #memory: DocumentMemory;
  /** By row, where the document lies in `#text`. */
  #starts: Uint32Array | null = null;
  #lengths = new Uint32Array(0);
  #text = new Uint8Array(0);
  #end = 0;

  constructor(memory: DocumentMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#starts === null ? 0 : TABLE_BYTES_PER_ROW * BLOCK_DOCS + this.#text.length;
  }

  /** UTF-8, until the next call; `null`: the row has no document, `undefined`: it is not kept. */
  get(row: number): Uint8Array | null | undefined {
    const start = this.#starts === null ? NOT_KEPT : this.#starts[row]!;
    if (start === NOT_KEPT) return undefined;
    return start === NO_DOCUMENT ? null : this.#text.subarray(start, start + this.#lengths[row]!);
  }

  /** Keeps a copy, of a row that is not kept, if there is room for it. */
  keep(row: number, document: Uint8Array | null): void {
    const length = document === null ? 0 : document.length;
    if (length > LONGEST_KEPT_BYTES || !this.#reserve(length)) return;
    this.#starts![row] = document === null ? NO_DOCUMENT : this.#end;
    if (document === null) return;
    this.#lengths[row] = length;
    this.#text.set(document, this.#end);
    this.#end += length;
  }

  clear(): void {
    this.#starts = null;
    this.#lengths = new Uint32Array(0);
    this.#text = new Uint8Array(0);
    this.#end = 0;
  }

  #reserve(length: number): boolean {
    const needed = this.#end + length;
    if (this.#starts !== null && needed <= this.#text.length) return true;
    const capacity = Math.max(needed, 2 * this.#text.length, FIRST_TEXT_BYTES);
    const more =
      capacity - this.#text.length + (this.#starts === null ? TABLE_BYTES_PER_ROW * BLOCK_DOCS : 0);
    if (!this.#memory.take(more, this)) return false;
    if (this.#starts === null) {
      this.#starts = new Uint32Array(BLOCK_DOCS).fill(NOT_KEPT);
      this.#lengths = new Uint32Array(BLOCK_DOCS);
    }
    const text = new Uint8Array(capacity);
    text.set(this.#text.subarray(0, this.#end));
    this.#text = text;
    return true;
  }
}
