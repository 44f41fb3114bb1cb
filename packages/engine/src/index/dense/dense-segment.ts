/**
 * Rows of an index in one kernel memory: 1-bit codes, bf16 vectors, and the lists that order them. The unsealed tail
 * is one list around the origin that takes rows until it is full; a sealed segment has many lists and only loses rows.
 *
 * A slot is a row's place; slots never move. Lists start at multiples of 32 slots. Only slots whose bit in `live` is
 * set hold a row. Vectors are relative to the index's origin, codes to the centroid of the row's list.
 */
import { RECORD } from "../../kernels/arguments.ts";
import { floatsToHalves, halvesToFloats } from "./half-float.ts";
import { Rotation } from "./rotation.ts";
import { type SegmentLayout, type SegmentShape, layOut, recordBytes } from "./segment-layout.ts";
import { encodeSigns } from "./sign-code.ts";

export interface SegmentList {
  readonly firstSlot: number;
  /** With the padding: a multiple of 32. */
  readonly slots: number;
  /** Mean bias of its rows. */
  readonly bias: number;
  /** |centroid|^2. */
  readonly centroidSquare: number;
  /** Root mean square distance of its rows to the centroid; infinite for a list without one. */
  readonly spread: number;
}

export class DenseSegment {
  readonly shape: SegmentShape;
  readonly capacity: number;
  readonly layout: SegmentLayout;
  readonly rotation: Rotation;
  /** The index's row in each slot. */
  readonly rows: Uint32Array;
  readonly live: Uint32Array;
  readonly biases: Float32Array;
  readonly centroids: Float32Array;
  lists: readonly SegmentList[];
  /** How many spreads, per unit of a query's scale, rows may rise above their centroid's score; see `ListProbe`. */
  reach = 1;
  liveCount = 0;
  /** Rows ever placed, live or not. */
  placed = 0;
  /** Slots given out to rows so far, where they are given out in order. */
  used = 0;
  readonly #factors: Float32Array;
  readonly #halves: Uint16Array;
  /** The records as bytes, floats and words. */
  readonly #codes: Uint8Array;
  readonly #recordFloats: Float32Array;
  readonly #recordWords: Uint32Array;
  readonly #blocks: Uint8Array;

  /** `capacity`: slots, a multiple of 32. A segment starts as one list around the origin. */
  constructor(shape: SegmentShape, capacity: number, lists = 1) {
    this.shape = shape;
    this.capacity = capacity;
    this.layout = layOut(shape, capacity, lists);
    const { memory, at, width, size, codeBytes, recordCodeBytes } = this.layout;
    this.rotation = new Rotation(memory, size);
    this.rows = new Uint32Array(capacity);
    this.live = memory.u32(at.live, capacity / 32);
    this.biases = memory.f32(at.biases, capacity);
    this.centroids = memory.f32(at.centroids, lists * width);
    this.lists = [{ firstSlot: 0, slots: capacity, bias: 0, centroidSquare: 0, spread: Infinity }];
    this.#factors = memory.f32(at.factors, capacity);
    this.#halves = memory.u16(at.halves, capacity * width);
    const records = capacity * recordBytes(recordCodeBytes);
    this.#codes = memory.u8(at.records, records);
    this.#recordFloats = memory.f32(at.records, records / 4);
    this.#recordWords = memory.u32(at.records, records / 4);
    this.#blocks = memory.u8(at.blocks, capacity * codeBytes);
  }

  get isFull(): boolean {
    return this.used === this.capacity;
  }

  /** Puts a row into the next slot; returns the length of what bf16 lost of its vector. */
  append(row: number, vector: Float32Array): number {
    return this.place(this.used++, row, 0, vector);
  }

  /** Puts a row into an empty slot of a list. `vector` is padded to the width. */
  place(slot: number, row: number, list: number, vector: Float32Array): number {
    const { width, codeBytes, recordCodeBytes } = this.layout;
    const lost = floatsToHalves(vector, this.#halves, slot * width);
    const residual = this.rotation.vector;
    let square = 0;
    for (let j = 0; j < width; j++) {
      const x = vector[j]!;
      residual[j] = x - this.centroids[list * width + j]!;
      square += x * x;
    }
    residual.fill(0, width);
    this.rotation.run();
    const code = slot * recordBytes(recordCodeBytes);
    const factor = encodeSigns(residual, this.#codes, code);
    const block = (slot >>> 5) * codeBytes * 32 + (slot & 31);
    for (let byte = 0; byte < codeBytes; byte++) this.#blocks[block + byte * 32] = this.#codes[code + byte]!;
    const bias = this.shape.space === "l2" ? -square / 2 : 0;
    const rest = (code + recordCodeBytes) / 4;
    this.#factors[slot] = factor;
    this.biases[slot] = bias;
    this.#recordFloats[rest + RECORD.factor] = factor;
    this.#recordFloats[rest + RECORD.bias] = bias;
    this.#recordWords[rest + RECORD.list] = list;
    this.rows[slot] = row;
    this.live[slot >>> 5]! |= 1 << (slot & 31);
    this.liveCount++;
    this.placed++;
    return lost;
  }

  remove(slot: number): void {
    if (!this.isLive(slot)) return;
    this.live[slot >>> 5]! &= ~(1 << (slot & 31));
    this.liveCount--;
  }

  listOf(slot: number): number {
    const { recordCodeBytes } = this.layout;
    return this.#recordWords[(slot * recordBytes(recordCodeBytes) + recordCodeBytes) / 4 + RECORD.list]!;
  }

  isLive(slot: number): boolean {
    return ((this.live[slot >>> 5]! >>> (slot & 31)) & 1) === 1;
  }

  /** Reads a vector, as bf16 left it, into `target`, the width long. */
  readVector(slot: number, target: Float32Array): void {
    halvesToFloats(this.#halves, slot * this.layout.width, target);
  }

  close(): void {
    this.layout.memory.close();
  }
}
