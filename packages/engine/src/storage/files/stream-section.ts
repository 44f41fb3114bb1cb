/**
 * A section that is read from front to back or in long pieces; it has a checksum for each 64 KiB. Chunks are read into
 * kernel memory, where their checksums are computed, and copied from there once they fit.
 */
import { valueMemory } from "../../kernels/value-memory.ts";
import {
  type ByteSource,
  type FetchedBytes,
  PIECE_BYTES,
  damagedAt,
  fetchChecked,
  requireWithin,
  tryChecked,
} from "./checked-range.ts";
import { CHUNK_BYTES, type StreamEntry } from "./footer.ts";
import type { ReadOptions, SegmentFile } from "./segment-files.ts";

export class StreamSection {
  readonly #file: SegmentFile;
  readonly #entry: StreamEntry;

  constructor(file: SegmentFile, entry: StreamEntry) {
    this.#file = file;
    this.#entry = entry;
  }

  /** In the file. */
  get offset(): number {
    return this.#entry.offset;
  }

  /** In bytes. */
  get length(): number {
    return this.#entry.length;
  }

  /**
   * Fills `into` with the bytes from `from` on; or returns `false`: not all of them are on this machine.
   * Only bytes that fit their checksums get there.
   */
  tryRead(into: Uint8Array, from: number): boolean {
    requireWithin(this.#file, this.#entry.name, [from + into.length, this.length]);
    return tryChecked(this.#file, () => this.#check(this.#file, from, from + into.length, into));
  }

  /** `tryRead` of bytes that may have to be fetched. Nothing is written to `into` once it has settled. */
  async read(into: Uint8Array, from: number, options: ReadOptions = {}): Promise<void> {
    requireWithin(this.#file, this.#entry.name, [from + into.length, this.length]);
    const end = from + into.length;
    for (let at = from; at < end;) {
      const start = Math.floor(at / CHUNK_BYTES) * CHUNK_BYTES;
      const next = Math.min(start + PIECE_BYTES, end);
      await this.#fetch([start, this.#chunkEnd(next)], options, (fetched) =>
        this.#check(fetched, at, next, into.subarray(at - from, next - from)),
      );
      at = next;
    }
  }

  /** Reads all of it, and yields the lengths of the pieces that it is read in. */
  async *verify(options: ReadOptions = {}): AsyncGenerator<number, void> {
    for (let at = 0; at < this.length; at += PIECE_BYTES) {
      const end = Math.min(at + PIECE_BYTES, this.length);
      await this.#fetch([at, end], options, (fetched) => this.#check(fetched, at, end));
      yield end - at;
    }
  }

  /** Holds the chunks of [from, end) to their checksums and copies what is asked for to `into`, if it is given. */
  #check(source: ByteSource, from: number, end: number, into?: Uint8Array): boolean {
    const memory = valueMemory();
    for (let at = from; at < end;) {
      const chunk = Math.floor(at / CHUNK_BYTES);
      const start = chunk * CHUNK_BYTES;
      const chunkEnd = this.#chunkEnd(start + 1);
      const bytes = memory.bytes.subarray(0, chunkEnd - start);
      if (!source.tryRead(bytes, this.offset + start)) return false;
      if (~memory.checksum(0xffffffff, 0, bytes.length) >>> 0 !== this.#entry.checksums[chunk])
        throw damagedAt(this.#file, this.#entry.name, `bytes from ${start} on`);
      const next = Math.min(chunkEnd, end);
      into?.set(bytes.subarray(at - start, next - start), at - from);
      at = next;
    }
    return true;
  }

  /** Of the chunk that holds the byte before `position`. */
  #chunkEnd(position: number): number {
    return Math.min(Math.ceil(position / CHUNK_BYTES) * CHUNK_BYTES, this.length);
  }

  #fetch(
    [start, end]: readonly [number, number],
    options: ReadOptions,
    check: (fetched: FetchedBytes) => void,
  ): Promise<FetchedBytes> {
    return fetchChecked(this.#file, [this.offset + start, this.offset + end], options, check);
  }
}
