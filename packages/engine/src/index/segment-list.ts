/**
 * The segments of an index and which of their rows are live: at most one row of every record. Sealed segments come
 * first, then mutable ones, of which the last takes rows; each sort oldest first.
 */
import type { MutableSegment, SegmentRow } from "../segment/mutable-segment.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import { hasBit } from "../segment/bits.ts";

/** A segment and its live rows. */
export class LiveSegment {
  readonly segment: MutableSegment | SealedSegment;
  /** A bit for each docId. */
  readonly live: Uint32Array;
  liveCount = 0;

  constructor(segment: MutableSegment | SealedSegment, live = new Uint32Array(segment.capacity / 32)) {
    this.segment = segment;
    this.live = live;
  }

  isLive(docId: number): boolean {
    return docId >= 0 && hasBit(this.live, docId);
  }
}

/** A live row. */
export interface RowPlace {
  readonly entry: LiveSegment;
  readonly docId: number;
}

export class SegmentList {
  #entries: readonly LiveSegment[] = [];
  #size = 0;
  #changes = 0;

  get entries(): readonly LiveSegment[] {
    return this.#entries;
  }

  /** Live rows. */
  get size(): number {
    return this.#size;
  }

  /** How often anything has changed that a snapshot shows. */
  get changes(): number {
    return this.#changes;
  }

  /** The row that lives of the record with this id; newest segments have most of what is asked for. */
  ofId(id: string): RowPlace | null {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i]!;
      const docId = entry.segment.docOfId(id);
      if (entry.isLive(docId)) return { entry, docId };
    }
    return null;
  }

  ofOffset(offset: number): RowPlace | null {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i]!;
      const docId = entry.segment.docOfOffset(offset);
      if (entry.isLive(docId)) return { entry, docId };
    }
    return null;
  }

  /** A segment that takes rows from now on. */
  begin(segment: MutableSegment): void {
    this.#entries = [...this.#entries, new LiveSegment(segment)];
  }

  /** To the last segment, which is mutable and not full. */
  append(row: SegmentRow): void {
    const entry = this.#entries.at(-1)!;
    const docId = (entry.segment as MutableSegment).append(row);
    entry.live[docId >>> 5]! |= 1 << (docId & 31);
    entry.liveCount++;
    this.#size++;
    this.#changes++;
  }

  kill({ entry, docId }: RowPlace): void {
    entry.live[docId >>> 5]! &= ~(1 << (docId & 31));
    entry.liveCount--;
    this.#size--;
    this.#changes++;
  }

  /** Puts a segment in the place of others, which have the same rows; `null`: none, for they have no live row. */
  replace(others: readonly LiveSegment[], sealed: LiveSegment | null): void {
    const isSealed = ({ segment }: LiveSegment): boolean => segment.isSealed;
    const left = this.#entries.filter((entry) => !others.includes(entry));
    const added = sealed === null ? [] : [sealed];
    this.#entries = [...left.filter(isSealed), ...added, ...left.filter((entry) => !isSealed(entry))];
    for (const { segment } of others) segment.close();
    this.#changes++;
  }

  clear(): void {
    for (const { segment } of this.#entries) segment.close();
    this.#entries = [];
    this.#size = 0;
    this.#changes++;
  }
}
