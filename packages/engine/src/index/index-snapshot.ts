/**
 * The live rows of an index at one moment. Rows never change, so everything read through a snapshot stays as it was
 * while writes go on; only the store behind moves. A position is a row of one of its segments (see `DocBases`) and
 * means nothing outside this snapshot.
 */
import type { Metadata, MetadataValue } from "@sheaf/protocol";
import { DocBases } from "./doc-bases.ts";
import type { Row } from "./record-index.ts";
import { RowSet, SEGMENT_ROWS } from "./row-set.ts";
import type { Segment } from "./segment.ts";

/** Filters whose rows are remembered, a bit for each row; most applications ask with few. */
const MAX_FILTERS = 32;

export class IndexSnapshot {
  readonly segments: readonly Segment[];
  readonly bases: DocBases;
  readonly live: RowSet;
  readonly size: number;
  /** Place in `segments` by number. */
  readonly #places: ReadonlyMap<number, number>;
  readonly #counts = new WeakMap<RowSet, number>();
  /** By filter, the one asked last at the end. */
  readonly #filtered = new Map<string, RowSet>();

  constructor(segments: readonly Segment[], size: number) {
    this.segments = segments;
    this.size = size;
    this.#places = new Map(segments.map(({ number }, index) => [number, index]));
    this.bases = new DocBases(segments.map(({ capacity }) => capacity));
    this.live = new RowSet(this.bases);
    segments.forEach((segment, index) => this.live.segment(index).set(segment.live));
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

  /** Position of a row, or -1 if its segment is not in the snapshot. */
  positionOf(row: Row): number {
    const index = this.#places.get(Math.floor(row / SEGMENT_ROWS));
    return index === undefined ? -1 : this.bases.of(index) + (row % SEGMENT_ROWS);
  }

  /** As it is compared; `null`: the store alone has it. */
  vector(position: number): Float32Array | null {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.vector(position - this.bases.of(index));
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
    return this.segments[index]!.ids[position - this.bases.of(index)]!;
  }

  /** Sparse vectors are empty: only the store has them whole. */
  metadata(position: number): Metadata | null {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.metadata.get(position - this.bases.of(index));
  }

  /** As in `metadata`, for one key. */
  metadataValue(position: number, key: string): MetadataValue | undefined {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.metadata.value(position - this.bases.of(index), key);
  }

  /** What a look at a value of the record's metadata may have to walk through. */
  metadataBytes(position: number): number {
    const index = this.bases.segmentOf(position);
    return this.segments[index]!.metadata.bytes(position - this.bases.of(index));
  }
}
