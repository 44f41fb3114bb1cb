/**
 * The segments of an index and where each row is: a tail that takes rows, full tails that wait to be sealed, and sealed
 * segments. `maintain` seals in slices: full tails together with the newest segments that are not larger, so that a
 * row is sealed anew only about as often as its segment doubles. What this leaves, two or three segments of different
 * sizes, is made one when writes have come to rest: each more costs a search half of its time.
 */
import { SheafError } from "@sheaf/protocol";
import { countBits, listBits } from "../row-set.ts";
import { DenseSegment } from "./dense-segment.ts";
import { MAX_SEGMENTS, MAX_SLOTS, RowLocations, SLOT_BITS, SLOT_MASK } from "./row-locations.ts";
import { type ReadRelative, type SealedSegment, SegmentBuilder } from "./segment-builder.ts";
import type { RowsKept, SegmentShape } from "./segment-layout.ts";
import { SegmentSearch } from "./segment-search.ts";
import type { VectorMemory } from "./vector-memory.ts";

export interface SegmentSizes {
  /** Slots of a tail, a multiple of 32. */
  readonly tailSlots: number;
  /** Rows of the largest segment. */
  readonly segmentRows: number;
}

export interface SegmentSetOptions {
  readonly sizes: SegmentSizes;
  readonly memory: VectorMemory;
  /** What codes of tails are relative to, padded to the width; `null`: the origin. */
  readonly tailCentroid: Float32Array | null;
  readonly readVector: ReadRelative;
}

/** Slots of one mask that are kept as long as the mask is. */
const MAX_KEPT = 16_384;

type SegmentSlots = ReadonlyMap<SegmentSearch, Uint32Array>;

interface KnownMask {
  readonly count: number;
  slots?: SegmentSlots;
  /** After how many changes of the set the slots were looked up. */
  changes: number;
}

interface Entry {
  readonly number: number;
  readonly search: SegmentSearch;
  readonly sealed: boolean;
}

export class SegmentSet {
  readonly #shape: SegmentShape;
  readonly #sizes: SegmentSizes;
  readonly #readVector: ReadRelative;
  readonly #memory: VectorMemory;
  readonly #tailCentroid: Float32Array | null;
  readonly #locations = new RowLocations();
  /** Oldest first; the last may be a tail that still takes rows. */
  #entries: Entry[] = [];
  /** By number, for rows' locations. */
  readonly #byNumber = new Map<number, Entry>();
  #builder: SegmentBuilder | undefined;
  #searches: readonly SegmentSearch[] = [];
  #size = 0;
  /** How often rows have got other places. */
  #changes = 0;
  /** The same mask is often asked for again. */
  readonly #masks = new WeakMap<Uint32Array, KnownMask>();

  constructor(shape: SegmentShape, { sizes, memory, tailCentroid, readVector }: SegmentSetOptions) {
    this.#shape = shape;
    this.#tailCentroid = tailCentroid;
    this.#sizes = sizes;
    this.#memory = memory;
    this.#readVector = readVector;
  }

  get size(): number {
    return this.#size;
  }

  /** One more than the highest row there ever was. */
  get rowLimit(): number {
    return this.#locations.limit;
  }

  /** Sealed ones first: their lists soon give a good k-th score. */
  get searches(): readonly SegmentSearch[] {
    return this.#searches;
  }

  /** Adds a row that the set does not have. */
  add(row: number, vector: Float32Array): void {
    let tail = this.#entries.at(-1);
    if (tail === undefined || tail.sealed || tail.search.segment.isFull) {
      const segment = new DenseSegment(this.#shape, this.#sizes.tailSlots);
      if (this.#tailCentroid !== null) segment.setCentroid(0, this.#tailCentroid);
      tail = this.#enter(segment, false);
    }
    this.#locations.set(row, tail.number, tail.search.segment.used);
    this.#changes++;
    this.#size++;
    tail.search.segment.append(row, vector);
  }

  remove(row: number): void {
    const entry = this.#byNumber.get(this.#locations.segmentOf(row));
    if (entry === undefined) return;
    entry.search.segment.remove(this.#locations.slotOf(row));
    this.#locations.clear(row);
    this.#changes++;
    this.#size--;
  }

  /** The exact <x, q> of a row; `null`: the store has to be asked. `query`: as in `DenseQuery`. */
  exactScore(row: number, query: Float32Array): number | null {
    const entry = this.#byNumber.get(this.#locations.segmentOf(row));
    return entry === undefined ? null : entry.search.exactScore(this.#locations.slotOf(row), query);
  }

  /** All rows, or those of a mask that the set has, as slots of the segments they are in. */
  slotsBySegment(mask: Uint32Array | null): SegmentSlots {
    if (mask === null) return this.#allSlots();
    const known = this.#known(mask);
    if (known.slots !== undefined && known.changes === this.#changes) return known.slots;
    const slots = this.#slotsOfMask(mask);
    if (known.count > MAX_KEPT) return slots;
    known.changes = this.#changes;
    return (known.slots = slots);
  }

  /** Rows of a mask, whether the set has them or not. */
  countOf(mask: Uint32Array): number {
    return this.#known(mask).count;
  }

  #known(mask: Uint32Array): KnownMask {
    let known = this.#masks.get(mask);
    if (known === undefined) this.#masks.set(mask, (known = { count: countBits(mask), changes: 0 }));
    return known;
  }

  /** Rows get other numbers: `numbers` says which, by the old one. */
  renumber(numbers: Uint32Array): void {
    this.#builder?.close();
    this.#builder = undefined;
    this.#locations.reset();
    this.#changes++;
    for (const { number, search } of this.#entries) {
      const { segment } = search;
      for (let slot = 0; slot < segment.used; slot++) {
        const isLive = segment.isLive(slot);
        segment.rows[slot] = isLive ? numbers[segment.rows[slot]!]! : 0;
        if (isLive) this.#locations.set(segment.rows[slot]!, number, slot);
      }
    }
  }

  /**
   * Does one slice of background work, about a millisecond; false when there is nothing to do.
   * @param atRest Nothing is being written: work may be begun that the next rows would soon have to be part of.
   */
  maintain(atRest: boolean): boolean {
    this.#builder ??= this.#startBuilder(atRest);
    if (this.#builder === undefined) return false;
    const sealed = this.#builder.step();
    if (sealed !== undefined) this.#swap(sealed, this.#builder.sources);
    return true;
  }

  close(): void {
    this.#builder?.close();
    this.#builder = undefined;
    for (const { sealed, search } of this.#entries) this.#free(search.segment, sealed);
    this.#entries = [];
    this.#entriesChanged();
    this.#byNumber.clear();
  }

  #enter(segment: DenseSegment, sealed: boolean): Entry {
    let number = 1;
    while (this.#byNumber.has(number)) number++;
    if (number > MAX_SEGMENTS || segment.capacity > MAX_SLOTS)
      throw new SheafError("internal", "a dense index is too large");
    const entry = { number, search: new SegmentSearch(segment), sealed };
    this.#byNumber.set(number, entry);
    // A sealed segment goes before the tails: only the last entry may take rows.
    if (sealed) this.#entries.splice(this.#entries.findLastIndex((other) => other.sealed) + 1, 0, entry);
    else this.#entries.push(entry);
    this.#entriesChanged();
    return entry;
  }

  #leave(segments: readonly DenseSegment[]): void {
    const leaving = this.#entries.filter(({ search }) => segments.includes(search.segment));
    this.#entries = this.#entries.filter((entry) => !leaving.includes(entry));
    for (const { number, sealed, search } of leaving) {
      this.#byNumber.delete(number);
      this.#free(search.segment, sealed);
    }
    this.#entriesChanged();
  }

  #entriesChanged(): void {
    this.#changes++;
    this.#searches = [...this.#entries]
      .sort((a, b) => Number(b.sealed) - Number(a.sealed))
      .map(({ search }) => search);
  }

  #free(segment: DenseSegment, sealed: boolean): void {
    if (sealed) this.#memory.give(segment.rowBytes());
    segment.close();
  }

  #startBuilder(atRest: boolean): SegmentBuilder | undefined {
    const settled = this.#entries.filter(({ sealed, search }) => sealed || search.segment.isFull);
    this.#leave(settled.map(({ search }) => search.segment).filter(({ liveCount }) => liveCount === 0));
    const worthwhile = settled.filter(({ search }) => search.segment.liveCount > 0);
    const sources = chooseSources(worthwhile, this.#sizes.segmentRows, atRest);
    return sources.length === 0 ? undefined : new SegmentBuilder(sources, this.#readVector);
  }

  #swap(sealed: SealedSegment, sources: readonly DenseSegment[]): void {
    const { segment } = sealed;
    for (let slot = 0; slot < segment.capacity; slot++) {
      if (!segment.isLive(slot)) continue;
      // Rows that were removed or put anew meanwhile have left their slot.
      if (!sealed.isCurrent(slot)) segment.remove(slot);
    }
    this.#leave(sources);
    const most = (["whole", "bf16", "none"] as const).find((kept) => this.#mayKeep(segment, kept))!;
    const kept = most === segment.kept ? segment : segment.keeping(most);
    if (kept !== segment) segment.close();
    const { number } = this.#enter(kept, true);
    for (let slot = 0; slot < kept.capacity; slot++)
      if (kept.isLive(slot)) this.#locations.set(kept.rows[slot]!, number, slot);
    this.#builder = undefined;
  }

  /** Takes the memory if so. Bits beyond bf16 spare reads of the store, bf16 spares far more: half is left to it. */
  #mayKeep(segment: DenseSegment, kept: RowsKept): boolean {
    if (kept === "whole" && segment.kept !== kept) return false;
    return this.#memory.take(segment.rowBytes(kept), kept === "whole" ? 0.5 : 1);
  }

  #allSlots(): Map<SegmentSearch, Uint32Array> {
    const slots = new Map<SegmentSearch, Uint32Array>();
    for (const { search } of this.#entries) {
      const { segment } = search;
      const live = new Uint32Array(segment.liveCount);
      let count = 0;
      for (let slot = 0; slot < segment.used; slot++) if (segment.isLive(slot)) live[count++] = slot;
      slots.set(search, live);
    }
    return slots;
  }

  /** In ascending order, as they lie in memory. */
  #slotsOfMask(mask: Uint32Array): Map<SegmentSearch, Uint32Array> {
    const { words: locations } = this.#locations;
    const numbers = 1 + this.#entries.reduce((highest, { number }) => Math.max(highest, number), 0);
    // Number 0 is for rows that are in no segment, all at slot 0.
    const bitsByNumber = Array.from({ length: numbers }, () => new Uint32Array(1));
    for (const { number, search } of this.#entries)
      bitsByNumber[number] = new Uint32Array(search.segment.capacity / 32);
    const words = Math.min(mask.length, Math.ceil(this.rowLimit / 32));
    for (let index = 0; index < words; index++) {
      for (let word = mask[index]!; word !== 0; word &= word - 1) {
        const location = locations[index * 32 + 31 - Math.clz32(word & -word)]!;
        const slot = location & SLOT_MASK;
        bitsByNumber[location >>> SLOT_BITS]![slot >>> 5]! |= 1 << (slot & 31);
      }
    }
    return new Map(
      this.#entries.map(({ number, search }) => [search, new Uint32Array(listBits(bitsByNumber[number]!))]),
    );
  }
}

/**
 * Full tails and the newest segments that are not larger than what they would be merged with; at rest also larger ones
 * that keep as much of their vectors, for all of a segment keeps as little as the least of its sources. Else a hollow one.
 */
function chooseSources(
  settled: readonly Entry[],
  segmentRows: number,
  atRest: boolean,
): readonly DenseSegment[] {
  const sources: Entry[] = [];
  let rows = 0;
  for (const entry of settled.toReversed()) {
    const { liveCount, kept } = entry.search.segment;
    const isLarger = entry.sealed && liveCount > rows;
    const mayBeLarger = atRest && sources.every(({ search }) => search.segment.kept === kept);
    if (rows + liveCount > segmentRows || (isLarger && !mayBeLarger)) break;
    sources.push(entry);
    rows += liveCount;
  }
  // A sealed segment alone is what it would become.
  if (sources.length > 1 || sources[0]?.sealed === false) return sources.map(({ search }) => search.segment);
  const hollow = settled.find(({ search: { segment } }) => segment.liveCount < segment.placed / 2);
  return hollow === undefined ? [] : [hollow.search.segment];
}
