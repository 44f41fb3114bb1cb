/**
 * Codes of the slots of a filter, copied side by side. Gathering them one by one from all over a segment takes several
 * times as long, so a filter that is asked for again is worth a copy: its 1-bit codes in blocks for FastScan and, where
 * the segment has vectors, 4-bit codes of them. The copies used last are kept, as many as there is room for: in the
 * segment's own memory, and in that of all indexes, which gets its bytes back when the segment is closed.
 */
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { ENCODE } from "../../kernels/argument-layouts.generated.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { COPIED_PER_CALL, copiedRows } from "./segment-layout.ts";

/** Factor, bias, step and loss of a row, and its list. */
const COPIED_ROW_BYTES = 4 * 4 + 2;

/** The first row of every chunk of a copy. Chunks are `COPIED_PER_CALL` rows, of which the last may have fewer. */
export type CodeCopy = readonly number[];

export class CodeCopies {
  readonly #segment: DenseSegment;
  readonly #rows: CopiedRows;
  readonly #memory: SegmentMemory | null;
  readonly #chunks: number;
  /** Chunks that have memory. */
  #made = 0;
  /** Those of no copy, by their first row. */
  readonly #free: number[] = [];
  /** By the slots, the one used last at the end. */
  readonly #copies = new Map<Uint32Array, CodeCopy>();
  readonly #askedOnce = new WeakSet<Uint32Array>();
  /** Whether the copies have 4-bit codes. */
  #hasRows: boolean;

  /** `memory`: without limit if left out. */
  constructor(segment: DenseSegment, memory: SegmentMemory | null = null) {
    this.#segment = segment;
    this.#memory = memory;
    this.#hasRows = segment.hasRows;
    this.#rows = new CopiedRows(segment);
    this.#chunks = copiedRows(segment.capacity) / COPIED_PER_CALL;
  }

  /** The copy of these slots if there is one. `of` will always have one then, the same or made anew. */
  known(slots: Uint32Array): CodeCopy | null {
    return this.#segment.hasRows === this.#hasRows ? (this.#copies.get(slots) ?? null) : null;
  }

  /** The copy of these slots, made when they are asked for a second time; `null`: there is none. */
  of(slots: Uint32Array): CodeCopy | null {
    if (this.#segment.hasRows !== this.#hasRows) this.#clear();
    const copy = this.#copies.get(slots) ?? this.#make(slots);
    if (copy === null) return null;
    this.#copies.delete(slots);
    this.#copies.set(slots, copy);
    return copy;
  }

  /** Vectors have been loaded since: copies are made anew, with 4-bit codes. */
  #clear(): void {
    this.#hasRows = this.#segment.hasRows;
    for (const copy of this.#copies.values()) this.#free.push(...copy);
    this.#copies.clear();
  }

  #make(slots: Uint32Array): CodeCopy | null {
    const chunks = Math.ceil(slots.length / COPIED_PER_CALL);
    if (!this.#askedOnce.has(slots) || chunks > this.#chunks) {
      this.#askedOnce.add(slots);
      return null;
    }
    if (!this.#hasFree(chunks)) return null;
    const copy = this.#free.splice(0, chunks);
    for (const [i, row] of copy.entries())
      this.#rows.write(row, slots.subarray(i * COPIED_PER_CALL, (i + 1) * COPIED_PER_CALL));
    return copy;
  }

  /** Makes room, first of what was never used; `false`: there is too little. */
  #hasFree(chunks: number): boolean {
    while (this.#free.length < chunks && this.#made < this.#chunks) {
      if (this.#memory?.take("copies", this.#rows.chunkBytes) === false) break;
      this.#free.push(this.#made++ * COPIED_PER_CALL);
    }
    if (chunks > this.#made) return false;
    for (const [forgotten, copy] of this.#copies) {
      if (this.#free.length >= chunks) break;
      this.#copies.delete(forgotten);
      this.#free.push(...copy);
    }
    return true;
  }
}

/** The room for copies in a segment's kernel memory. */
class CopiedRows {
  readonly #segment: DenseSegment;
  readonly #encode: ArgumentBlock<typeof ENCODE>;
  readonly #slots: Uint32Array;
  readonly #blocks: Uint8Array;
  readonly #factors: Float32Array;
  readonly #biases: Float32Array;
  readonly #lists: Uint16Array;

  constructor(segment: DenseSegment) {
    const { memory, at, width, codeBytes } = segment.layout;
    const rows = copiedRows(segment.capacity);
    this.#segment = segment;
    this.#encode = memory.block(ENCODE);
    this.#slots = memory.u32(at.slots, COPIED_PER_CALL);
    this.#blocks = memory.u8(at.copiedBlocks, rows * codeBytes);
    this.#factors = memory.f32(at.copiedFactors, rows);
    this.#biases = memory.f32(at.copiedBiases, rows);
    this.#lists = memory.u16(at.copiedLists, rows);
    setFields(this.#encode, { rows: at.halves, width, ids: at.slots });
  }

  get chunkBytes(): number {
    const { codeBytes, nibbleBytes } = this.#segment.layout;
    return COPIED_PER_CALL * (codeBytes + nibbleBytes + COPIED_ROW_BYTES);
  }

  /** Copies at most `COPIED_PER_CALL` slots to rows from `first` on. */
  write(first: number, slots: Uint32Array): void {
    const segment = this.#segment;
    const { memory, at, nibbleBytes } = segment.layout;
    for (const [i, slot] of slots.entries()) {
      segment.copyCode(slot, this.#blocks, first + i);
      this.#factors[first + i] = segment.factors[slot]!;
      this.#biases[first + i] = segment.biases[slot]!;
      this.#lists[first + i] = segment.listOf(slot);
    }
    if (!segment.hasRows) return;
    this.#slots.set(slots);
    const codes = at.copiedNibbles + first * nibbleBytes;
    const [steps, losses] = [at.copiedSteps + first * 4, at.copiedLosses + first * 4];
    setFields(this.#encode, { count: slots.length, codes, steps, losses });
    memory.kernels.encodeNibbles(this.#encode.pointer);
  }
}
