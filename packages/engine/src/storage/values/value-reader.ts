/**
 * Reads one value of the store. Checksum, version and kind are checked first; every field is checked against the end
 * of the value. Whatever is wrong is a `CorruptDataError` with key and position. Nothing read refers to the bytes, but
 * for a `view`.
 */
import type { IntegerArray } from "@sheaf/protocol";
import { CorruptDataError, type DataOrigin } from "../corrupt-data-error.ts";
import { crc32c } from "./crc32c.ts";
import { readIntegers } from "./integer-codec.ts";
import { FRAME_BYTES, VALUE_VERSION, type ValueKind } from "./value-writer.ts";

export class ValueReader {
  readonly flags: number;
  readonly #bytes: Buffer;
  readonly #origin: DataOrigin;
  #position = FRAME_BYTES;

  /** @param checksum Of all but itself, where it is known. */
  constructor(value: Uint8Array, kind: ValueKind, origin: DataOrigin, checksum?: number) {
    // LMDB gives buffers already, and making another takes as long as reading all numbers of a record.
    this.#bytes = Buffer.isBuffer(value)
      ? value
      : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    this.#origin = origin;
    if (value.length < FRAME_BYTES) throw this.#damaged(0, `only ${value.length} bytes`);
    if ((checksum ?? crc32c(this.#bytes, 4)) !== this.#bytes.readUInt32LE(0))
      throw this.#damaged(0, "the checksum does not match");
    const version = this.#bytes.readUInt8(4);
    if (version !== VALUE_VERSION) throw this.#damaged(4, `value version ${version} is unknown`);
    const actual = this.#bytes.readUInt8(5);
    if (actual !== kind) throw this.#damaged(5, `expected a value of kind ${kind}, found ${actual}`);
    this.flags = this.#bytes.readUInt8(6);
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#take(1));
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  u64(): number {
    const at = this.#take(8);
    const value = this.#bytes.readUInt32LE(at + 4) * 2 ** 32 + this.#bytes.readUInt32LE(at);
    if (!Number.isSafeInteger(value)) throw this.#damaged(at, "an integer above 2^53");
    return value;
  }

  i64(): bigint {
    return this.#bytes.readBigInt64LE(this.#take(8));
  }

  f64(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  f32Array(length: number): Float32Array {
    return new Float32Array(this.#copy(length * 4));
  }

  u32Array(length: number): Uint32Array {
    return new Uint32Array(this.#copy(length * 4));
  }

  f64Array(length: number): Float64Array {
    return new Float64Array(this.#copy(length * 8));
  }

  /** In the narrowest form that holds them. */
  integers(length: number): IntegerArray {
    const at = this.#take(length * 8);
    return readIntegers(this.#bytes.subarray(at, at + length * 8));
  }

  /** Fills `target` with the next bytes. */
  copyTo(target: Uint8Array): void {
    const at = this.#take(target.length);
    this.#bytes.copy(target, 0, at, at + target.length);
  }

  skip(length: number): void {
    this.#take(length);
  }

  /** The next bytes where they lie. */
  view(length: number): Uint8Array {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  bytes(length: number): Uint8Array {
    return new Uint8Array(this.#copy(length));
  }

  /** UTF-8; its length stands before it. */
  text(length = this.u32()): string {
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  /** A value that ends before or after its last field was not written by us. */
  end(): void {
    if (this.#position !== this.#bytes.length)
      throw this.#damaged(this.#position, "unexpected bytes at the end");
  }

  fail(reason: string): CorruptDataError {
    return this.#damaged(this.#position, reason);
  }

  #copy(bytes: number): ArrayBuffer {
    const at = this.#take(bytes);
    const from = this.#bytes.byteOffset + at;
    return this.#bytes.buffer.slice(from, from + bytes) as ArrayBuffer;
  }

  #take(bytes: number): number {
    const at = this.#position;
    if (at + bytes > this.#bytes.length) throw this.#damaged(at, `${bytes} more bytes expected`);
    this.#position = at + bytes;
    return at;
  }

  #damaged(position: number, reason: string): CorruptDataError {
    return new CorruptDataError(this.#origin, position, reason);
  }
}
