/**
 * Codes of the slots of a filter, copied side by side. Gathering them one by one from all over a segment takes several
 * times as long, so a filter that is asked for again is worth a copy: its 1-bit codes in blocks for FastScan and, where
 * the segment has vectors, 4-bit codes of them. Searches make a copy in shares, none of which takes long, and use it once
 * it is complete. The copies used last are kept, as many as there is room for: in the segment's own memory, and in that of
 * all indexes, which gets its bytes back when the segment is closed.
 */
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { COPY, ENCODE } from "../../kernels/argument-layouts.generated.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { COPIED_PER_CALL, copiedRows } from "./segment-layout.ts";

/** Factor, bias, step and loss of a row, and its list. */
const COPIED_ROW_BYTES = 4 * 4 + 2;

/** The first row of every chunk of a copy. Chunks are `COPIED_PER_CALL` rows, of which the last may have fewer. */
export type CodeCopy = readonly number[];

/** What one search may copy, in chunks: some 0.7 ms each. */
export interface CopyingShare {
  /** In all segments together, from here on. */
  left: number;
  readonly atOnce: number;
}

export function copyingShare(): CopyingShare {
  return { left: 8, atOnce: 2 };
}

/** For what cannot wait. */
export function endlessShare(): CopyingShare {
  return { left: Infinity, atOnce: Infinity };
}

interface GrowingCopy {
  readonly rows: CodeCopy;
  /** When it was asked for last, by the count of all that was asked for. */
  askedAt: number;
  /** Chunks that are copied. */
  copied: number;
}

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
  readonly #copies = new Map<Uint32Array, GrowingCopy>();
  /** When these slots were asked for last, of those that have no copy. */
  readonly #askedFor = new WeakMap<Uint32Array, number>();
  /** How often a copy was asked for. */
  #asked = 0;
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

  /** The copy of these slots if it is complete. With an endless share `of` will always have one then, the same or made anew. */
  known(slots: Uint32Array): CodeCopy | null {
    if (this.#segment.hasRows !== this.#hasRows) return null;
    const copy = this.#copies.get(slots);
    return copy !== undefined && isComplete(copy) ? copy.rows : null;
  }

  /**
   * The copy of these slots, begun when they are asked for a second time and made as far as the share goes; `null`: there
   * is none yet, or no room for one.
   */
  of(slots: Uint32Array, share: CopyingShare): CodeCopy | null {
    if (this.#segment.hasRows !== this.#hasRows) this.#clear();
    const copy = this.#copies.get(slots) ?? this.#begin(slots, share.left === Infinity);
    if (copy === null) return null;
    copy.askedAt = this.#asked++;
    this.#copies.delete(slots);
    this.#copies.set(slots, copy);
    for (let most = share.atOnce; !isComplete(copy) && share.left > 0 && most > 0; most--) {
      share.left--;
      const first = copy.copied * COPIED_PER_CALL;
      this.#rows.write(copy.rows[copy.copied++]!, slots.subarray(first, first + COPIED_PER_CALL));
    }
    return isComplete(copy) ? copy.rows : null;
  }

  /** Vectors have been loaded since: copies are made anew, with 4-bit codes, which take more memory. */
  #clear(): void {
    this.#hasRows = this.#segment.hasRows;
    this.#memory?.giveBack("copies");
    this.#made = 0;
    this.#free.length = 0;
    this.#copies.clear();
  }

  #begin(slots: Uint32Array, isNeeded: boolean): GrowingCopy | null {
    const chunks = Math.ceil(slots.length / COPIED_PER_CALL);
    const askedBefore = this.#askedFor.get(slots);
    this.#askedFor.set(slots, this.#asked++);
    if (
      askedBefore === undefined ||
      chunks > this.#chunks ||
      !this.#hasFree(chunks, isNeeded ? Infinity : askedBefore)
    )
      return null;
    return { rows: this.#free.splice(0, chunks), askedAt: this.#asked, copied: 0 };
  }

  /**
   * Makes room, first of what was never used, then of copies that were not asked for since `askedBefore`: where more filters
   * take turns than have room, the others would be copied again and again. `false`: there is too little.
   */
  #hasFree(chunks: number, askedBefore: number): boolean {
    while (this.#free.length < chunks && this.#made < this.#chunks) {
      if (!this.#hasRoom()) break;
      this.#free.push(this.#made++ * COPIED_PER_CALL);
    }
    if (chunks > this.#made) return false;
    for (const [forgotten, { rows, askedAt }] of this.#copies) {
      if (this.#free.length >= chunks) break;
      if (askedAt > askedBefore) return false;
      this.#copies.delete(forgotten);
      this.#askedFor.set(forgotten, askedAt);
      this.#free.push(...rows);
    }
    return true;
  }

  /** For a chunk, which must not make others give up what they have. */
  #hasRoom(): boolean {
    const memory = this.#memory;
    const bytes = this.#rows.chunkBytes;
    return memory === null || (!memory.isShortWith(bytes) && memory.take("copies", bytes));
  }
}

function isComplete({ rows, copied }: GrowingCopy): boolean {
  return copied === rows.length;
}

/** The room for copies in a segment's kernel memory. */
class CopiedRows {
  readonly #segment: DenseSegment;
  readonly #copy: ArgumentBlock<typeof COPY>;
  readonly #encode: ArgumentBlock<typeof ENCODE>;
  readonly #slots: Uint32Array;

  constructor(segment: DenseSegment) {
    const { memory, at, width, codeBytes, recordCodeBytes } = segment.layout;
    this.#segment = segment;
    this.#copy = memory.block(COPY);
    this.#encode = memory.block(ENCODE);
    this.#slots = memory.u32(at.slots, COPIED_PER_CALL);
    setFields(this.#copy, { records: at.records, codeBytes: recordCodeBytes, copiedBytes: codeBytes });
    setFields(this.#copy, { ids: at.slots });
    setFields(this.#encode, { rows: at.halves, width, ids: at.slots });
  }

  get chunkBytes(): number {
    const { codeBytes, nibbleBytes } = this.#segment.layout;
    const perRow = codeBytes + COPIED_ROW_BYTES;
    return COPIED_PER_CALL * (this.#segment.hasRows ? perRow + nibbleBytes : perRow);
  }

  /** Copies at most `COPIED_PER_CALL` slots to rows from `first` on, where a block begins. */
  write(first: number, slots: Uint32Array): void {
    const { memory, at, codeBytes, nibbleBytes } = this.#segment.layout;
    const count = slots.length;
    this.#slots.set(slots);
    setFields(this.#copy, {
      count,
      blocks: at.copiedBlocks + first * codeBytes,
      factors: at.copiedFactors + first * 4,
      biases: at.copiedBiases + first * 4,
      lists: at.copiedLists + first * 2,
    });
    memory.kernels.copyCodes(this.#copy.pointer);
    if (!this.#segment.hasRows) return;
    const codes = at.copiedNibbles + first * nibbleBytes;
    const [steps, losses] = [at.copiedSteps + first * 4, at.copiedLosses + first * 4];
    setFields(this.#encode, { count, codes, steps, losses });
    memory.kernels.encodeNibbles(this.#encode.pointer);
  }
}
