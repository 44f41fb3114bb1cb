/**
 * Full segments that most rows have left before they were sealed: every write moves some of the others to the newest segment,
 * so garbage stays within about what lives.
 */
import { DataAbsent } from "../storage/data-absent.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import type { RecordReader } from "./collection-index-options.ts";
import type { LiveSegment, SegmentList } from "./segment-list.ts";

/** Rows moved with every write: the last one of a segment is moved before as many are written. */
const MOVED_PER_WRITE = 4;

export interface HollowSegmentsOptions {
  readonly segments: SegmentList;
  readonly reader: RecordReader;
  /** Rows of this one may be moved. */
  readonly isMovable: (entry: LiveSegment) => boolean;
  /** Stages a row, in steps. */
  readonly write: (record: StoredRecord) => Generator<void, void>;
}

export class HollowSegments {
  readonly #options: HollowSegmentsOptions;
  /** Where the search for rows goes on. */
  #moved = 0;
  /** What the background has begun. */
  #begun: Generator<void, void> | null = null;

  constructor(options: HollowSegmentsOptions) {
    this.#options = options;
  }

  get next(): LiveSegment | undefined {
    const { segments, isMovable } = this.#options;
    return segments.entries.find((entry) => entry.isHollow && isMovable(entry));
  }

  /** Other segments are hollow than before. */
  restart(): void {
    this.#moved = 0;
    this.#begun = null;
  }

  /** The background has staged a part of what it moves. */
  get isMoving(): boolean {
    return this.#begun !== null;
  }

  /** A step of the next move in the background; false: there is nothing to move, or the last step is done. */
  step(): boolean {
    this.#begun ??= this.move();
    if (this.#begun.next().done !== true) return true;
    this.#begun = null;
    return false;
  }

  /** The other steps of the move that the background has begun; a change may have other versions of these rows. */
  *finish(): Generator<void, void> {
    while (this.isMoving && this.step()) yield;
  }

  /** `null`: gone, or not on this machine yet. */
  #read(offset: number): StoredRecord | null {
    try {
      return this.#options.reader.read(offset);
    } catch (error) {
      if (error instanceof DataAbsent) return null;
      throw error;
    }
  }

  /** Stages the move of some rows, which keep their sequence numbers, in steps. */
  *move(): Generator<void, void> {
    const hollow = this.next;
    if (hollow === undefined) return;
    const { write } = this.#options;
    const { segment } = hollow;
    for (let left = MOVED_PER_WRITE; left > 0 && hollow.keptCount > 0; this.#moved++) {
      if (this.#moved >= segment.capacity) this.#moved = 0;
      if (!hollow.isKept(this.#moved)) continue;
      left--;
      const record = this.#read(segment.offsets[this.#moved]!);
      // Another version is on its way here, by the write that made it.
      if (record !== null && record.sequence === segment.sequences[this.#moved]) yield* write(record);
    }
  }
}
