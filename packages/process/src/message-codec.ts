/**
 * Messages as bytes. What the processes of Sheaf say to each other nearly always consists of plain objects, lists, maps,
 * strings, numbers and typed arrays, and has a form of its own: V8's serializer takes longer to set up than a small
 * message takes to write, and every search crosses twice. A message with anything else in it is in V8's form, whole.
 * Either way each value arrives as it was, to the bit: bigint, -0, `undefined`, lone surrogates, Map, typed arrays.
 *
 * The first byte says which form. The own form is one value: a tag, and what the tag says; numbers are little-endian. A
 * name of a member is written once and then goes by its number. The bytes of a typed array begin at a multiple of 8
 * within the message, so that a decoded one is a view into it.
 */
import { deserialize, serialize } from "node:v8";

const OWN_FORM = 0;
const V8_FORM = 1;

const TAGS = {
  null: 0,
  undefined: 1,
  false: 2,
  true: 3,
  int32: 4,
  float64: 5,
  bigint64: 6,
  /** One byte per character. */
  latin1: 7,
  utf16: 8,
  list: 9,
  object: 10,
  map: 11,
  view: 12,
} as const;

/** A view's kind is its position here; a Buffer has the number after the last. */
const VIEWS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;
const BUFFER_KIND = VIEWS.length;
const ALIGNMENT = 8;
/** Deeper ones, and so what contains itself, go to V8. */
const MAX_DEPTH = 64;
const FIRST_BYTES = 8 * 1024;
/** A larger buffer is not kept for the next message. */
const KEPT_BYTES = 1024 * 1024;
/** Below this length a loop is faster than a call into native code. */
const SHORT_CHARACTERS = 16;

/** The bytes of a message after `headroom` bytes that are the caller's. Throws for what cannot be cloned. */
export function encodeMessage(message: unknown, headroom: number): Buffer {
  const writer = new MessageWriter(headroom);
  if (writer.message(message)) return writer.finish();
  const body = serialize(message);
  const bytes = Buffer.allocUnsafe(headroom + 1 + body.length);
  bytes[headroom] = V8_FORM;
  body.copy(bytes, headroom + 1);
  return bytes;
}

/** Typed arrays of the message are views into `bytes`, which must begin at a multiple of 8 in its buffer. */
export function decodeMessage(bytes: Buffer): unknown {
  return bytes[0] === V8_FORM ? deserialize(bytes.subarray(1)) : new MessageReader(bytes).message();
}

/** Reused from message to message: encoding is never interrupted. */
let scratch = Buffer.allocUnsafeSlow(FIRST_BYTES);
let scratchView = viewOf(scratch);

class MessageWriter {
  readonly #headroom: number;
  readonly #names = new Map<string, number>();
  #at: number;

  constructor(headroom: number) {
    this.#headroom = headroom;
    this.#at = headroom;
  }

  /** `false`: it has no own form. */
  message(message: unknown): boolean {
    this.#byte(OWN_FORM);
    return this.#value(message, 0);
  }

  finish(): Buffer {
    const written = scratch.subarray(0, this.#at);
    if (scratch.length <= KEPT_BYTES) return Buffer.from(written);
    scratch = Buffer.allocUnsafeSlow(FIRST_BYTES);
    scratchView = viewOf(scratch);
    return written;
  }

  #value(value: unknown, depth: number): boolean {
    switch (typeof value) {
      case "string":
        this.#string(value);
        return true;
      case "number":
        this.#number(value);
        return true;
      case "boolean":
        this.#byte(value ? TAGS.true : TAGS.false);
        return true;
      case "undefined":
        this.#byte(TAGS.undefined);
        return true;
      case "bigint":
        return this.#bigint(value);
      case "object":
        if (value !== null) return depth < MAX_DEPTH && this.#object(value, depth + 1);
        this.#byte(TAGS.null);
        return true;
      case "function":
      case "symbol":
      default:
        return false;
    }
  }

  #object(value: object, depth: number): boolean {
    if (Array.isArray(value)) {
      this.#head(TAGS.list, value.length);
      for (const item of value) if (!this.#value(item, depth)) return false;
      return true;
    }
    if (ArrayBuffer.isView(value)) return this.#view(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Map.prototype) return this.#map(value as ReadonlyMap<unknown, unknown>, depth);
    if (prototype !== Object.prototype && prototype !== null) return false;
    const members = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(members);
    this.#head(TAGS.object, names.length);
    for (const name of names) {
      this.#name(name);
      if (!this.#value(members[name], depth)) return false;
    }
    return true;
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): boolean {
    this.#head(TAGS.map, map.size);
    for (const [key, value] of map) if (!this.#value(key, depth) || !this.#value(value, depth)) return false;
    return true;
  }

  #view(view: ArrayBufferView): boolean {
    const kind = Buffer.isBuffer(view)
      ? BUFFER_KIND
      : VIEWS.findIndex((constructor) => view.constructor === constructor);
    if (kind < 0) return false;
    this.#head(TAGS.view, view.byteLength);
    this.#byte(kind);
    const start = this.#headroom + aligned(this.#at - this.#headroom);
    this.#reserve(start - this.#at + view.byteLength);
    scratch.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), start);
    this.#at = start + view.byteLength;
    return true;
  }

  /** A name that was written before as its number, a new one as the next number and the name itself. */
  #name(name: string): void {
    const known = this.#names.get(name);
    this.#reserve(4);
    scratchView.setUint32(this.#at, known ?? this.#names.size, true);
    this.#at += 4;
    if (known !== undefined) return;
    this.#names.set(name, this.#names.size);
    this.#string(name);
  }

  #string(text: string): void {
    const { length } = text;
    if (!isLatin1(text)) {
      this.#head(TAGS.utf16, length);
      this.#reserve(2 * length);
      this.#at += scratch.write(text, this.#at, "utf16le");
      return;
    }
    this.#head(TAGS.latin1, length);
    this.#reserve(length);
    if (length > SHORT_CHARACTERS) scratch.write(text, this.#at, "latin1");
    else for (let i = 0; i < length; i++) scratch[this.#at + i] = text.charCodeAt(i);
    this.#at += length;
  }

  #number(value: number): void {
    this.#reserve(9);
    if ((value | 0) === value && !Object.is(value, -0)) {
      scratchView.setUint8(this.#at, TAGS.int32);
      scratchView.setInt32(this.#at + 1, value, true);
      this.#at += 5;
    } else {
      scratchView.setUint8(this.#at, TAGS.float64);
      scratchView.setFloat64(this.#at + 1, value, true);
      this.#at += 9;
    }
  }

  #bigint(value: bigint): boolean {
    if (BigInt.asIntN(64, value) !== value) return false;
    this.#byte(TAGS.bigint64);
    this.#reserve(8);
    scratchView.setBigInt64(this.#at, value, true);
    this.#at += 8;
    return true;
  }

  #head(tag: number, count: number): void {
    this.#reserve(5);
    scratchView.setUint8(this.#at, tag);
    scratchView.setUint32(this.#at + 1, count, true);
    this.#at += 5;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    scratch[this.#at++] = byte;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= scratch.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * scratch.length));
    scratch.copy(larger, 0, 0, this.#at);
    scratch = larger;
    scratchView = viewOf(larger);
  }
}

class MessageReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #names: string[] = [];
  #at = 1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  message(): unknown {
    const value = this.#value();
    if (this.#at !== this.#bytes.length) throw new RangeError("a message has bytes after its end");
    return value;
  }

  #value(): unknown {
    const tag = this.#view.getUint8(this.#at++);
    switch (tag) {
      case TAGS.null:
        return null;
      case TAGS.undefined:
        return undefined;
      case TAGS.false:
        return false;
      case TAGS.true:
        return true;
      case TAGS.int32:
        this.#at += 4;
        return this.#view.getInt32(this.#at - 4, true);
      case TAGS.float64:
        this.#at += 8;
        return this.#view.getFloat64(this.#at - 8, true);
      case TAGS.bigint64:
        this.#at += 8;
        return this.#view.getBigInt64(this.#at - 8, true);
      case TAGS.latin1:
      case TAGS.utf16:
        return this.#string(tag);
      case TAGS.list:
        return this.#list();
      case TAGS.object:
        return this.#object();
      case TAGS.map:
        return this.#map();
      case TAGS.view:
        return this.#typedArray();
      default:
        throw new RangeError(`a message has the unknown tag ${tag}`);
    }
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    for (let left = this.#uint32(); left > 0; left--) list.push(this.#value());
    return list;
  }

  #object(): object {
    const members: Record<string, unknown> = {};
    for (let left = this.#uint32(); left > 0; left--) {
      const name = this.#name();
      const value = this.#value();
      if (name !== "__proto__") members[name] = value;
      else
        Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return members;
  }

  #map(): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>();
    for (let left = this.#uint32(); left > 0; left--) {
      const key = this.#value();
      map.set(key, this.#value());
    }
    return map;
  }

  #name(): string {
    const number = this.#uint32();
    const known = this.#names[number];
    if (known !== undefined) return known;
    const name = this.#string(this.#view.getUint8(this.#at++));
    this.#names.push(name);
    return name;
  }

  #string(tag: number): string {
    const length = this.#uint32() * (tag === TAGS.utf16 ? 2 : 1);
    const start = this.#skip(length);
    return tag === TAGS.utf16
      ? this.#bytes.toString("utf16le", start, start + length)
      : this.#bytes.toString("latin1", start, start + length);
  }

  #typedArray(): ArrayBufferView {
    const length = this.#uint32();
    const kind = this.#view.getUint8(this.#at++);
    this.#at = aligned(this.#at);
    const start = this.#bytes.byteOffset + this.#skip(length);
    const { buffer } = this.#bytes;
    if (kind === BUFFER_KIND) return Buffer.from(buffer, start, length);
    const constructor = VIEWS[kind];
    if (constructor === undefined) throw new RangeError("a message has a typed array of an unknown kind");
    return new constructor(buffer as ArrayBuffer, start, length / constructor.BYTES_PER_ELEMENT);
  }

  #uint32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  /** Where the next bytes begin. */
  #skip(count: number): number {
    const start = this.#at;
    this.#at += count;
    if (this.#at > this.#bytes.length) throw new RangeError("a message ends too early");
    return start;
  }
}

function isLatin1(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return false;
  return true;
}

function aligned(position: number): number {
  return Math.ceil(position / ALIGNMENT) * ALIGNMENT;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
