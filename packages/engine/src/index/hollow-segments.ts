/**
 * Full segments that most rows have left before they were sealed: every write moves some of the others to the newest segment,
 * so garbage stays within about what lives.
 */
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
  /** Stages a row. */
  readonly write: (record: StoredRecord) => void;
}

export class HollowSegments {
  readonly #options: HollowSegmentsOptions;
  /** Where the search for rows goes on. */
  #moved = 0;

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
  }

  /** Stages the move of some rows, which keep their sequence numbers; false: there is nothing to move. */
  move(): boolean {
    const hollow = this.next;
    if (hollow === undefined) return false;
    const { reader, write } = this.#options;
    const { segment } = hollow;
    for (let left = MOVED_PER_WRITE; left > 0 && hollow.keptCount > 0; this.#moved++) {
      if (this.#moved >= segment.capacity) this.#moved = 0;
      if (!hollow.isKept(this.#moved)) continue;
      left--;
      const record = reader.read(segment.offsets[this.#moved]!);
      // Another version is on its way here, by the write that made it.
      if (record !== null && record.sequence === segment.sequences[this.#moved]) write(record);
    }
    return true;
  }
}
