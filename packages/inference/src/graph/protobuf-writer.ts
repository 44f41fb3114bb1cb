/**
 * Writes protocol buffer messages: exactly the three field forms that ONNX models need (varint, 32-bit, length-delimited;
 * https://protobuf.dev/programming-guides/encoding). A message is built field by field and nested by value.
 */
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];
  #byteLength = 0;

  /** An int32, int64 or enum field. Negative values take ten bytes, as the format demands. */
  varint(field: number, value: number | bigint): this {
    return this.#push(encodeVarint((field << 3) | WIRE_VARINT)).#push(encodeVarint(value));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#push(encodeVarint((field << 3) | WIRE_FIXED32)).#push(bytes);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#push(encodeVarint((field << 3) | WIRE_BYTES)).#push(encodeVarint(value.length)).#push(value);
  }

  string(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, "utf8"));
  }

  message(field: number, value: ProtobufWriter): this {
    this.#push(encodeVarint((field << 3) | WIRE_BYTES)).#push(encodeVarint(value.#byteLength));
    return this.append(value);
  }

  /** Adds the other message's fields to this one. */
  append(other: ProtobufWriter): this {
    for (const part of other.#parts) this.#push(part);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts, this.#byteLength);
  }

  #push(part: Uint8Array): this {
    this.#parts.push(part);
    this.#byteLength += part.length;
    return this;
  }
}

function encodeVarint(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
