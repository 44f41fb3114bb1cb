/**
 * Packed lists of up to `MAX_SLOTS` segments in one kernel memory, with room for the sums of searches beside them. The
 * lists never change, so one other thread may search a block that is shared at the same time, with sums of its own.
 */
import {
  type KernelKind,
  KernelMemory,
  type MemoryHandle,
  allocationBytes,
} from "../kernels/kernel-memory.ts";
import { type MergeSource, mergeLists } from "./merge-lists.ts";
import type { ListsSize, PostingLists } from "./posting-lists.ts";
import { SEGMENT_ROWS } from "./row-set.ts";
import { SparseSeat, seatBytes } from "./sparse-seat.ts";
import { SparseSums, sumsBytes } from "./sparse-sums.ts";

export interface SparseBlockOptions {
  /** See `KernelMemoryOptions`. */
  readonly kernels?: KernelKind | undefined;
  /** Another thread may search it too. */
  readonly shared?: boolean;
}

/** A block as it is sent to another thread. */
export interface SharedBlock {
  readonly size: ListsSize;
  readonly memory: MemoryHandle;
}

export class SparseBlock {
  readonly lists: PostingLists;
  /** Of this thread. */
  readonly sums: SparseSums;
  /** `null` if it is not shared, and so the other thread's seat. */
  readonly shared: SharedBlock | null;
  readonly seat: SparseSeat | null;
  readonly #memory: KernelMemory;

  /** Pauses about every millisecond; `return` gives it up. */
  static *merge(
    sources: readonly MergeSource[],
    options: SparseBlockOptions = {},
  ): Generator<void, SparseBlock> {
    const unfinished: SparseBlock[] = [];
    try {
      const block = yield* mergeLists(sources, (size) => {
        unfinished.push(new SparseBlock(size, options));
        return unfinished[0]!;
      });
      unfinished.pop();
      return block;
    } finally {
      unfinished.pop()?.close();
    }
  }

  private constructor(size: ListsSize, { kernels, shared = false }: SparseBlockOptions) {
    const bytes = listsBytes(size) + sumsBytes(size.slots) + (shared ? seatBytes(size.slots) : 0);
    const memory = new KernelMemory(bytes, { kernels, shared });
    this.#memory = memory;
    this.lists = listsIn(memory, size);
    this.sums = new SparseSums(memory, this.lists);
    const isShared = memory.shared !== null;
    this.shared = isShared ? { size, memory: memory.shared } : null;
    this.seat = isShared ? new SparseSeat(memory, this.lists) : null;
  }

  get kind(): KernelKind {
    return this.#memory.kind;
  }

  get slots(): number {
    return this.lists.slots;
  }

  get rows(): number {
    return this.slots * SEGMENT_ROWS;
  }

  /** Postings, and the empty places of columns. */
  get values(): number {
    return this.lists.values.length + this.lists.columns.length;
  }

  /** Makes room for another block's kernels; searches under way may go on. */
  close(): void {
    this.seat?.close();
    this.#memory.close();
  }
}

/** The seat of a block in the other thread, which makes it. */
export function attachSeat({ size, memory: handle }: SharedBlock): SparseSeat {
  const memory = new KernelMemory(handle);
  const lists = listsIn(memory, size);
  memory.allocate(sumsBytes(size.slots));
  return new SparseSeat(memory, lists);
}

function listsBytes({ slots, terms, postings, columns }: ListsSize): number {
  const values = 4 * columns * slots * SEGMENT_ROWS;
  return [4 * terms, 4 * (terms + 1), 2 * postings, 4 * postings, 4 * columns, values].reduce(
    (bytes, part) => bytes + allocationBytes(part),
    0,
  );
}

/** Where they are in a memory from which nothing else was allocated before. */
function listsIn(memory: KernelMemory, { slots, terms, postings, columns }: ListsSize): PostingLists {
  const words = (length: number): Uint32Array => memory.u32(memory.allocate(4 * length), length);
  const floats = (length: number): Float32Array => memory.f32(memory.allocate(4 * length), length);
  return {
    terms: words(terms),
    starts: words(terms + 1),
    rows: memory.u16(memory.allocate(2 * postings), postings),
    values: floats(postings),
    columnTerms: words(columns),
    columns: floats(columns * slots * SEGMENT_ROWS),
    slots,
  };
}
