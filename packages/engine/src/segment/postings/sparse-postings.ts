/**
 * The sparse vectors of one key within a segment, by term: packed blocks, and tails of what was added since. A segment
 * that is being filled has a tail packed from time to time, a block for each `BLOCK_DOCS` docIds; a sealed one is written
 * with larger blocks and has no tails.
 */
import type { SparseVector } from "@sheaf/protocol";
import type { Evictable, SegmentMemory } from "../../storage/files/index-memory.ts";
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

/** Blocks in a file. */
export interface PostingsFile {
  /** Reads them. */
  readonly read: () => readonly PlacedBlock[];
  /** What they take in memory; they make room where others need it more. */
  readonly memory: SegmentMemory;
}

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

export interface PostingsOptions {
  /** Postings that are not packed yet, at least; small for tests. */
  readonly minTail?: number | undefined;
  /** Keeps the lengths of the documents that are added. */
  readonly hasLengths?: boolean;
  readonly blocks?: readonly PlacedBlock[];
}

export class SparsePostings implements Evictable {
  /** Blocks were asked for. */
  isUsed = false;
  #blocks: readonly PlacedBlock[];
  #file: PostingsFile | null = null;
  /** Blocks are in the file alone, until they are asked for. */
  #isUnread = false;
  /** Of the docIds that are being filled. */
  #tail: SparseTail;
  #firstDoc = 0;
  /** To be packed, oldest first: nothing is added to them any more. */
  #waiting: readonly PlacedTail[] = [];
  #packing: Generator<void, void> | null = null;
  readonly #minTail: number;
  readonly #hasLengths: boolean;

  constructor({ minTail = MIN_TAIL, hasLengths = false, blocks = [] }: PostingsOptions = {}) {
    this.#minTail = minTail;
    this.#hasLengths = hasLengths;
    this.#tail = new SparseTail(hasLengths);
    this.#blocks = [...blocks];
  }

  /** Of a sealed segment: `blocks` as `mergePostings` gives them. */
  static sealed(blocks: readonly SparseBlock[]): SparsePostings {
    return new SparsePostings({
      blocks: blocks.map((block, i) => ({ block, firstDoc: i * MAX_LIST_ROWS })),
    });
  }

  /** Of a sealed segment in a file. */
  static lazy(file: PostingsFile): SparsePostings {
    const postings = new SparsePostings();
    postings.#file = file;
    postings.#isUnread = true;
    return postings;
  }

  /** The blocks, which are all there is, can be read again. */
  moveTo(file: PostingsFile): void {
    if (this.#file !== null) return;
    this.#file = file;
    file.memory.adopt(this);
  }

  /** They can be read again. */
  get isInFile(): boolean {
    return this.#file !== null;
  }

  get isLoaded(): boolean {
    return !this.#isUnread;
  }

  get blocks(): readonly PlacedBlock[] {
    this.isUsed = true;
    if (!this.#isUnread) return this.#blocks;
    const blocks = this.#file!.read();
    this.#blocks = blocks;
    this.#isUnread = false;
    // Where there is no room at all they make room at once, and are the caller's alone.
    this.#file!.memory.keep(this);
    return blocks;
  }

  /** Of the packed blocks that are in memory. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { block }) => sum + block.memoryBytes, 0);
  }

  /** Searches under way may go on. */
  evict(): void {
    this.#file!.memory.forget(this);
    for (const { block } of this.#blocks) block.close();
    this.#blocks = [];
    this.#isUnread = true;
  }

  /** What is not packed yet. */
  get tails(): readonly PlacedTail[] {
    if (this.#tail.postings === 0) return this.#waiting;
    return [...this.#waiting, { tail: this.#tail, firstDoc: this.#firstDoc }];
  }

  /** Tails are to be packed. */
  get isDue(): boolean {
    return this.#waiting.length > 0;
  }

  /** `docId` is larger than every one before. */
  add(docId: number, vector: SparseVector): void {
    const firstDoc = docId - (docId % BLOCK_DOCS);
    if (firstDoc !== this.#firstDoc) {
      this.end();
      this.#firstDoc = firstDoc;
    }
    this.#tail.add(docId - firstDoc, vector);
    const packed = this.#blockOf(firstDoc)?.values ?? 0;
    const least = vector.indices.length < LONG_VECTOR ? this.#minTail : LONG_VECTORS * vector.indices.length;
    if (this.#tail.postings >= Math.max(least, packed * MAX_TAIL_SHARE)) this.end();
  }

  /** The tail is to be packed, however short it is. */
  end(): void {
    if (this.#tail.postings === 0) return;
    this.#waiting = [...this.#waiting, { tail: this.#tail, firstDoc: this.#firstDoc }];
    this.#tail = new SparseTail(this.#hasLengths);
  }

  /** Packs some of what waits, for about a millisecond; false: nothing does. Rows may be added between two steps. */
  packStep(): boolean {
    if (!this.isDue) return false;
    this.#packing ??= this.#packOldest();
    if (this.#packing.next().done === true) this.#packing = null;
    return true;
  }

  /** All of it; several may do it together. */
  *pack(): Generator<void, void> {
    while (this.packStep()) yield;
  }

  /** Nothing is added afterwards. */
  *seal(): Generator<void, void> {
    this.end();
    yield* this.pack();
  }

  /** Searches under way may go on, and even begin to read lists. */
  close(): void {
    if (this.#isUnread) return;
    this.#file?.memory.drop(this);
    this.#packing?.return();
    this.#waiting = [];
    for (const { block } of this.#blocks) block.close();
  }

  #blockOf(firstDoc: number): SparseBlock | undefined {
    const last = this.#blocks.at(-1);
    return last?.firstDoc === firstDoc ? last.block : undefined;
  }

  /** Of the oldest docIds all that waits, together with what is packed. */
  *#packOldest(): Generator<void, void> {
    const { firstDoc } = this.#waiting[0]!;
    const tails = this.#waiting.filter((waiting) => waiting.firstDoc === firstDoc);
    const known = this.#blockOf(firstDoc);
    const sources = known === undefined ? [] : [{ lists: known.lists, firstDoc: 0, docIds: null }];
    for (const { tail } of tails)
      sources.push({ lists: yield* tail.pack(BLOCK_DOCS), firstDoc: 0, docIds: null });
    const [block] = yield* SparseBlock.merge(sources, BLOCK_DOCS);
    const others = known === undefined ? this.#blocks : this.#blocks.slice(0, -1);
    this.#blocks = [...others, { block: block!, firstDoc }];
    this.#waiting = this.#waiting.slice(tails.length);
    known?.close();
  }
}
