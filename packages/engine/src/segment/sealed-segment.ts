/**
 * A segment as `SegmentWriter` leaves it: in the order of its vectors' lists, and never changed. DocIds are slots of its
 * `DenseSegment`.
 */
import type { IndexPlan, SparseIndexPlan } from "@sheaf/protocol";
import type { SegmentMemory } from "../storage/files/index-memory.ts";
import type { ReadOptions } from "../storage/files/segment-files.ts";
import type { SegmentSearch } from "./dense/segment-search.ts";
import type { SegmentScan } from "./dense-scan.ts";
import { SparsePostings } from "./postings/sparse-postings.ts";
import type { DocBlock } from "./doc-block.ts";
import { type SparseVectors, changedPostings, closeLeft } from "./mutable-segment.ts";
import { SealedBlock } from "./sealed-block.ts";
import type { DocParts, PackedDocs } from "./packed-docs.ts";
import type { LookupSegment, Segment, SegmentNeeds, SegmentVectors } from "./segment.ts";

export interface SealedParts {
  readonly id: number;
  /** Rows placed. */
  readonly rows: number;
  readonly search: SegmentSearch;
  /** Rows that are too long for codes; a bit for each docId. */
  readonly uncoded: Uint32Array | null;
  readonly docs: PackedDocs;
  readonly blocks: readonly DocBlock[];
  readonly postings: ReadonlyMap<string, SparsePostings>;
  /** Ends with the segment. */
  readonly memory: SegmentMemory;
  /** Makes parts of a file ready. */
  readonly prepare?: Segment["prepare"];
}

/** In a file. */
export interface FiledParts {
  readonly blocks: readonly DocBlock[];
  readonly docs: DocParts & { adopt(parts: DocParts): void };
  readonly postings: {
    adopt(postings: ReadonlyMap<string, SparsePostings>): void;
    /** Reads lists in slices; nothing for keys that it lacks. */
    prepare(keys: Iterable<string>, options?: ReadOptions): Promise<void>;
  };
}

export class SealedSegment implements LookupSegment {
  readonly isSealed = true;
  readonly id: number;
  /** Rows when it was sealed. */
  readonly rows: number;
  readonly blocks: readonly SealedBlock[];
  readonly vectors: SealedVectors;
  readonly docs: PackedDocs;
  readonly memory: SegmentMemory;
  #prepare: Segment["prepare"] | undefined;
  #postings: ReadonlyMap<string, SparsePostings>;
  /** A file has it, but for postings of keys that came later. */
  #isFiled: boolean;

  constructor({ id, rows, search, uncoded, docs, blocks, postings, memory, prepare }: SealedParts) {
    this.id = id;
    this.rows = rows;
    this.blocks = blocks.map((block) => new SealedBlock(block));
    this.vectors = new SealedVectors(search, uncoded);
    this.docs = docs;
    this.memory = memory;
    memory.add("codes", search.segment.codeBytes);
    this.#prepare = prepare;
    this.#postings = postings;
    this.#isFiled = search.segment.source !== null;
  }

  get capacity(): number {
    return this.vectors.coded;
  }

  get offsets(): Float64Array {
    return this.docs.offsets;
  }

  get sequences(): Float64Array {
    return this.docs.sequences;
  }

  get minOffset(): number {
    return this.docs.minOffset;
  }

  get docsByOffset(): Uint32Array {
    return this.docs.byOffset;
  }

  prepare(needs: SegmentNeeds, options?: ReadOptions): Promise<void> | undefined {
    return this.#prepare?.(needs, options);
  }

  /** What it has in memory alone is from now on what its file has, which is on this machine: it can be read again. */
  moveTo({ blocks, docs, postings }: FiledParts): void {
    postings.adopt(this.#postings);
    this.memory.set("unfiled", postingsBytes(this.#postings));
    // Postings of other keys were all that it had not.
    if (this.#isFiled) return;
    this.#isFiled = true;
    for (const [i, block] of this.blocks.entries()) block.moveTo(blocks[i]!);
    docs.adopt(this.docs.parts);
    this.docs.moveTo(docs);
    this.#prepare = ({ postings: keys = [] }, options) => {
      const unread = [...keys].filter((key) => this.#postings.get(key)?.isLoaded === false);
      return unread.length > 0 ? postings.prepare(unread, options) : undefined;
    };
  }

  idAt(docId: number): string {
    return this.docs.idAt(docId);
  }

  docOfId(id: string): number {
    return this.docs.docOfId(id);
  }

  docOfOffset(offset: number): number {
    return this.docs.docOfOffset(offset);
  }

  /** Keys that are indexed. */
  get sparse(): ReadonlyMap<string, SparsePostings> {
    return this.#postings;
  }

  postings(key: string): SparsePostings | undefined {
    return this.#postings.get(key);
  }

  /** As `MutableSegment`. */
  *indexSparse(
    plan: IndexPlan,
    live: readonly number[],
    vectorsOf: (docId: number) => SparseVectors,
  ): Generator<void, () => void> {
    const create = ({ statistics }: SparseIndexPlan): SparsePostings =>
      new SparsePostings({ hasLengths: statistics !== undefined });
    const changed = yield* changedPostings(this.#postings, { plan, live, vectorsOf, create, isFull: true });
    const before = postingsBytes(this.#postings);
    return () => {
      closeLeft(this.#postings, changed);
      this.#postings = changed;
      this.memory.add("unfiled", postingsBytes(changed) - before);
    };
  }

  close(): void {
    this.memory.close();
    this.vectors.search.segment.close();
    for (const postings of this.#postings.values()) postings.close();
  }
}

/** Of what no file has. */
function postingsBytes(postings: ReadonlyMap<string, SparsePostings>): number {
  let bytes = 0;
  for (const ofKey of postings.values()) if (!ofKey.isInFile) bytes += ofKey.bytes;
  return bytes;
}

class SealedVectors implements SegmentVectors {
  readonly search: SegmentSearch;
  readonly uncoded: Uint32Array | null;

  constructor(search: SegmentSearch, uncoded: Uint32Array | null) {
    this.search = search;
    this.uncoded = uncoded;
  }

  get coded(): number {
    return this.search.segment.capacity;
  }

  at(): null {
    return null;
  }

  scans(): SegmentScan[] {
    return [];
  }
}
