/**
 * The sparse vectors of one key as a snapshot sees them: the blocks that hold lists of its segments, and the tails of
 * those that still fill. Found once at the beginning of a search: lists that move meanwhile say the same in both places.
 */
import type { DocBases } from "./doc-bases.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";
import { type RowSet, SEGMENT_ROWS, SEGMENT_WORDS, countBits } from "./row-set.ts";
import { SLOT_BITS } from "./posting-lists.ts";
import type { SparseBlock } from "./sparse-block.ts";
import type { SparseTail } from "./sparse-tail.ts";

const NO_SEGMENT = -1;

export interface SparseParts {
  readonly blocks: readonly BlockPart[];
  readonly tails: readonly TailPart[];
}

export interface TailPart {
  readonly tail: SparseTail;
  /** Of the snapshot's segments. */
  readonly segment: number;
}

export class BlockPart {
  readonly block: SparseBlock;
  /** Of the snapshot's segments, by slot. */
  readonly #segments: Int32Array;

  readonly #bases: DocBases;

  constructor(block: SparseBlock, bases: DocBases) {
    this.block = block;
    this.#bases = bases;
    this.#segments = new Int32Array(block.slots).fill(NO_SEGMENT);
  }

  place(slot: number, segment: number): void {
    this.#segments[slot] = segment;
  }

  /** The rows as the block counts them; `null` if there are none. */
  mask(rows: RowSet): Uint32Array | null {
    const mask = new Uint32Array(this.block.slots * SEGMENT_WORDS);
    this.#segments.forEach((segment, slot) => {
      if (segment !== NO_SEGMENT) mask.set(rows.segment(segment), slot * SEGMENT_WORDS);
    });
    return mask.some((word) => word !== 0) ? mask : null;
  }

  /** The mask has every row of the block. */
  isWhole(mask: Uint32Array): boolean {
    return countBits(mask) === this.block.rows;
  }

  /** Position in the snapshot of a row of the block. */
  position(row: number): number {
    return this.#bases.of(this.#segments[row >>> SLOT_BITS]!) + (row & (SEGMENT_ROWS - 1));
  }
}

/** Nothing where the key is not indexed. */
export function sparseParts({ segments, bases }: IndexSnapshot, key: string): SparseParts {
  const blocks = new Map<SparseBlock, BlockPart>();
  const tails: TailPart[] = [];
  for (const [index, segment] of segments.entries()) {
    const postings = segment.postings(key);
    if (postings === undefined) continue;
    const { block, slot, tail } = postings;
    if (tail.postings > 0) tails.push({ tail, segment: index });
    if (block === null) continue;
    const part = blocks.get(block) ?? new BlockPart(block, bases);
    blocks.set(block, part);
    part.place(slot, index);
  }
  return { blocks: [...blocks.values()], tails };
}
