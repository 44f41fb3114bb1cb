/**
 * Writes one value of the store: the common frame (checksum, version, kind) and little-endian fields behind it. The
 * scratch buffer is used again for the next value, so a finished value is valid only until the next `begin`.
 */
import type { IntegerArray } from "@sheaf/protocol";
import { crc32c, crc32cInSteps } from "./crc32c.ts";
import { writeIntegers } from "./integer-codec.ts";

export const VALUE_VERSION = 1;
/** Checksum u32, version u8, kind u8, two bytes that a kind may use. */
export const FRAME_BYTES = 8;

/** What a value holds. Numbers are on disk: never change or reuse one. */
export const VALUE_KIND = {
  record: 1,
  head: 2,
  tenant: 3,
  database: 4,
  collection: 5,
  counter: 6,
  forkTree: 7,
  changes: 8,
  batch: 9,
  apiKey: 16,
  tokenUsage: 17,
} as const;
export type ValueKind = (typeof VALUE_KIND)[keyof typeof VALUE_KIND];

const FIRST_CAPACITY = 16 * 1024;
const STEP_BYTES = 1024 * 1024;

export class ValueWriter {
  readonly #firstCapacity: number;
  /** Made with the first value: a collection that is only read needs none. */
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;

  constructor(capacity = FIRST_CAPACITY) {
    this.#firstCapacity = capacity;
  }

  begin(kind: ValueKind, flags = 0): this {
    this.#position = 0;
    return this.u32(0).u8(VALUE_VERSION).u8(kind).u8(flags).u8(0);
  }

  /** The value with its checksum; a view of the scratch buffer. */
  finish(): Buffer {
    this.#bytes.writeUInt32LE(crc32c(this.#bytes, 4, this.#position), 0);
    return this.#bytes.subarray(0, this.#position);
  }

  /** `finish` of a value that is long. */
  *finishInSteps(): Generator<void, Buffer> {
    const value = this.#bytes.subarray(0, this.#position);
    value.writeUInt32LE(yield* crc32cInSteps(value, 4), 0);
    return value;
  }

  /** u32 length, then the bytes. */
  *bytesInSteps(value: Uint8Array): Generator<void, void> {
    this.u32(value.length);
    for (let from = 0; from < value.length; from += STEP_BYTES) {
      const piece = value.subarray(from, from + STEP_BYTES);
      this.#reserve(piece.length).set(piece, this.#position);
      this.#position += piece.length;
      yield;
    }
  }

  u8(value: number): this {
    this.#position = this.#reserve(1).writeUInt8(value, this.#position);
    return this;
  }

  u16(value: number): this {
    this.#position = this.#reserve(2).writeUInt16LE(value, this.#position);
    return this;
  }

  u32(value: number): this {
    this.#position = this.#reserve(4).writeUInt32LE(value, this.#position);
    return this;
  }

  /** Of a field that was written before what it counts. */
  setU32(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value, at);
  }

  /** What was written last, where it lies: it stays as it is for as long as the value is not begun anew. */
  last(bytes: number): Uint8Array {
    return this.#bytes.subarray(this.#position - bytes, this.#position);
  }

  /** A non-negative safe integer. */
  u64(value: number): this {
    return this.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32));
  }

  i64(value: bigint): this {
    this.#position = this.#reserve(8).writeBigInt64LE(value, this.#position);
    return this;
  }

  f64(value: number): this {
    this.#position = this.#reserve(8).writeDoubleLE(value, this.#position);
    return this;
  }

  /** The elements as they lie in memory, which is little-endian on every platform Sheaf has binaries for. */
  array(values: Float32Array | Float64Array | Uint32Array): this {
    const source = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.#reserve(source.length).set(source, this.#position);
    this.#position += source.length;
    return this;
  }

  /** Eight bytes for each, whatever its form. */
  integers(values: IntegerArray): this {
    const bytes = this.#reserve(8 * values.length);
    writeIntegers(values, bytes.subarray(this.#position, this.#position + 8 * values.length));
    this.#position += 8 * values.length;
    return this;
  }

  /** u32 byte length, then UTF-8. */
  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.u32(length);
    this.#reserve(length).write(value, this.#position);
    this.#position += length;
    return this;
  }

  /** u32 length, then the bytes. */
  bytes(value: Uint8Array): this {
    this.u32(value.length);
    this.#reserve(value.length).set(value, this.#position);
    this.#position += value.length;
    return this;
  }

  #reserve(bytes: number): Buffer {
    const needed = this.#position + bytes;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#firstCapacity, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#position);
      this.#bytes = grown;
    }
    return this.#bytes;
  }
}
