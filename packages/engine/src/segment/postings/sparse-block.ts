/**
 * Packed lists of up to 65,536 rows in one kernel memory, with room for the sums of searches beside them. The
 * lists never change, so one other thread may search a block that is shared at the same time, with sums of its own.
 */
import { countBits } from "../bits.ts";
import {
  type KernelKind,
  KernelMemory,
  type MemoryHandle,
  allocationBytes,
} from "../../kernels/kernel-memory.ts";
import { type PostingSource, mergePostings } from "./merge-postings.ts";
import type { ListsSize, PostingLists } from "./posting-lists.ts";
import { type LengthTotals, addTotals, totalsWhere } from "./document-length.ts";
import { SparseSeat, seatBytes } from "./sparse-seat.ts";
import { SparseSums, sumsBytes } from "./sparse-sums.ts";

export interface SparseBlockOptions {
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
  #totals: LengthTotals | null = null;

  /** See `mergePostings`. Pauses about every millisecond; `return` gives it up. */
  static *merge(
    sources: readonly PostingSource[],
    docCount: number,
    options: SparseBlockOptions = {},
  ): Generator<void, SparseBlock[]> {
    const unfinished: SparseBlock[] = [];
    try {
      const blocks = yield* mergePostings(sources, docCount, (size) => {
        const block = new SparseBlock(size, options);
        unfinished.push(block);
        return block;
      });
      unfinished.length = 0;
      return blocks;
    } finally {
      for (const block of unfinished) block.close();
    }
  }

  /** With lists that are empty, and to be filled through `bytes` before anybody searches them. */
  static empty(size: ListsSize, options: SparseBlockOptions = {}): SparseBlock {
    return new SparseBlock(size, options);
  }

  private constructor(size: ListsSize, { shared = false }: SparseBlockOptions) {
    const { rowCount } = size;
    const bytes = listsBytes(size) + sumsBytes(rowCount) + (shared ? seatBytes(rowCount) : 0);
    const memory = new KernelMemory(bytes, { shared });
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

  /** All lists, in the order of `PostingLists`, each at a multiple of 64. */
  get bytes(): Uint8Array {
    const { terms, lengths } = this.lists;
    const end = lengths.byteOffset + allocationBytes(lengths.byteLength);
    return new Uint8Array(terms.buffer, terms.byteOffset, end - terms.byteOffset);
  }

  /** With what searches need beside the lists. */
  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  get rows(): number {
    return this.lists.rowCount;
  }

  /** Postings, and the empty places of columns. */
  get values(): number {
    return this.lists.values.length + this.lists.columns.length;
  }

  /**
   * Of the rows of the mask, a bit for each row; `null`: of all, which is added up once. Rows that are left out are counted
   * where they are fewer.
   */
  totals(mask: Uint32Array | null): LengthTotals {
    const { lengths } = this.lists;
    this.#totals ??= totalsWhere(lengths, new Uint32Array(lengths.length / 32), false);
    if (mask === null) return this.#totals;
    if (countBits(mask) < lengths.length / 2) return totalsWhere(lengths, mask, true);
    const { documents, length } = totalsWhere(lengths, mask, false);
    return addTotals(this.#totals, { documents: -documents, length: -length });
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
  memory.allocate(sumsBytes(size.rowCount));
  return new SparseSeat(memory, lists);
}

/** What the lists take of a memory. */
export function listsBytes({ rowCount, terms, postings, columns, lengths }: ListsSize): number {
  const values = 4 * columns * rowCount;
  return [4 * terms, 4 * (terms + 1), 2 * postings, 4 * postings, 4 * columns, values, 4 * lengths].reduce(
    (bytes, part) => bytes + allocationBytes(part),
    0,
  );
}

/** Where they are in a memory from which nothing else was allocated before. */
function listsIn(memory: KernelMemory, size: ListsSize): PostingLists {
  const { rowCount, terms, postings, columns, lengths } = size;
  const words = (length: number): Uint32Array => memory.u32(memory.allocate(4 * length), length);
  const floats = (length: number): Float32Array => memory.f32(memory.allocate(4 * length), length);
  return {
    terms: words(terms),
    starts: words(terms + 1),
    rows: memory.u16(memory.allocate(2 * postings), postings),
    values: floats(postings),
    columnTerms: words(columns),
    columns: floats(columns * rowCount),
    lengths: floats(lengths),
    rowCount,
  };
}
