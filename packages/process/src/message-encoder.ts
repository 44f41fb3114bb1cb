/** Values as the bytes of message-form.ts. */
import { serialize } from "node:v8";
import { JsonFloat, isLatin1 } from "@sheaf/protocol";
import {
  BUFFER_KIND,
  MAX_NAMES,
  NEW_NAME,
  OTHER_NAME,
  OWN_FORM,
  TAGS,
  V8_FORM,
  VIEWS,
  aligned,
  viewOf,
} from "./message-form.ts";

const MAX_NAME_CHARACTERS = 64;
/** Deeper ones, and so what contains itself, go to V8. */
const MAX_DEPTH = 128;
const FIRST_BYTES = 8 * 1024;
/** A larger buffer is not kept for the next message. */
const KEPT_BYTES = 1024 * 1024;
/** Below this length a loop is faster than a call into native code. */
const SHORT_CHARACTERS = 16;

/** Typed arrays that are not copied into the bytes of a message. */
export interface Detached {
  readonly views: ArrayBufferView[];
  /** Shorter ones are. */
  readonly fromBytes: number;
}

/** One side's messages. All of them, in their order, have to reach the same `MessageDecoder`. */
export class MessageEncoder {
  readonly #names = new Map<string, number>();

  /**
   * The bytes of a message after `headroom` bytes that are the caller's. Throws for what cannot be cloned, and for a
   * message of more than `maxBytes`; then nothing was encoded, and the decoder need not hear of it. Long typed arrays go to
   * `detached`, where there is one.
   */
  encode(
    message: unknown,
    headroom: number,
    maxBytes = Number.POSITIVE_INFINITY,
    detached: Detached | null = null,
  ): Buffer {
    const known = this.#names.size;
    try {
      const writer = new MessageWriter(headroom, this.#names, detached);
      const bytes = writer.message(message) ? writer.finish() : this.#inV8Form(message, headroom, known);
      const length = bytes.length - headroom;
      if (length > maxBytes) throw new RangeError(`a message of ${length} bytes is too large`);
      return bytes;
    } catch (error) {
      this.#forget(known);
      throw error;
    }
  }

  #inV8Form(message: unknown, headroom: number, known: number): Buffer {
    this.#forget(known);
    const body = serialize(message);
    const bytes = Buffer.allocUnsafe(headroom + 1 + body.length);
    bytes[headroom] = V8_FORM;
    body.copy(bytes, headroom + 1);
    return bytes;
  }

  /** Those that came after the first `known`. */
  #forget(known: number): void {
    for (const [name, number] of this.#names) if (number >= known) this.#names.delete(name);
  }
}

/** Reused from message to message: encoding is never interrupted. */
let scratch = Buffer.allocUnsafeSlow(FIRST_BYTES);
let scratchView = viewOf(scratch);

class MessageWriter {
  readonly #headroom: number;
  readonly #names: Map<string, number>;
  readonly #detached: Detached | null;
  #at: number;

  /** New names get their numbers in `names`. */
  constructor(headroom: number, names: Map<string, number>, detached: Detached | null) {
    this.#headroom = headroom;
    this.#detached = detached;
    this.#names = names;
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
    if (prototype === JsonFloat.prototype) return this.#jsonFloat(value as JsonFloat);
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

  #jsonFloat({ value }: JsonFloat): boolean {
    this.#byte(TAGS.jsonFloat);
    this.#reserve(8);
    scratchView.setFloat64(this.#at, value, true);
    this.#at += 8;
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
    if (this.#detached !== null && view.byteLength >= this.#detached.fromBytes) {
      this.#head(TAGS.detachedView, this.#detached.views.push(view) - 1);
      this.#byte(kind);
      return true;
    }
    this.#head(TAGS.view, view.byteLength);
    this.#byte(kind);
    const start = this.#headroom + aligned(this.#at - this.#headroom);
    this.#reserve(start - this.#at + view.byteLength);
    scratch.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), start);
    this.#at = start + view.byteLength;
    return true;
  }

  #name(name: string): void {
    const known = this.#names.get(name);
    if (known !== undefined) {
      this.#uint32(known);
      return;
    }
    const isNew = this.#names.size < MAX_NAMES && name.length <= MAX_NAME_CHARACTERS;
    this.#uint32(isNew ? NEW_NAME : OTHER_NAME);
    if (isNew) this.#names.set(name, this.#names.size);
    this.#string(name);
  }

  #uint32(value: number): void {
    this.#reserve(4);
    scratchView.setUint32(this.#at, value, true);
    this.#at += 4;
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
    if (BigInt.asIntN(64, value) !== value) {
      this.#byte(TAGS.bigint);
      this.#string(String(value));
      return true;
    }
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
