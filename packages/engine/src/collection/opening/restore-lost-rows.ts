/**
 * What index files that are damaged or missing took along, from the records. Rows of a lost segment are the records that
 * no segment has, once the changes were replayed; they enter like new ones, are sealed at once, and the next manifest has
 * them. Until then the manifest of before stays, so that whatever happens the next opening does the same again.
 */
import { isSliceOver } from "@sheaf/process";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { RestoredSegment } from "../../index/files/restore-index.ts";
import type { LiveSegment } from "../../index/segment-list.ts";
import { hasBit, listBits } from "../../segment/bits.ts";
import { lowerBound } from "../../storage/lower-bound.ts";
import { type RecordStore, sequenceIn } from "../../storage/record-store.ts";
import { runInTurns } from "../../storage/steps.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import type { SchemaInference } from "../schema-inference.ts";
import type { OpeningProgress } from "./opening-progress.ts";

type Records = Pick<RecordStore, "head" | "readVector" | "sequenceOf" | "offsetFrom" | "scan">;

export interface LostRowsTarget {
  readonly index: CollectionIndex;
  /** What is learnt of the records. */
  readonly kinds: Pick<SchemaInference, "know">;
  readonly progress: OpeningProgress;
}

/** Offsets that are looked at together; few enough for one slice. */
const STRETCH = 2 ** 18;

/** Puts the records that the index lacks. Returns how many. */
export function putLostRows(store: Records, target: LostRowsTarget, signal: CancelSignal): Promise<number> {
  return runInTurns(lostRowsSteps(store, target), { onRunning: () => throwIfAborted(signal) });
}

/** Which rows are live where the file that says so is lost: those that the store has in just this version. */
export async function withLiveRows(
  store: Records,
  segments: readonly RestoredSegment[],
  signal: CancelSignal,
): Promise<readonly RestoredSegment[]> {
  const known: RestoredSegment[] = [];
  try {
    for (const restored of segments) {
      const steps = liveSteps(store, restored);
      const live = await runInTurns(steps, { onRunning: () => throwIfAborted(signal) });
      known.push({ ...restored, live });
    }
    return known;
  } catch (error) {
    for (const { segment } of segments) segment.close();
    throw error;
  }
}

function* liveSteps(
  store: Records,
  { segment, live: docs }: RestoredSegment,
): Generator<void, Uint32Array<ArrayBuffer>> {
  const { offsets, sequences } = segment;
  const live = new Uint32Array(docs.length);
  for (let docId = 0; docId < sequences.length; docId++) {
    // DocIds of no row have the number 0, which no operation has.
    const sequence = sequences[docId]!;
    if (sequence > 0 && sequenceIn(store, offsets[docId]!) === sequence)
      live[docId >>> 5]! |= 1 << (docId & 31);
    yield;
  }
  return live;
}

function* lostRowsSteps(store: Records, { index, kinds, progress }: LostRowsTarget): Generator<void, number> {
  const lost = new LostRows(store, index.segments, kinds);
  const { sequence, nextOffset } = store.head;
  // Nothing else is written meanwhile, so the records stay as they are between two steps.
  while (!lost.isDone) {
    yield* index.change({ removes: [], puts: lost.records() });
    progress.reached(Math.floor((sequence * Math.min(lost.next, nextOffset)) / Math.max(1, nextOffset)));
    yield;
  }
  if (lost.count > 0) for (const { segment } of index.segments) if (!segment.isSealed) segment.freeze();
  return lost.count;
}

/** Goes through the offsets that no live row has. */
class LostRows {
  readonly #store: Records;
  readonly #kinds: LostRowsTarget["kinds"];
  /** As they were: what is put meanwhile is put once. */
  readonly #segments: readonly LiveSegment[];
  readonly #into: Float32Array;
  /** Of the offsets from `#from` on, those of live rows. */
  readonly #live = new Uint32Array(STRETCH / 32);
  #from = -STRETCH;
  /** Offsets below it have been looked at. */
  next = 0;
  count = 0;
  isDone = false;

  constructor(store: Records, segments: readonly LiveSegment[], kinds: LostRowsTarget["kinds"]) {
    this.#store = store;
    this.#kinds = kinds;
    this.#segments = segments;
    this.#into = new Float32Array(store.head.dimension ?? 0);
  }

  /** Until the time is up. */
  *records(): Generator<StoredRecord> {
    while (!this.isDone && !isSliceOver()) {
      this.next = this.#absentFrom(this.next);
      if (this.next === this.#from + STRETCH && this.next < this.#store.head.nextOffset) continue;
      const next = this.#store.offsetFrom?.(this.next);
      this.isDone = next === null;
      if (next === null) return;
      if (next !== undefined && next > this.next) {
        this.next = next;
        continue;
      }
      const [record] = this.#store.scan(this.next, { into: this.#into });
      this.isDone = record === undefined;
      if (record === undefined) return;
      this.next = record.offset;
      if (this.#absentFrom(record.offset) !== record.offset) continue;
      this.next++;
      this.count++;
      this.#kinds.know(record);
      yield record;
    }
  }

  /** The first offset from here on that no live row has, or where the stretch of this one ends. */
  #absentFrom(offset: number): number {
    if (offset >= this.#from + STRETCH) this.#lookAt(offset);
    let at = offset - this.#from;
    while (at < STRETCH && hasBit(this.#live, at)) at++;
    return this.#from + at;
  }

  #lookAt(from: number): void {
    this.#from = from;
    this.#live.fill(0);
    for (const entry of this.#segments) this.#addRows(entry, from + STRETCH);
  }

  #addRows({ segment: { offsets, docsByOffset }, live }: LiveSegment, end: number): void {
    if (docsByOffset === null) {
      for (const docId of listBits(live)) this.#add(offsets[docId]!);
      return;
    }
    const first = lowerBound(docsByOffset.length, (i) => offsets[docsByOffset[i]!]! < this.#from);
    for (let i = first; i < docsByOffset.length; i++) {
      const docId = docsByOffset[i]!;
      const offset = offsets[docId]!;
      if (offset >= end) return;
      if (hasBit(live, docId)) this.#add(offset);
    }
  }

  #add(offset: number): void {
    const at = offset - this.#from;
    if (at >= 0 && at < STRETCH) this.#live[at >>> 5]! |= 1 << (at & 31);
  }
}
