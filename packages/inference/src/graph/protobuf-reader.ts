/**
 * Walks the fields of a protocol buffer message in a file without loading it: values that nobody asks for are skipped
 * by their length, so a model of gigabytes costs a few reads. Invariant: nothing outside the given range is returned,
 * whatever the file claims.
 */
import type { FileHandle } from "node:fs/promises";
import { SheafError } from "@sheaf/protocol";

/** A half-open range of bytes in the file. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** One field: `value` for numbers, `range` (the payload) for everything that has a length. */
export type ProtobufField =
  | { readonly number: number; readonly value: bigint }
  | { readonly number: number; readonly range: ByteRange };

const WINDOW_BYTES = 64 * 1024;
const MAX_VARINT_BYTES = 10;

export class ProtobufFile {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #window = Buffer.alloc(WINDOW_BYTES);
  #windowStart = 0;
  #windowEnd = 0;

  /** `path` is only for messages; the caller opens and closes `file`. */
  constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** The fields of the message in `range`, in file order. */
  async *fields(range: ByteRange): AsyncGenerator<ProtobufField> {
    let position = range.start;
    while (position < range.end) {
      const key = await this.#varint(position, range.end);
      const number = Number(key.value >> 3n);
      const body = key.next;
      switch (Number(key.value & 7n)) {
        case 0: {
          const { value, next } = await this.#varint(body, range.end);
          yield { number, value };
          position = next;
          break;
        }
        case 1:
          position = this.#within(body + 8, range.end);
          break;
        case 2: {
          const { value, next } = await this.#varint(body, range.end);
          position = this.#within(next + Number(value), range.end);
          yield { number, range: { start: next, end: position } };
          break;
        }
        case 5:
          position = this.#within(body + 4, range.end);
          break;
        default:
          throw this.#damaged(position);
      }
    }
  }

  /** A name; one longer than the window is no name. */
  async string(range: ByteRange): Promise<string> {
    const length = range.end - range.start;
    if (length > WINDOW_BYTES) throw this.#damaged(range.start);
    await this.#load(range.start, length);
    const from = range.start - this.#windowStart;
    return this.#window.toString("utf8", from, from + length);
  }

  async #varint(position: number, end: number): Promise<{ value: bigint; next: number }> {
    const available = Math.min(MAX_VARINT_BYTES, end - position);
    await this.#load(position, available);
    let value = 0n;
    for (let i = 0; i < available; i++) {
      const byte = this.#window[position - this.#windowStart + i] ?? 0;
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return { value: BigInt.asUintN(64, value), next: position + i + 1 };
    }
    throw this.#damaged(position);
  }

  /** Makes `length` bytes (at most the window) from `position` readable in the window. */
  async #load(position: number, length: number): Promise<void> {
    if (position >= this.#windowStart && position + length <= this.#windowEnd) return;
    const { bytesRead } = await this.#file.read(this.#window, 0, WINDOW_BYTES, position);
    this.#windowStart = position;
    this.#windowEnd = position + bytesRead;
    if (bytesRead < length) throw this.#damaged(position);
  }

  #within(position: number, end: number): number {
    if (position > end) throw this.#damaged(position);
    return position;
  }

  #damaged(position: number): SheafError {
    return new SheafError(
      "model_unavailable",
      `${this.#path}: not an ONNX model (damaged at byte ${position})`,
    );
  }
}
