/**
 * The sparse vectors of one key within a segment, by term: packed blocks, and tails of what was added since. A segment
 * that is being filled packs a tail from time to time, a block for each `BLOCK_DOCS` docIds; a sealed one is written
 * with larger blocks and has no tails.
 */
import type { SparseVector } from "@sheaf/protocol";
import { BLOCK_DOCS } from "../block-docs.ts";
import { MAX_LIST_ROWS } from "./posting-lists.ts";
import { SparseBlock } from "./sparse-block.ts";
import { SparseTail } from "./sparse-tail.ts";

/** Postings of a tail that a search walks in some microseconds. */
const MIN_TAIL = 8_192;
/** A tail may become so large beside what is packed: a search walks it, a packing copies what is packed. */
const MAX_TAIL_SHARE = 1 / 4;
/** Of the longest vectors so many wait at least: packed after every few, all would be copied again and again. */
const LONG_VECTORS = 64;
const LONG_VECTOR = 2_048;

/** Its rows are docIds of the segment from `firstDoc` on. */
interface Placed {
  readonly firstDoc: number;
}

export interface PlacedBlock extends Placed {
  readonly block: SparseBlock;
}

export interface PlacedTail extends Placed {
  readonly tail: SparseTail;
}

export class SparsePostings {
  #blocks: readonly PlacedBlock[];
  /** Reads the blocks when they are first asked for. */
  #load: (() => readonly PlacedBlock[]) | null = null;
  /** Of the docIds that are being filled. */
  #tail = new SparseTail();
  #firstDoc = 0;
  /** Packed rows of the same docIds. */
  #packed: SparseBlock | null = null;
  readonly #minTail: number;

  /** `minTail`: postings that are not packed yet, at least; small for tests. */
  constructor(minTail = MIN_TAIL, blocks: readonly PlacedBlock[] = []) {
    this.#minTail = minTail;
    this.#blocks = [...blocks];
  }

  /** Of a sealed segment: `blocks` as `mergePostings` gives them. */
  static sealed(blocks: readonly SparseBlock[]): SparsePostings {
    return new SparsePostings(
      undefined,
      blocks.map((block, i) => ({ block, firstDoc: i * MAX_LIST_ROWS })),
    );
  }

  /** Of a sealed segment in a file. */
  static lazy(load: () => readonly PlacedBlock[]): SparsePostings {
    const postings = new SparsePostings();
    postings.#load = load;
    return postings;
  }

  get isLoaded(): boolean {
    return this.#load === null;
  }

  get blocks(): readonly PlacedBlock[] {
    if (this.#load !== null) {
      this.#blocks = this.#load();
      this.#load = null;
    }
    return this.#packed === null
      ? this.#blocks
      : [...this.#blocks, { block: this.#packed, firstDoc: this.#firstDoc }];
  }

  /** `null`: everything is packed. */
  get tail(): PlacedTail | null {
    return this.#tail.postings === 0 ? null : { tail: this.#tail, firstDoc: this.#firstDoc };
  }

  /** `docId` is larger than every one before. */
  add(docId: number, vector: SparseVector): void {
    const firstDoc = docId - (docId % BLOCK_DOCS);
    if (firstDoc !== this.#firstDoc) this.#begin(firstDoc);
    this.#tail.add(docId - firstDoc, vector);
    const packed = this.#packed?.values ?? 0;
    const least = vector.indices.length < LONG_VECTOR ? this.#minTail : LONG_VECTORS * vector.indices.length;
    if (this.#tail.postings >= Math.max(least, packed * MAX_TAIL_SHARE)) this.#pack();
  }

  /** Nothing is added afterwards. */
  seal(): void {
    if (this.#tail.postings > 0) this.#pack();
  }

  /** Searches under way may go on, and even begin to read lists. */
  close(): void {
    if (this.#load !== null) return;
    for (const { block } of this.blocks) block.close();
  }

  #begin(firstDoc: number): void {
    this.seal();
    this.#blocks = [...this.blocks];
    this.#packed = null;
    this.#firstDoc = firstDoc;
  }

  #pack(): void {
    const sources = [{ lists: this.#tail.pack(BLOCK_DOCS), firstDoc: 0, docIds: null }];
    if (this.#packed !== null) sources.unshift({ lists: this.#packed.lists, firstDoc: 0, docIds: null });
    const merge = SparseBlock.merge(sources, BLOCK_DOCS);
    let step = merge.next();
    while (step.done !== true) step = merge.next();
    this.#packed?.close();
    this.#packed = step.value[0]!;
    this.#tail = new SparseTail();
  }
}
