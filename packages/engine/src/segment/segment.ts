/**
 * One partition of a collection's rows. A row is one version of a record; it is known by its segment and its docId there
 * and never changes. Which rows are live is a bitmap beside the segment, of which every snapshot has its own copy.
 * Mutable segments take rows in the order they are written; sealed ones are written by `SegmentWriter` in the order of
 * their vectors' lists. Sealed segments have docIds that belong to no row; they are never live.
 */
import type { ReadOptions } from "../storage/files/segment-files.ts";
import type { SegmentSearch } from "./dense/segment-search.ts";
import type { SegmentScan } from "./dense-scan.ts";
import type { SparsePostings } from "./postings/sparse-postings.ts";
import type { DocBlock } from "./doc-block.ts";

/** What is about to be asked of a segment. */
export interface SegmentNeeds {
  /** The nearest to a vector. */
  readonly dense?: boolean;
  /** Identities of rows; or also rows by id or offset. */
  readonly docs?: "identities" | "lookup";
  /** Keys whose postings are searched. */
  readonly postings?: Iterable<string>;
  /** Keys whose columns are looked at. */
  readonly columns?: Iterable<string>;
  /** Buckets of trigrams. */
  readonly trigrams?: Iterable<number>;
  /** Rows whose metadata is read. */
  readonly metadata?: Iterable<number>;
}

export interface Segment {
  /** Rises from segment to segment of an index and is never used twice. */
  readonly id: number;
  /** DocIds that there may be, a multiple of 32. */
  readonly capacity: number;
  /** Record offset by docId, the record's place in insertion order. */
  readonly offsets: Float64Array;
  /** Sequence number of the write that made the row, by docId. */
  readonly sequences: Float64Array;
  /** Smallest record offset of any row, dead ones included. */
  readonly minOffset: number;
  /** DocIds of all rows, ascending by record offset; `null`: that is the order they have. */
  readonly docsByOffset: Uint32Array | null;
  /** Metadata and signatures, of `BLOCK_DOCS` docIds each. */
  readonly blocks: readonly DocBlock[];
  readonly vectors: SegmentVectors;
  /**
   * Called before a search is computed, so that nothing that it asks for has to be waited for; `undefined`: all of it can
   * be read at once. Throws `SegmentDamaged`, as whatever asks for a part of a file.
   */
  prepare(needs: SegmentNeeds, options?: ReadOptions): Promise<void> | undefined;
  /** The record's id. */
  idAt(docId: number): string;
  /** The sparse vectors of a key, where it is indexed. */
  postings(key: string): SparsePostings | undefined;
}

export interface SegmentVectors {
  /** Finds rows by codes of their vectors; `null`: no row has one. */
  readonly search: SegmentSearch | null;
  /** Rows below this docId have codes… */
  readonly coded: number;
  /** … but for these, which are too long for it; a bit for each docId. */
  readonly uncoded: Uint32Array | null;
  /** As it is compared; `null`: it is not here in this form. */
  at(docId: number): Float32Array | null;
  /** Rows whose vectors are here, for an exact scan. `docs`: a bit for each docId; `base`: position of docId 0. */
  scans(docs: Uint32Array, base: number): SegmentScan[];
}

/** A segment whose rows can be looked up. */
export interface LookupSegment extends Segment {
  /** DocId of the newest row with the id, live or not; -1: there is none. */
  docOfId(id: string): number;
  /** The same by offset. */
  docOfOffset(offset: number): number;
}
