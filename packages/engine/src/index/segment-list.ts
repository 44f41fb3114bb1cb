/**
 * The segments of an index and which of their rows are live: at most one row of every record. Sealed segments come
 * first, then mutable ones, of which the last takes rows; each sort oldest first.
 *
 * A batch of changes is staged: rows are appended and others marked as dying over several turns of the event loop, and
 * nobody sees anything of it until `publish`, which takes a moment.
 */
import { type MutableSegment, ROW_BYTES, type SegmentRow } from "../segment/mutable-segment.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import { countBits, hasBit, listBits, setBits } from "../segment/bits.ts";
import { UnsealedMemory } from "../storage/files/unsealed-memory.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";

/** Of the rows of a full mutable segment: fewer dead ones are not worth to begin another. */
const GARBAGE_SHARE = 64;
/** In the block of vectors of an index that is new. */
const FEWEST_ROWS = 16;

/** Of a new mutable segment: for the live rows and as many dead ones, so that one can take over the block of another. */
export function rowsOfFirstBlock(live: number, mutableRows: number): number {
  if (live === 0) return FEWEST_ROWS;
  const rows = 2 * live + mutableRows / GARBAGE_SHARE;
  return Math.min(BLOCK_DOCS, 2 ** Math.ceil(Math.log2(rows)));
}

/** A segment and its live rows. */
export class LiveSegment {
  readonly segment: MutableSegment | SealedSegment;
  /** A bit for each docId. */
  readonly live: Uint32Array;
  liveCount: number;
  /** Of the metadata of the live rows; only counted while the segment is mutable. */
  #liveBytes = 0;
  /** Live rows that the staged batch kills; a bit for each docId. `null`: there is none. */
  #dying: Uint32Array | null = null;
  #dyingCount = 0;

  constructor(segment: MutableSegment | SealedSegment, live = new Uint32Array(segment.capacity / 32)) {
    this.segment = segment;
    this.live = live;
    this.liveCount = countBits(live);
  }

  isLive(docId: number): boolean {
    return docId >= 0 && hasBit(this.live, docId);
  }

  /** Live, and not killed by the staged batch. */
  isKept(docId: number): boolean {
    return this.isLive(docId) && (this.#dying === null || !hasBit(this.#dying, docId));
  }

  /** Of the live rows, how many the staged batch leaves. */
  get keptCount(): number {
    return this.liveCount - this.#dyingCount;
  }

  /** Full, and most rows have left it before it was sealed: the others are moved. */
  get isHollow(): boolean {
    const { segment, keptCount } = this;
    if (segment.isSealed || !segment.isFull || keptCount === 0) return false;
    return keptCount + segment.unpublished < segment.count / 2;
  }

  /** All rows have left it before it was sealed. */
  get isEmptied(): boolean {
    return !this.segment.isSealed && this.segment.isFull && this.liveCount === 0;
  }

  /** Of a live row; `false`: it was killed before. */
  kill(docId: number): boolean {
    if (!this.isKept(docId)) return false;
    this.#dying ??= new Uint32Array(this.live.length);
    this.#dying[docId >>> 5]! |= 1 << (docId & 31);
    this.#dyingCount++;
    return true;
  }

  publish(): void {
    const { segment } = this;
    const dying = this.#dying;
    if (dying !== null) {
      if (!segment.isSealed) for (const docId of listBits(dying)) this.#liveBytes -= segment.bytesAt(docId);
      // By index: pairs of `entries` are garbage, of a segment's whole capacity for a write of one record.
      for (let word = 0; word < dying.length; word++) this.live[word]! &= ~dying[word]!;
      this.liveCount -= this.#dyingCount;
      this.#dying = null;
      this.#dyingCount = 0;
    }
    if (segment.isSealed || segment.unpublished === 0) return;
    for (let docId = segment.count - segment.unpublished; docId < segment.count; docId++)
      this.#liveBytes += segment.bytesAt(docId);
    setBits(this.live, segment.count - segment.unpublished, segment.count);
    this.liveCount += segment.unpublished;
    segment.publish();
  }

  /** Once all rows are published: one most of whose rows are dead takes no more of them, so that it can be emptied. */
  endGarbage(): void {
    const { segment, liveCount } = this;
    if (segment.isSealed || segment.isFull) return;
    const least = segment.capacity / GARBAGE_SHARE;
    const dead = segment.count - liveCount;
    const deadBytes = segment.bytes - this.#liveBytes;
    const isGarbage = dead > liveCount && dead >= least;
    if (isGarbage || (deadBytes > this.#liveBytes && deadBytes >= least * ROW_BYTES)) segment.freeze();
  }
}

/** A live row. */
export interface RowPlace {
  readonly entry: LiveSegment;
  readonly docId: number;
}

/** Of the live row of a record. */
export interface RowVersion {
  readonly offset: number;
  readonly sequence: number;
}

export class SegmentList {
  readonly #memory: UnsealedMemory;
  #entries: readonly LiveSegment[] = [];
  #size = 0;
  /** By how many rows the staged batch changes the size. */
  #growth = 0;
  #changes = 0;

  constructor(memory = new UnsealedMemory()) {
    this.#memory = memory;
  }

  get entries(): readonly LiveSegment[] {
    return this.#entries;
  }

  /** Live rows. */
  get size(): number {
    return this.#size;
  }

  /** Rows of mutable segments, dead ones included, or as many as their metadata stands for. */
  get unsealed(): number {
    let load = 0;
    for (const { segment } of this.#entries) if (!segment.isSealed) load += segment.load;
    return load;
  }

  /** Of mutable segments. */
  get unsealedBytes(): number {
    let bytes = 0;
    for (const { segment } of this.#entries) if (!segment.isSealed) bytes += segment.memoryBytes;
    return bytes;
  }

  /** Of sealed segments, in no file yet. */
  get #unfiledBytes(): number {
    let bytes = 0;
    for (const { segment } of this.#entries) if (segment.isSealed) bytes += segment.memory.taken.unfiled;
    return bytes;
  }

  /** Until there is room for more of them; see `UnsealedMemory`. */
  room(): Promise<void> | undefined {
    return this.#memory.room(this.unsealedBytes + this.#unfiledBytes);
  }

  /** From `denseRows` records on, or where what is not sealed is as much as `mutableRows` or too much for the memory. */
  isToBeSealed(denseRows: number, mutableRows: number): boolean {
    // Also where few rows are left, for sealed segments are to shrink with them.
    if (this.nextSize >= denseRows || this.hasSealed || this.unsealed >= mutableRows) return true;
    return this.#memory.isPressing(this.unsealedBytes);
  }

  get hasSealed(): boolean {
    return this.#entries[0]?.segment.isSealed === true;
  }

  /** Live rows once the staged batch is published. */
  get nextSize(): number {
    return this.#size + this.#growth;
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

  /** Of the live row of the record with this id; `null`: there is none. */
  versionOf(id: string): RowVersion | null {
    const place = this.ofId(id);
    if (place === null) return null;
    const { segment } = place.entry;
    return { offset: segment.offsets[place.docId]!, sequence: segment.sequences[place.docId]! };
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

  /** Stages a row of the last segment, which is mutable and not full. */
  *append(row: SegmentRow): Generator<void, void> {
    const segment = this.#entries.at(-1)!.segment as MutableSegment;
    const before = segment.memoryBytes;
    yield* segment.append(row);
    this.#memory.add(segment.memoryBytes - before);
    this.#growth++;
  }

  /** Does one step of packing sparse vectors, which searches walk one by one until then; false: none wait for it. */
  packSparse(): boolean {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const { segment } = this.#entries[i]!;
      if (segment.isSealed) return false;
      if (segment.packSparse()) return true;
    }
    return false;
  }

  /** Stages the end of a row. */
  kill({ entry, docId }: RowPlace): void {
    if (entry.kill(docId)) this.#growth--;
  }

  /** All that was staged counts from now on. */
  publish(): void {
    for (const entry of this.#entries) entry.publish();
    const last = this.#entries.at(-1);
    last?.endGarbage();
    if (last?.segment.isSealed === false && this.#memory.isPressing(last.segment.memoryBytes))
      last.segment.freeze();
    this.#size += this.#growth;
    this.#growth = 0;
    this.#changes++;
  }

  /** Sealed segments, into an empty list. */
  restore(entries: readonly LiveSegment[]): void {
    this.#entries = entries;
    this.#size = entries.reduce((sum, { liveCount }) => sum + liveCount, 0);
    this.#changes++;
  }

  /** Puts a segment in the place of others, which have the same rows; `null`: none, for they have no live row. */
  replace(others: readonly LiveSegment[], sealed: LiveSegment | null): void {
    const isSealed = ({ segment }: LiveSegment): boolean => segment.isSealed;
    const left = this.#entries.filter((entry) => !others.includes(entry));
    const added = sealed === null ? [] : [sealed];
    this.#entries = [...left.filter(isSealed), ...added, ...left.filter((entry) => !isSealed(entry))];
    this.#close(others);
    this.#changes++;
  }

  /** Puts a segment that was opened anew in the place of the same one: merges go by the order. */
  renew(entry: LiveSegment, renewed: LiveSegment): void {
    this.#entries = this.#entries.map((each) => (each === entry ? renewed : each));
    this.#close([entry]);
    this.#changes++;
  }

  clear(): void {
    this.#close(this.#entries);
    this.#entries = [];
    this.#size = 0;
    this.#growth = 0;
    this.#changes++;
  }

  #close(entries: readonly LiveSegment[]): void {
    for (const { segment } of entries) {
      segment.close();
      if (!segment.isSealed) this.#memory.add(-segment.memoryBytes);
    }
  }
}
