/** Scores of a loaded query with the bf16 rows and the centroids of a segment: <x, q> + bias(x). */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { CENTROIDS, ROWS, WHOLE } from "../../kernels/argument-layouts.generated.ts";
import { type DenseQuery, slackOf } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { mostLost, reorderForHalves } from "./half-float.ts";
import { ROWS_PER_READ, SLOTS_PER_CALL } from "./segment-layout.ts";

/** Times what is computed of a bias: more than its sum can be off. */
const BEYOND_ROUNDING = 1 + 2 ** -10;

export class SegmentScorer {
  /** <centroid, query> by list, after `scoreCentroids`. */
  readonly bases: Float32Array;
  readonly #segment: DenseSegment;
  readonly #rows: ArgumentBlock<typeof ROWS>;
  readonly #centroids: ArgumentBlock<typeof CENTROIDS>;
  readonly #whole: ArgumentBlock<typeof WHOLE>;
  readonly #query: Float32Array;
  readonly #reordered: Float32Array;
  readonly #scores: Float32Array;
  /** Vectors that were read from the file. */
  readonly #readHalves: Uint8Array;
  readonly #readLows: Uint8Array;

  constructor(segment: DenseSegment) {
    const { memory, at, width } = segment.layout;
    const lists = segment.lists.slots.length;
    const readable = segment.readable;
    this.#segment = segment;
    this.bases = memory.f32(at.bases, lists);
    this.#rows = memory.block(ROWS);
    this.#centroids = memory.block(CENTROIDS);
    this.#whole = memory.block(WHOLE);
    this.#query = memory.f32(at.query, width);
    this.#reordered = memory.f32(at.reordered, width);
    this.#scores = memory.f32(at.scores, SLOTS_PER_CALL);
    this.#readHalves = memory.u8(at.readHalves, readable === "none" ? 0 : ROWS_PER_READ * width * 2);
    this.#readLows = memory.u8(at.readLows, readable === "whole" ? width * 2 : 0);
    setFields(this.#rows, { stride: width * 2, width, query: at.reordered, out: at.scores });
    setFields(this.#whole, { width, query: at.query });
    setFields(this.#centroids, { rows: at.centroids, width, count: lists, out: at.bases });
    setFields(this.#centroids, { steps: at.centroidSteps, query: at.reordered });
    setFields(this.#centroids, { words: at.queryWords });
    // Sums of products with 8-bit elements stay below 2^31.
    this.#centroids.limit = Math.min(32_767, Math.floor(2 ** 24 / width));
  }

  load(query: Float32Array): void {
    reorderForHalves(query, this.#reordered);
  }

  scoreCentroids(): Float32Array {
    this.#segment.layout.memory.kernels.scoreCentroids(this.#centroids.pointer);
    return this.bases;
  }

  /** What a step of the query in 16 bits is worth, after `scoreCentroids`. */
  get wordStep(): number {
    return this.#centroids.step;
  }

  /** Scores of consecutive slots, at most `SLOTS_PER_CALL`, live or not; valid until the next call. */
  scoreRange(firstSlot: number, count: number): Float32Array {
    const { at, width } = this.#segment.layout;
    this.#run(at.halves + firstSlot * width * 2, 0, count);
    for (let i = 0; i < count; i++) this.#scores[i]! += this.#segment.biases[firstSlot + i]!;
    return this.#scores.subarray(0, count);
  }

  /**
   * The exact <x, q> of a slot; `null`: its vector is not here to the bit. `query`: padded with zeros to the width.
   */
  exactScore(slot: number, query: Float32Array): number | null {
    const { at, width, memory } = this.#segment.layout;
    if (this.#segment.hasWholeRows) {
      this.#whole.halves = at.halves + slot * width * 2;
      this.#whole.lows = at.lows + slot * width * 2;
    } else if (this.#readWhole(slot)) {
      this.#whole.halves = at.readHalves;
      this.#whole.lows = at.readLows;
    } else return null;
    this.#query.set(query);
    memory.kernels.dotWholeRow(this.#whole.pointer);
    return this.#whole.score;
  }

  /** Offers slots, whose numbers lie at `address` and may change places: at most `SLOTS_PER_CALL`. */
  offer(query: DenseQuery, address: number, count: number): void {
    if (count === 0) return;
    const { memory, at } = this.#segment.layout;
    const slots = memory.u32(address, count);
    if (!this.#segment.hasRows) return this.#offerRead(query, slots);
    this.#run(at.halves, address, count);
    this.#offerScored(query, slots);
  }

  /** Vectors are read from the file, those of slots near each other at once; those that it does not have, from the store. */
  #offerRead(query: DenseQuery, slots: Uint32Array): void {
    const { layout, readable, source } = this.#segment;
    if (source === null || readable === "none") return this.#offerStored(query, slots);
    const { at, width } = layout;
    source.requireHalves(slots);
    slots.sort();
    for (let first = 0; first < slots.length; first += ROWS_PER_READ) {
      const some = slots.subarray(first, first + ROWS_PER_READ);
      if (source.readHalves(some, this.#readHalves.subarray(0, some.length * width * 2))) {
        this.#run(at.readHalves, 0, some.length);
        this.#offerScored(query, some);
      } else this.#offerStored(query, some);
    }
  }

  #readWhole(slot: number): boolean {
    const { readable, source } = this.#segment;
    if (source === null || readable !== "whole") return false;
    const halves = this.#readHalves.subarray(0, this.#readLows.length);
    return source.readHalves(Uint32Array.of(slot), halves) && source.readLows(slot, this.#readLows);
  }

  #offerScored(query: DenseQuery, slots: Uint32Array): void {
    const { biases, lengths, losses } = this.#segment;
    const { nearest, slack, base } = query;
    const count = slots.length;
    const hasBiases = this.#segment.shape.space === "l2";
    for (let i = 0; i < count; i++) {
      const slot = slots[i]!;
      const score = hasBiases ? this.#scores[i]! + biases[slot]! : this.#scores[i]!;
      const off = slackOf(slack, lengths[slot >>> 5]!, losses[slot >>> 5]!);
      // Nearly all are out: what only the others need is not looked up for them.
      if (score + off < nearest.threshold) continue;
      if (!hasBiases) nearest.offer(base + slot, score, off);
      else {
        const length = this.#lengthOf(slot);
        nearest.offer(base + slot, score, Math.min(off, slackOf(slack, length, mostLost(length))));
      }
    }
  }

  #offerStored(query: DenseQuery, slots: Uint32Array): void {
    const { base, nearest, slack } = query;
    for (const slot of slots) {
      const off = slackOf(slack, this.#lengthOf(slot), 0);
      nearest.offer(base + slot, query.scoreOf(base + slot), off);
    }
  }

  /** At least that of the row. Others of its block may be much longer; of a row of l2 its bias tells. */
  #lengthOf(slot: number): number {
    const { shape, lengths, biases } = this.#segment;
    if (shape.space !== "l2") return lengths[slot >>> 5]!;
    return Math.sqrt(-2 * biases[slot]!) * BEYOND_ROUNDING;
  }

  #run(rows: number, ids: number, count: number): void {
    this.#rows.rows = rows;
    this.#rows.ids = ids;
    this.#rows.count = count;
    this.#segment.layout.memory.kernels.dotHalfRows(this.#rows.pointer);
  }
}
