/**
 * The sparse vectors of one key as a snapshot sees them: packed blocks and tails of its segments. Found once at the
 * beginning of a search: what is packed meanwhile says the same in both places.
 */
import type { IndexSnapshot } from "./index-snapshot.ts";
import { countBits } from "../segment/bits.ts";
import type { Segment } from "../segment/segment.ts";
import type { ReadOptions } from "../storage/files/segment-files.ts";
import { type RowSet } from "./row-set.ts";
import type { SparseBlock } from "../segment/postings/sparse-block.ts";
import type { SparseTail } from "../segment/postings/sparse-tail.ts";

export interface SparseParts {
  readonly blocks: readonly BlockPart[];
  readonly tails: readonly TailPart[];
}

export class TailPart {
  readonly tail: SparseTail;
  readonly #first: number;

  /** `first`: position of the tail's row 0. */
  constructor(tail: SparseTail, first: number) {
    this.tail = tail;
    this.#first = first;
  }

  /** The rows as the tail counts them, and others behind them. */
  mask(rows: RowSet): Uint32Array {
    return rows.words.subarray(this.#first / 32);
  }

  position(row: number): number {
    return this.#first + row;
  }
}

export class BlockPart {
  readonly block: SparseBlock;
  readonly #first: number;

  /** `first`: position of the block's row 0. */
  constructor(block: SparseBlock, first: number) {
    this.block = block;
    this.#first = first;
  }

  /** The rows as the block counts them; `null` if there are none. */
  mask(rows: RowSet): Uint32Array | null {
    const mask = rows.words.slice(this.#first / 32, (this.#first + this.block.rows) / 32);
    return mask.some((word) => word !== 0) ? mask : null;
  }

  /** The mask has every row of the block. */
  isWhole(mask: Uint32Array): boolean {
    return countBits(mask) === this.block.rows;
  }

  /** Position in the snapshot of a row of the block. */
  position(row: number): number {
    return this.#first + row;
  }
}

/** Reads the lists of segments in files in slices; `undefined`: all are in memory. */
export function prepareSparse(
  { segments }: IndexSnapshot,
  key: string,
  options: ReadOptions,
): Promise<void> | undefined {
  const isRead = segments.every((segment) => segment.postings(key)?.isLoaded !== false);
  return isRead ? undefined : readSparse(segments, key, options);
}

async function readSparse(segments: readonly Segment[], key: string, options: ReadOptions): Promise<void> {
  for (const segment of segments) await segment.prepare({ postings: [key] }, options);
}

/** Nothing where the key is not indexed. */
export function sparseParts({ segments, bases }: IndexSnapshot, key: string): SparseParts {
  const blocks: BlockPart[] = [];
  const tails: TailPart[] = [];
  for (const [index, segment] of segments.entries()) {
    const postings = segment.postings(key);
    if (postings === undefined) continue;
    const base = bases.of(index);
    for (const { block, firstDoc } of postings.blocks) blocks.push(new BlockPart(block, base + firstDoc));
    for (const { tail, firstDoc } of postings.tails) tails.push(new TailPart(tail, base + firstDoc));
  }
  return { blocks, tails };
}
