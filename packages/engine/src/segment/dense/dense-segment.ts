/**
 * The vectors of a segment in one kernel memory: 1-bit codes, the vectors themselves (which a sealed segment may leave
 * to its file or to the store), and the lists that order them. Vectors are bf16, for all spaces but l2 with the lower
 * halves beside them. A mutable segment is one list that takes rows until it is full; a sealed one has many lists and
 * never changes. One that was opened from a file has its lists from the start; codes are loaded before the first search.
 *
 * A slot is the docId of a row. Lists start at multiples of 32 slots. Only slots whose bit in `placed` is set hold a
 * row; which of them are live is known to who searches. Vectors are relative to the origin of the shape, codes to the
 * centroid of the row's list.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { FLOATS, PLACE } from "../../kernels/argument-layouts.generated.ts";
import { RECORD } from "../../kernels/kernels.ts";
import { reorderForHalves } from "./half-float.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { CodePart, DenseSource, ReadBeside } from "./dense-source.ts";
import type { Reach } from "./list-reach.ts";
import { Rotation } from "./rotation.ts";
import {
  type RowsKept,
  type SegmentLayout,
  type SegmentShape,
  layOut,
  magnitudeBytes,
  mostKept,
  recordBytes,
} from "./segment-layout.ts";
import { hasBit } from "../bits.ts";

/** By list. */
export interface SegmentLists {
  readonly firstSlots: Uint32Array;
  /** With the padding: multiples of 32. */
  readonly slots: Uint32Array;
  /** Mean bias of its rows. */
  readonly biases: Float64Array;
  /** |centroid|^2. */
  readonly centroidSquares: Float64Array;
  /** Root mean square distance of its rows to the centroid; infinite for a list without one. */
  readonly spreads: Float64Array;
}

export interface CodesPlan {
  readonly lists?: number;
  /** Codes are made with magnitudes; where there is a file, that says it. */
  readonly magnitudes?: boolean;
}

export class DenseSegment {
  readonly shape: SegmentShape;
  readonly capacity: number;
  readonly layout: SegmentLayout;
  readonly rotation: Rotation;
  /** A bit for each slot that holds a row. */
  readonly placed: Uint32Array;
  /** Of its code; see `sign-code.ts`. */
  readonly factors: Float32Array;
  readonly biases: Float32Array;
  /** What the codes of a list's rows are relative to, one after another. Empty where no row is placed any more. */
  readonly centroids: Float32Array;
  readonly lists: SegmentLists;
  /** By block of 32 slots: the list it belongs to. */
  readonly listOfBlock: Uint16Array;
  /** By block: the length of its longest vector, relative to the index's origin. */
  readonly lengths: Float32Array;
  /** By block: the length of the most that bf16 lost of one of its vectors. */
  readonly losses: Float32Array;
  /** Measured when the segment is sealed. */
  reach: Reach = { unfiltered: 1, best: 1, filtered: 1 };
  /** Slots given out to rows so far, where they are given out in order. */
  used = 0;
  readonly #halves: Uint16Array;
  /** Empty where bf16 is all there is. */
  readonly #lows: Uint16Array;
  readonly #centroidBytes: Int8Array;
  readonly #centroidSteps: Float32Array;
  /** The records as bytes, floats and words. */
  readonly #codes: Uint8Array;
  readonly #recordFloats: Float32Array;
  readonly #recordWords: Uint32Array;
  readonly #blocks: Uint8Array;
  /** Empty where none are kept. */
  readonly #magnitudes: Uint8Array;
  /** A vector and a centroid that kernels work on. */
  readonly #vector: Float32Array;
  readonly #centroid: Float32Array;
  readonly #place: ArgumentBlock<typeof PLACE>;
  readonly #floats: ArgumentBlock<typeof FLOATS>;
  /** The list whose centroid `#centroid` is; -1: of none. */
  #placedList = -1;
  readonly #source: DenseSource | null;
  #kept: RowsKept;

  /**
   * `capacity`: slots, a multiple of 32. A segment starts as one list around the origin. `rows`: how much is kept of the
   * vectors, or the file that has them and the codes.
   */
  constructor(
    shape: SegmentShape,
    capacity: number,
    { lists = 1, magnitudes = false }: CodesPlan = {},
    rows: RowsKept | DenseSource = mostKept(shape),
  ) {
    this.shape = shape;
    this.capacity = capacity;
    const isInFile = typeof rows === "object";
    const laidOut = isInFile ? rows.rows : rows;
    this.#source = isInFile ? rows : null;
    this.#kept = isInFile ? "none" : rows;
    // Pages of vectors that are never loaded stay untouched, and take no memory.
    const hasMagnitudes = isInFile ? rows.hasMagnitudes : magnitudes;
    this.layout = layOut(shape, { capacity, lists, kept: laidOut, magnitudes: hasMagnitudes });
    const { memory, at, width, size, codeBytes, recordCodeBytes } = this.layout;
    this.rotation = new Rotation(memory, size);
    this.placed = new Uint32Array(capacity / 32);
    this.biases = memory.f32(at.biases, capacity);
    this.centroids = new Float32Array(isInFile ? 0 : lists * width);
    this.#centroidBytes = memory.i8(at.centroids, lists * width);
    this.#centroidSteps = memory.f32(at.centroidSteps, lists);
    this.listOfBlock = new Uint16Array(capacity / 32);
    this.lengths = new Float32Array(capacity / 32);
    this.losses = new Float32Array(capacity / 32);
    this.lists = {
      firstSlots: new Uint32Array(lists),
      slots: new Uint32Array(lists).fill(capacity),
      biases: new Float64Array(lists),
      centroidSquares: new Float64Array(lists),
      spreads: new Float64Array(lists).fill(Infinity),
    };
    this.factors = memory.f32(at.factors, capacity);
    this.#halves = memory.u16(at.halves, laidOut === "none" ? 0 : capacity * width);
    this.#lows = memory.u16(at.lows, laidOut === "whole" ? capacity * width : 0);
    const records = capacity * recordBytes(recordCodeBytes);
    this.#codes = memory.u8(at.records, records);
    this.#recordFloats = memory.f32(at.records, records / 4);
    this.#recordWords = memory.u32(at.records, records / 4);
    this.#blocks = memory.u8(at.blocks, capacity * codeBytes);
    const perSlot = hasMagnitudes ? magnitudeBytes(recordCodeBytes) : 0;
    this.#magnitudes = memory.u8(at.magnitudes, capacity * perSlot);
    this.#vector = memory.f32(at.query, width);
    this.#centroid = memory.f32(at.centroid, width);
    this.#place = memory.block(PLACE);
    this.#floats = memory.block(FLOATS);
    setFields(this.#place, {
      vector: at.query,
      centroid: at.centroid,
      width,
      rotation: this.rotation.pointer,
    });
    setFields(this.#floats, { width, floats: at.query });
  }

  /** Takes the centroid of a list, as 8 bits leave it, before rows are placed there. */
  setCentroid(list: number, centroid: Float32Array): void {
    const { width } = this.layout;
    this.#placedList = -1;
    const kept = this.centroids.subarray(list * width, (list + 1) * width);
    const step = Math.fround(centroid.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / 127);
    const steps = centroid.map((x) => (step === 0 ? 0 : Math.max(-127, Math.min(127, Math.round(x / step)))));
    for (let j = 0; j < width; j++) kept[j] = steps[j]! * step;
    // In the order in which the scorer has the query.
    reorderForHalves(steps, this.#centroidBytes.subarray(list * width, (list + 1) * width));
    this.#centroidSteps[list] = step;
    this.lists.centroidSquares[list] = kept.reduce((sum, x) => sum + x * x, 0);
  }

  /** What is in memory of the vectors. */
  get kept(): RowsKept {
    return this.#kept;
  }

  /** What can be read of them, from memory or the file. */
  get readable(): RowsKept {
    return this.#source === null ? this.#kept : this.#source.rows;
  }

  /** Whether vectors are in memory, as bf16 at least. */
  get hasRows(): boolean {
    return this.#kept !== "none";
  }

  /** Whether they are there to the bit. */
  get hasWholeRows(): boolean {
    return this.#kept === "whole";
  }

  /** Whether codes have magnitudes, in memory or in the file. */
  get isFine(): boolean {
    return this.#magnitudes.length > 0;
  }

  /** Whether these are in memory. */
  get hasMagnitudes(): boolean {
    return this.isFine && this.#source?.lacks(["magnitudes"]) !== true;
  }

  /** `null`: all there is of it is in memory. */
  get source(): DenseSource | null {
    return this.#source;
  }

  /** Whether these codes have to be loaded before they are used. */
  lacks(parts: readonly CodePart[]): boolean {
    return this.#source !== null && this.#source.lacks(parts);
  }

  /** Loads codes in slices of about a millisecond. Throws `SegmentDamaged`. */
  *load(parts: readonly CodePart[]): Generator<void, void> {
    if (this.#source !== null) yield* this.#source.load(this, parts);
  }

  /** Loads codes of slots, `[first, end)`, where the file is on this machine. Throws `SegmentDamaged`. */
  loadSlots(parts: readonly CodePart[], slots: readonly [number, number]): void {
    this.#source?.loadSlots(this, parts, slots);
  }

  /** Loads vectors from the file, or the rest of what is to be kept of them, in slices of less than a millisecond. */
  *loadRows(kept: RowsKept): Generator<void, void> {
    yield* this.#source!.loadRows(this, kept);
    this.#kept = kept;
  }

  /** The same with the help of another thread; `false`: as `DenseSource.readRows`. */
  async readRows(kept: RowsKept, beside: ReadBeside): Promise<boolean> {
    const isRead = await this.#source!.readRows(this, kept, beside);
    if (isRead) this.#kept = kept;
    return isRead;
  }

  /** Makes codes ready, where the file is not on this machine. */
  async fetch(parts: readonly CodePart[], options: ReadOptions): Promise<void> {
    await this.#source?.fetch(this, parts, options);
  }

  /** Puts a row into the next slot. */
  append(vector: Float32Array): void {
    this.place(this.used++, 0, vector);
  }

  /** Puts a row into an empty slot of a list. `vector` is padded to the width. The square of its distance to the centroid. */
  place(slot: number, list: number, vector: Float32Array): number {
    const { memory, at, width, codeBytes, recordCodeBytes } = this.layout;
    const args = this.#place;
    this.#vector.set(vector);
    if (list !== this.#placedList)
      this.#centroid.set(this.centroids.subarray(list * width, (list + 1) * width));
    this.#placedList = list;
    const block = slot >>> 5;
    const record = slot * recordBytes(recordCodeBytes);
    args.halves = at.halves + slot * width * 2;
    args.lows = this.#lows.length === 0 ? 0 : at.lows + slot * width * 2;
    args.code = at.records + record;
    args.block = at.blocks + block * codeBytes * 32 + (slot & 31);
    args.magnitudes = this.isFine ? at.magnitudes + slot * magnitudeBytes(recordCodeBytes) : 0;
    memory.kernels.placeVector(args.pointer);
    const { factor, bits, square, length, loss, distance } = args;
    const bias = this.shape.space === "l2" ? -square / 2 : 0;
    const rest = (record + recordCodeBytes) / 4;
    this.factors[slot] = factor;
    this.biases[slot] = bias;
    this.#recordFloats[rest + RECORD.factor] = factor;
    this.#recordFloats[rest + RECORD.bias] = bias;
    this.#recordWords[rest + RECORD.list] = list;
    this.#recordWords[rest + RECORD.bits] = bits;
    this.listOfBlock[block] = list;
    this.lengths[block] = Math.max(this.lengths[block]!, roundedUp(length));
    this.#noteLoss(slot, loss);
    this.placed[block]! |= 1 << (slot & 31);
    return distance;
  }

  /**
   * What a slot was placed with is what bf16 left of its row's vector in another segment: `loss` of that is lost, and
   * `bias` is the one that the vector had before.
   */
  inherit(slot: number, bias: number, loss: number): void {
    const { recordCodeBytes } = this.layout;
    this.biases[slot] = bias;
    this.#recordFloats[(slot * recordBytes(recordCodeBytes) + recordCodeBytes) / 4 + RECORD.bias] = bias;
    this.#noteLoss(slot, loss);
  }

  #noteLoss(slot: number, loss: number): void {
    this.losses[slot >>> 5] = Math.max(this.losses[slot >>> 5]!, roundedUp(loss));
  }

  listOf(slot: number): number {
    return this.listOfBlock[slot >>> 5]!;
  }

  isPlaced(slot: number): boolean {
    return hasBit(this.placed, slot);
  }

  /**
   * Reads a vector, as it was or as bf16 left it, into `target`, the width long; `false`: it is neither in memory nor on
   * this machine.
   */
  readVector(slot: number, target: Float32Array): boolean {
    if (this.#kept !== this.readable) return this.#source!.readVector(slot, target);
    if (!this.hasRows) return false;
    const { memory, at, width } = this.layout;
    this.#floats.halves = at.halves + slot * width * 2;
    this.#floats.lows = this.hasWholeRows ? at.lows + slot * width * 2 : 0;
    memory.kernels.readFloats(this.#floats.pointer);
    target.set(this.#vector);
    return true;
  }

  /** Bytes of the codes of all rows; without magnitudes that are loaded where there is room. */
  get codeBytes(): number {
    const arrays = [this.#blocks, this.#codes, this.factors, this.biases, this.#centroidBytes];
    const sum = arrays.reduce((bytes, { byteLength }) => bytes + byteLength, 0);
    return this.#source === null ? sum + this.magnitudeBytes : sum;
  }

  get magnitudeBytes(): number {
    return this.#magnitudes.byteLength;
  }

  /** Bytes of the vectors, if so much is kept of them. */
  rowBytes(kept: RowsKept): number {
    if (kept === "none") return 0;
    return this.#halves.byteLength + (kept === "whole" ? this.#lows.byteLength : 0);
  }

  /** A copy that keeps less of the vectors. */
  keeping(kept: RowsKept): DenseSegment {
    const codes = { lists: this.lists.slots.length, magnitudes: this.isFine };
    const copy = new DenseSegment(this.shape, this.capacity, codes, kept);
    if (copy.hasRows) copy.#halves.set(this.#halves);
    copy.placed.set(this.placed);
    copy.biases.set(this.biases);
    copy.factors.set(this.factors);
    copy.#codes.set(this.#codes);
    copy.#blocks.set(this.#blocks);
    copy.#magnitudes.set(this.#magnitudes);
    copy.centroids.set(this.centroids);
    copy.#centroidBytes.set(this.#centroidBytes);
    copy.#centroidSteps.set(this.#centroidSteps);
    copy.listOfBlock.set(this.listOfBlock);
    copy.lengths.set(this.lengths);
    copy.losses.set(this.losses);
    for (const name of ["firstSlots", "slots", "biases", "centroidSquares", "spreads"] as const)
      copy.lists[name].set(this.lists[name]);
    copy.reach = this.reach;
    copy.used = this.used;
    return copy;
  }

  close(): void {
    this.layout.memory.close();
  }
}

/** An f32 that is not below the number, which is rounded itself. */
function roundedUp(length: number): number {
  return length * (1 + 2 ** -22);
}
