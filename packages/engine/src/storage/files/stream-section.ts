/** A section that is read from front to back or in long pieces; it has a checksum for each 64 KiB. */
import { crc32c } from "../crc32c.ts";
import { type ByteSource, FetchedBytes, PIECE_BYTES, damagedAt, requireWithin } from "./checked-range.ts";
import { CHUNK_BYTES, type StreamEntry } from "./footer.ts";
import type { SegmentFile } from "./segment-files.ts";

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
   * Fills `into` with the bytes from `from` on; or returns `false`: not all of them are on this machine. What is in
   * `into` is only good once it returns `true`.
   */
  tryRead(into: Uint8Array, from: number): boolean {
    requireWithin(this.#file, this.#entry.name, [from + into.length, this.length]);
    return this.#fill(into, from, this.#file);
  }

  /** `tryRead` of bytes that may have to be fetched. Nothing is written to `into` once it has settled. */
  async read(into: Uint8Array, from: number, signal?: AbortSignal): Promise<void> {
    requireWithin(this.#file, this.#entry.name, [from + into.length, this.length]);
    const end = from + into.length;
    for (let at = from; at < end;) {
      const start = Math.floor(at / CHUNK_BYTES) * CHUNK_BYTES;
      const next = Math.min(start + PIECE_BYTES, end);
      const fetched = await this.#fetch(start, this.#chunkEnd(next), signal);
      this.#fill(into.subarray(at - from, next - from), at, fetched);
      at = next;
    }
  }

  /** Reads all of it, and yields the lengths of the pieces that it is read in. */
  async *verify(signal?: AbortSignal): AsyncGenerator<number, void> {
    for (let at = 0; at < this.length; at += PIECE_BYTES) {
      const { bytes } = await this.#fetch(at, Math.min(at + PIECE_BYTES, this.length), signal);
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
        this.#check((at + from) / CHUNK_BYTES, bytes.subarray(from, from + CHUNK_BYTES));
      yield bytes.length;
    }
  }

  #fill(into: Uint8Array, from: number, source: ByteSource): boolean {
    const end = from + into.length;
    for (let at = from; at < end;) {
      const chunk = Math.floor(at / CHUNK_BYTES);
      const start = chunk * CHUNK_BYTES;
      const chunkEnd = this.#chunkEnd(start + 1);
      const next = Math.min(chunkEnd, end);
      const isWhole = at === start && next === chunkEnd;
      const target = isWhole ? into.subarray(at - from, next - from) : new Uint8Array(chunkEnd - start);
      if (!source.tryRead(target, this.offset + start)) return false;
      this.#check(chunk, target);
      if (!isWhole) into.set(target.subarray(at - start, next - start), at - from);
      at = next;
    }
    return true;
  }

  /** Of the chunk that holds the byte before `position`. */
  #chunkEnd(position: number): number {
    return Math.min(Math.ceil(position / CHUNK_BYTES) * CHUNK_BYTES, this.length);
  }

  async #fetch(start: number, end: number, signal?: AbortSignal): Promise<FetchedBytes> {
    return FetchedBytes.read(this.#file, [this.offset + start, this.offset + end], signal);
  }

  #check(chunk: number, bytes: Uint8Array): void {
    if (crc32c(bytes) !== this.#entry.checksums[chunk])
      throw damagedAt(this.#file, this.#entry.name, `bytes from ${chunk * CHUNK_BYTES} on`);
  }
}
