/**
 * The live rows of an index at one moment. Rows never change, so everything read through a snapshot stays as it was
 * while writes go on; only the store behind moves. A position is a row of one of its segments (see `DocBases`) and
 * means nothing outside this snapshot.
 */
import type { Metadata, MetadataValue } from "@sheaf/protocol";
import type { DocBlock } from "../segment/doc-block.ts";
import { norm } from "../kernels/distance.ts";
import { MAX_LENGTH } from "../segment/mutable-vectors.ts";
import type { Segment, SegmentNeeds } from "../segment/segment.ts";
import type { ReadOptions } from "../storage/files/segment-files.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import type { DenseTally } from "../segment/dense-tally.ts";
import { type CodedRows, codedRows } from "./coded-rows.ts";
import { type DenseSearch, searchDense } from "../segment/dense/search-dense.ts";
import { DocBases } from "./doc-bases.ts";
import { RowSet } from "./row-set.ts";
import type { LiveSegment, RowPlace } from "./segment-list.ts";
import { type Nearest, TopK } from "../segment/top-k.ts";

/** Filters whose rows are remembered, a bit for each row; most applications ask with few. */
const MAX_FILTERS = 32;

export interface DenseRequest {
  /** Prepared for the space. */
  readonly query: Float32Array;
  /** At least 1. */
  readonly k: number;
  /** Find the nearest with certainty. */
  readonly exact: boolean;
  /** Exact distance to the record at a position. May throw. */
  readonly distanceAt: (position: number) => number;
  readonly ahead?: DenseSearch["ahead"];
  /** Counts how it goes. */
  readonly tally?: DenseTally | undefined;
}

export interface DenseAnswer {
  /** Best first. */
  readonly nearest: Nearest;
  /** Rows that were not looked at; `null`: there are none. */
  readonly rest: RowSet | null;
}

export class IndexSnapshot {
  readonly segments: readonly Segment[];
  readonly bases: DocBases;
  readonly live: RowSet;
  readonly size: number;
  /** Of all segments, by position / `BLOCK_DOCS`; a segment that is being filled does not have all of its own. */
  readonly blocks: readonly (DocBlock | undefined)[];
  /** Place in `segments`. */
  readonly #places: ReadonlyMap<Segment, number>;
  readonly #counts = new WeakMap<RowSet, number>();
  /** By filter, the one asked last at the end. */
  readonly #filtered = new Map<string, RowSet>();

  readonly #coded = new WeakMap<RowSet, CodedRows>();

  constructor(entries: readonly LiveSegment[], size: number) {
    const segments = entries.map(({ segment }) => segment);
    this.segments = segments;
    this.size = size;
    this.#places = new Map(segments.map((segment, index) => [segment, index]));
    this.bases = new DocBases(segments.map(({ capacity }) => capacity));
    this.live = new RowSet(this.bases);
    entries.forEach(({ live }, index) => this.live.segment(index).set(live));
    const blocks = Array.from<DocBlock | undefined>({ length: this.bases.positions / BLOCK_DOCS });
    for (const [index, segment] of segments.entries())
      segment.blocks.forEach((block, i) => (blocks[this.bases.of(index) / BLOCK_DOCS + i] = block));
    this.blocks = blocks;
  }

  /** The rows that a filter left of all live ones, if it is among the last that were asked; `null`: not known. */
  filtered(key: string): RowSet | null {
    const rows = this.#filtered.get(key);
    if (rows === undefined) return null;
    this.#filtered.delete(key);
    this.#filtered.set(key, rows);
    return rows;
  }

  /** `rows` are not to be changed any more. */
  remember(key: string, rows: RowSet): void {
    this.#filtered.set(key, rows);
    if (this.#filtered.size <= MAX_FILTERS) return;
    for (const oldest of this.#filtered.keys()) {
      this.#filtered.delete(oldest);
      return;
    }
  }

  /** How many of its rows a set has, which is not to be changed any more: the same sets are asked for again. */
  countOf(rows: RowSet): number {
    if (rows === this.live) return this.size;
    let count = this.#counts.get(rows);
    if (count === undefined) this.#counts.set(rows, (count = rows.count()));
    return count;
  }

  /**
   * The nearest of the rows, which are not to be changed any more, as far as they have codes by now; `null`: none has, or
   * the query is too long. Pauses about every millisecond.
   */
  *searchDense(
    { query, k, exact, distanceAt, ahead, tally }: DenseRequest,
    rows: RowSet,
  ): Generator<void, DenseAnswer | null> {
    const { parts, rest } = this.#codedOf(rows);
    if (parts.length === 0 || !(norm(query) <= MAX_LENGTH)) return null;
    const size = this.#codedOf(this.live).count;
    const top = new TopK(k);
    for (const { position, distance } of yield* searchDense(parts, {
      query,
      k,
      exact,
      size,
      distanceAt,
      ahead,
      tally,
    }))
      top.push(distance, this.offset(position), position);
    return { nearest: top.sorted(), rest };
  }

  /** As `Segment.prepare`, for all segments. */
  prepare(needs: SegmentNeeds, options: ReadOptions): Promise<unknown> | undefined {
    let pending: Promise<void>[] | undefined;
    for (const segment of this.segments) {
      const ready = segment.prepare(needs, options);
      if (ready !== undefined) (pending ??= []).push(ready);
    }
    return pending && Promise.all(pending);
  }

  #codedOf(rows: RowSet): CodedRows {
    const known = this.#coded.get(rows);
    const coded = codedRows(rows, this.segments, known);
    if (coded !== known) this.#coded.set(rows, coded);
    return coded;
  }

  /** Position of a live row. */
  positionOf({ entry, docId }: RowPlace): number {
    return this.bases.of(this.#places.get(entry.segment)!) + docId;
  }

  /** As it is compared; `null`: it is not here in that form. */
  vector(position: number): Float32Array | null {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.vectors.at(position - this.bases.of(index));
  }

  /** Place of the record in insertion order. */
  offset(position: number): number {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.offsets[position - this.bases.of(index)]!;
  }

  /** Sequence number of the write that made this version. */
  sequence(position: number): number {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.sequences[position - this.bases.of(index)]!;
  }

  id(position: number): string {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.idAt(position - this.bases.of(index));
  }

  /** Sparse vectors are empty: only the store has them whole. */
  metadata(position: number): Metadata | null {
    return this.#blockOf(position).metadata.get(position % BLOCK_DOCS);
  }

  /** As in `metadata`, for one key. */
  metadataValue(position: number, key: string): MetadataValue | undefined {
    return this.#blockOf(position).metadata.value(position % BLOCK_DOCS, key);
  }

  /** What a look at a value of the record's metadata may have to walk through. */
  metadataBytes(position: number): number {
    return this.#blockOf(position).metadata.bytes(position % BLOCK_DOCS);
  }

  #blockOf(position: number): DocBlock {
    return this.blocks[Math.floor(position / BLOCK_DOCS)]!;
  }
}
