/** Segments that are being written anew as one, in this process or elsewhere. */
import { hasBit } from "../segment/bits.ts";
import { CODE_PARTS } from "../segment/dense/dense-source.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { SegmentWriter } from "../segment/segment-writer.ts";
import type { SegmentMemory } from "../storage/files/index-memory.ts";
import type { LiveSegment } from "./segment-list.ts";

export interface NewSegment {
  readonly segment: SealedSegment;
  /** A bit for each docId whose row lives; all live rows of the sources are there. */
  readonly live: Uint32Array<ArrayBuffer>;
}

export interface Sealing {
  readonly sources: readonly LiveSegment[];
  /** One slice. "waiting": for what it was told to wake; "failed": it comes to nothing. Then there is `NewSegment`. */
  step(): NewSegment | "working" | "waiting" | "failed";
  /** Gives up what has been made. */
  close(): void;
}

/** By `SegmentWriter`, in slices. */
export class LocalSealing implements Sealing {
  readonly sources: readonly LiveSegment[];
  readonly #writer: SegmentWriter;
  readonly #memory: SegmentMemory;

  /** `memory`: of the new segment. */
  constructor(sources: readonly LiveSegment[], writer: SegmentWriter, memory: SegmentMemory) {
    this.sources = sources;
    this.#writer = writer;
    this.#memory = memory;
  }

  step(): NewSegment | "working" {
    const segment = this.#writer.step();
    return segment === undefined ? "working" : { segment, live: this.#writer.liveDocs() };
  }

  close(): void {
    this.#writer.close();
    this.#memory.close();
  }
}

/** A segment that is on its way from elsewhere. */
export interface AwaitedSegment {
  /** Rejects where it does not come; the reason was reported. */
  readonly segment: Promise<SealedSegment>;
  /** It is in its place, or not wanted any more. */
  release(): void;
}

interface NewSegmentBits {
  readonly live: Uint32Array<ArrayBuffer>;
  readonly count: number;
}

const ROWS_PER_SLICE = 1_024;
const NO_SOURCE = 0xffff;
/** A row of the sources that the records have another version of is soon another row. */
const LOOK_AGAIN_MS = 100;
const MOST_LOOKS = 100;

/**
 * By another process, into a file that was opened here: finds the row of the sources that each of its rows is, so that all
 * that died meanwhile stay dead, and loads its codes.
 */
export class AwaitedSealing implements Sealing {
  readonly sources: readonly LiveSegment[];
  readonly #awaited: AwaitedSegment;
  readonly #wake: () => void;
  #segment: SealedSegment | null = null;
  #hasFailed = false;
  #closed = false;
  #preparing: Generator<void, void> | null = null;
  /** By docId of the new segment: which of the sources has the row, and where. */
  #source = new Uint16Array(0);
  #docId = new Uint32Array(0);
  #looks = 0;
  #nextLook = 0;

  /** `wake`: calls for the next step. */
  constructor(sources: readonly LiveSegment[], awaited: AwaitedSegment, wake: () => void) {
    this.sources = sources;
    this.#awaited = awaited;
    this.#wake = wake;
    awaited.segment.then(
      (segment) => this.#came(segment),
      () => {
        this.#hasFailed = true;
        this.#wakeUp();
      },
    );
  }

  step(): NewSegment | "working" | "waiting" | "failed" {
    if (this.#hasFailed) return "failed";
    const segment = this.#segment;
    if (segment === null || performance.now() < this.#nextLook) return "waiting";
    this.#preparing ??= this.#prepare(segment);
    if (this.#preparing.next().done !== true) return "working";
    const { live, count } = this.#liveDocs(segment);
    if (count === this.sources.reduce((sum, { liveCount }) => sum + liveCount, 0)) {
      this.#segment = null;
      this.#awaited.release();
      return { segment, live };
    }
    if (++this.#looks === MOST_LOOKS) return "failed";
    this.#nextLook = performance.now() + LOOK_AGAIN_MS;
    setTimeout(() => this.#wakeUp(), LOOK_AGAIN_MS).unref();
    return "waiting";
  }

  close(): void {
    this.#closed = true;
    this.#awaited.release();
    this.#segment?.close();
    this.#segment = null;
  }

  #came(segment: SealedSegment): void {
    if (this.#closed) segment.close();
    else this.#segment = segment;
    this.#wakeUp();
  }

  #wakeUp(): void {
    if (!this.#closed) this.#wake();
  }

  *#prepare(segment: SealedSegment): Generator<void, void> {
    yield* segment.vectors.search.segment.load(CODE_PARTS);
    const { capacity, offsets, sequences } = segment;
    this.#source = new Uint16Array(capacity).fill(NO_SOURCE);
    this.#docId = new Uint32Array(capacity);
    for (let docId = 0; docId < capacity; docId++) {
      this.#place(docId, offsets[docId]!, sequences[docId]!);
      if (docId % ROWS_PER_SLICE === 0) yield;
    }
  }

  /** Of no row the sequence number is 0, which no row of the sources has. */
  #place(docId: number, offset: number, sequence: number): void {
    for (const [i, { segment }] of this.sources.entries()) {
      const from = segment.docOfOffset(offset);
      if (from < 0 || segment.sequences[from] !== sequence || sequence === 0) continue;
      this.#source[docId] = i;
      this.#docId[docId] = from;
      return;
    }
  }

  #liveDocs({ capacity }: SealedSegment): NewSegmentBits {
    const live = new Uint32Array(capacity / 32);
    const bits = this.sources.map((source) => source.live);
    let count = 0;
    // Indexed: an iterator takes many times as long, and this is one slice.
    for (let docId = 0; docId < capacity; docId++) {
      const source = this.#source[docId]!;
      if (source === NO_SOURCE || !hasBit(bits[source]!, this.#docId[docId]!)) continue;
      live[docId >>> 5]! |= 1 << (docId & 31);
      count++;
    }
    return { live, count };
  }
}
