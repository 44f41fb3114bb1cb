/**
 * Everything one segment can be asked. Three ways, each dearer and more certain than the one before: `probe` the
 * lists that can matter, `estimate` given slots from their codes, `score` given slots from bf16. Between two steps
 * of a search another one may use the segment: whatever lies in the kernel memory is of one step only.
 */
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { CandidateBuffer } from "./candidate-buffer.ts";
import { CodeCopies, endlessShare } from "./code-copies.ts";
import { type BegunGather, CodeGather } from "./code-gather.ts";
import { type BegunScan, CopyScan, slotsLeft } from "./copy-scan.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { CodePart } from "./dense-source.ts";
import { FastScan } from "./fast-scan.ts";
import { ListOrder } from "./list-order.ts";
import { ListProbe, PROBED } from "./list-probe.ts";
import type { Nearest } from "./nearest.ts";
import { SLOTS_PER_CALL } from "./segment-layout.ts";
import { SegmentScorer } from "./segment-scorer.ts";

/** Up to here scoring at once is cheaper than estimating first: from bf16 in memory, in a file, and from the store. */
const FEW_SLOTS = 256;
const FEW_READ = 64;
const FEW_STORED = 16;

/** Rows read between two pauses: from a file, and from the store. */
const READ_PER_CALL = 512;
const STORED_PER_CALL = 128;

/** Lists whose codes are read for a search, before those of all lists are: most searches need one or two. */
const FEW_LISTS = 8;

/** Codes that each way needs. */
const ESTIMATED: readonly CodePart[] = ["records", "factors", "biases"];
const SCORED: readonly CodePart[] = ["biases"];

/** An estimate of which the first lists were looked at. */
export type Begun = BegunScan | BegunGather;

export class SegmentSearch {
  readonly segment: DenseSegment;
  readonly #scorer: SegmentScorer;
  readonly #probe: ListProbe;
  readonly #gather: CodeGather;
  readonly #copies: CodeCopies;
  readonly #copyScan: CopyScan;
  readonly #candidates: CandidateBuffer;
  /** Slots to be looked at, in the kernel memory. */
  readonly #slots: Uint32Array;
  /** Of the search whose tables lie in the kernel memory for a scan of a copy; `null`: they are of another way. */
  #scanned: Nearest | null = null;

  /** `memory`: for copies of codes; without limit if left out. */
  constructor(segment: DenseSegment, memory?: SegmentMemory) {
    const scorer = new SegmentScorer(segment);
    const candidates = new CandidateBuffer(segment, scorer);
    const order = new ListOrder(segment.lists.slots.length);
    const scan = new FastScan(segment, candidates);
    this.segment = segment;
    this.#scorer = scorer;
    this.#candidates = candidates;
    const parts = { scorer, candidates, order, scan };
    this.#probe = new ListProbe(segment, parts);
    this.#gather = new CodeGather(segment, parts);
    this.#copies = new CodeCopies(segment, memory);
    this.#copyScan = new CopyScan(segment, parts);
    this.#slots = segment.layout.memory.u32(segment.layout.at.slots, SLOTS_PER_CALL);
  }

  /** Offers the rows that can be among the nearest. */
  *probe(query: DenseQuery): Generator<void, void> {
    const { segment } = this;
    let start = 0;
    if (segment.lacks(PROBED)) {
      if (segment.source?.isLocal === true) {
        this.#load(query);
        const isDone = this.#probe.search(query, { end: FEW_LISTS });
        yield;
        if (isDone) return;
        start = FEW_LISTS;
      }
      yield* segment.load(PROBED);
    }
    this.#load(query);
    this.#probe.search(query, { start });
    yield;
  }

  /** Its vectors are read from a file on this machine. */
  get isRead(): boolean {
    const { hasRows, readable, source } = this.segment;
    return !hasRows && readable !== "none" && source?.isLocal === true;
  }

  /**
   * Offers slots of the most promising lists, where the codes of all are copied or candidates wait: what is known of them
   * rules out many others, of other segments too. For `estimate`; `null`: nothing was begun.
   */
  *begin(query: DenseQuery, slots: Uint32Array): Generator<void, Begun | null> {
    const isPooled = query.waiting !== undefined;
    const copy = this.segment.hasRows || isPooled ? this.#copies.known(slots) : null;
    if (copy === null) return isPooled ? yield* this.#beginGather(query, slots) : null;
    this.#loadForScan(query);
    const begun = this.#copyScan.begin(query, slots, copy);
    yield;
    return begun;
  }

  *#beginGather(query: DenseQuery, slots: Uint32Array): Generator<void, BegunGather | null> {
    if (slots.length <= FEW_READ) return null;
    if (this.segment.lacks(ESTIMATED)) yield* this.segment.load(ESTIMATED);
    this.#load(query);
    const begun = this.#gather.begin(query, slots);
    yield;
    return begun;
  }

  /** Offers so many slots at once. */
  offer(query: DenseQuery, slots: readonly number[]): void {
    if (this.#scanned !== query.nearest) {
      this.#scanned = null;
      this.#scorer.load(query.vector);
    }
    for (let first = 0; first < slots.length; first += SLOTS_PER_CALL) {
      const stretch = slots.slice(first, first + SLOTS_PER_CALL);
      this.#slots.set(stretch);
      this.#scorer.offer(query, this.segment.layout.at.slots, stretch.length);
    }
  }

  /** Offers those of the slots that can be among the nearest. `begun`: as `begin` left it. */
  *estimate(query: DenseQuery, slots: Uint32Array, begun: Begun | null = null): Generator<void, void> {
    if (begun === null && slots.length <= this.#whereRowsAre(FEW_SLOTS, FEW_READ, FEW_STORED)) {
      yield* this.score(query, slots);
      return;
    }
    if (this.segment.lacks(ESTIMATED)) yield* this.segment.load(ESTIMATED);
    query.tally.estimated += slots.length;
    // Slots that were offered must not be once more: where the copy had to make room meanwhile, it is made at once.
    const isGathered = begun !== null && "taken" in begun;
    const copy = this.#copies.of(slots, begun === null || isGathered ? query.copying : endlessShare());
    if (isGathered) {
      this.#load(query);
      this.#gather.goOn(query, slots, begun);
    } else if (copy === null) {
      // Vectors may have been loaded since the scan began, and copies made of them find no room.
      this.#load(query);
      this.#gather.search(query, begun === null ? slots : slotsLeft(slots, begun));
    } else {
      this.#loadForScan(query);
      this.#copyScan.search(query, slots, copy, begun ?? this.#copyScan.begin(query, slots, copy));
    }
    yield;
  }

  /** Offers all of the slots. */
  *score(query: DenseQuery, slots: Uint32Array): Generator<void, void> {
    if (this.segment.lacks(SCORED)) yield* this.segment.load(SCORED);
    query.tally.scored += slots.length;
    const step = this.#whereRowsAre(SLOTS_PER_CALL, READ_PER_CALL, STORED_PER_CALL);
    for (let first = 0; first < slots.length; first += step) {
      const stretch = slots.subarray(first, first + step);
      this.#scanned = null;
      this.#scorer.load(query.vector);
      this.#slots.set(stretch);
      this.#scorer.offer(query, this.segment.layout.at.slots, stretch.length);
      yield;
    }
  }

  /** The exact <x, q> of a slot; `null`: its vector is not here to the bit. `query`: as in `DenseQuery`. */
  exactScore(slot: number, query: Float32Array): number | null {
    return this.#scorer.exactScore(slot, query);
  }

  #whereRowsAre(inMemory: number, inFile: number, inStore: number): number {
    if (this.segment.hasRows) return inMemory;
    return this.segment.readable === "none" ? inStore : inFile;
  }

  /** Nothing to do where no other search has used the segment since. */
  #loadForScan(query: DenseQuery): void {
    if (this.#scanned === query.nearest) return;
    this.#load(query);
    this.#copyScan.load(query);
    this.#scanned = query.nearest;
  }

  #load(query: DenseQuery): void {
    this.#scanned = null;
    this.#candidates.forget();
    this.#scorer.load(query.vector);
    const { rotation } = this.segment;
    const { rotated } = query;
    if (rotated.vector !== null) return rotation.vector.set(rotated.vector);
    rotation.vector.set(query.vector);
    rotation.vector.fill(0, query.vector.length);
    rotation.run();
    rotated.vector = rotation.vector.slice();
  }
}
