/** An open object: its last bytes in memory, the rest by blocks, from the cache on disk or fetched there. */
import { SheafError, abortable, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged } from "../files/segment-damaged.ts";
import type { ReadOptions, SegmentFile } from "../files/segment-files.ts";
import type { ObjectRange } from "./object-store.ts";

export const BLOCK_BYTES = 1024 * 1024;
/** Fetched at once for one read. */
const BLOCKS_AHEAD = 8;

/** Bytes of an object. */
export interface ObjectPiece {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Blocks of one object. */
export interface ObjectBlocks {
  tryRead(index: number, into: Uint8Array, from: number): boolean;
  /**
   * `count` blocks from `first` on, those parts of them at least that lie within the range, end excluded; `isAnew`: none that was
   * kept. Throws `SegmentDamaged` where the object is gone or another one.
   */
  read(
    first: number,
    count: number,
    range: readonly [number, number],
    isAnew: boolean,
  ): Promise<readonly ObjectPiece[]>;
}

export class ObjectFile implements SegmentFile {
  readonly name: string;
  readonly size: number;
  readonly isLocal = false;
  readonly #tail: ObjectRange;
  readonly #blocks: ObjectBlocks;
  readonly #reads = new Set<Promise<void>>();
  #isClosed = false;

  constructor(name: string, tail: ObjectRange, blocks: ObjectBlocks) {
    this.name = name;
    this.size = tail.size;
    this.#tail = tail;
    this.#blocks = blocks;
  }

  tryRead(into: Uint8Array, position: number): boolean {
    this.#require(into, position);
    if (this.#fromTail(into, position)) return true;
    for (let at = 0; at < into.length;) {
      const [index, from] = [Math.floor((position + at) / BLOCK_BYTES), (position + at) % BLOCK_BYTES];
      const piece = into.subarray(at, at + BLOCK_BYTES - from);
      if (!this.#blocks.tryRead(index, piece, from)) return false;
      at += piece.length;
    }
    return true;
  }

  async read(into: Uint8Array, position: number, options: ReadOptions = {}): Promise<void> {
    throwIfAborted(options.signal);
    this.#require(into, position);
    if (options.isAnew !== true && this.#fromTail(into, position)) return;
    const read = this.#read(into, position, options);
    this.#reads.add(read);
    try {
      await read;
    } finally {
      this.#reads.delete(read);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#reads);
  }

  #require(into: Uint8Array, position: number): void {
    if (this.#isClosed) throw new SheafError("internal", `index file ${this.name} is closed`);
    const end = position + into.length;
    if (end > this.size) throw new SegmentDamaged(this.name, null, `it ends before byte ${end}`);
  }

  #fromTail(into: Uint8Array, position: number): boolean {
    const from = position - this.#tail.start;
    const isThere = from >= 0 && from + into.length <= this.#tail.bytes.length;
    if (isThere) into.set(this.#tail.bytes.subarray(from, from + into.length));
    return isThere;
  }

  async #read(into: Uint8Array, position: number, { signal, isAnew = false }: ReadOptions): Promise<void> {
    const end = position + into.length;
    for (let at = position; at < end;) {
      const first = Math.floor(at / BLOCK_BYTES);
      const count = Math.min(BLOCKS_AHEAD, Math.floor((end - 1) / BLOCK_BYTES) - first + 1);
      const pieces = await abortable(this.#blocks.read(first, count, [at, end], isAnew), signal);
      for (const { start, bytes } of pieces) {
        const piece = bytes.subarray(at - start).subarray(0, end - at);
        into.set(piece, at - position);
        at += piece.length;
      }
    }
  }
}
