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
import type { Turns } from "./turns.ts";

const MAX_NAME_CHARACTERS = 64;
/** Deeper ones, and so what contains itself, go to V8. */
const MAX_DEPTH = 128;
const FIRST_BYTES = 8 * 1024;
/** A larger buffer is not kept for the next message. */
const KEPT_BYTES = 1024 * 1024;
/** Below this length a loop is faster than a call into native code. */
const SHORT_CHARACTERS = 16;
/** Long strings take as long as many short ones. */
const BYTES_PER_STEP = 4 * 1024;
/** A buffer that is not copied into a larger one, but followed by another. */
const CHUNK_BYTES = 512 * 1024;

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

  /** `encode` without headroom, with turns of the event loop in between; another message must not be encoded meanwhile. */
  async encodeInTurns(message: unknown, detached: Detached, turns: Turns): Promise<Buffer> {
    const writer = new MessageWriter(0, this.#names, detached);
    const hasOwnForm = await writer.messageInTurns(message, turns);
    return hasOwnForm ? writer.finishInTurns(turns) : this.#inV8Form(message, 0, 0);
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

/** Reused from message to message: encoding one at once is never interrupted. */
let scratch: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
let scratchView = viewOf(scratch);

class MessageWriter {
  readonly #headroom: number;
  readonly #names: Map<string, number>;
  readonly #detached: Detached | null;
  #bytes: Buffer = scratch;
  #view: DataView = scratchView;
  #at: number;
  /** Full buffers, in turns only: to copy what is written so far into a larger one would be one long turn. */
  #full: Buffer[] | null = null;
  #fullBytes = 0;
  /** Where the clock was thought of last. */
  #steppedAt = 0;

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

  /** `message`, with turns of the event loop in between; the message must not change meanwhile. */
  messageInTurns(message: unknown, turns: Turns): Promise<boolean> {
    this.#full = [];
    this.#use(Buffer.allocUnsafeSlow(FIRST_BYTES));
    this.#byte(OWN_FORM);
    return this.#valueInTurns(message, 0, turns);
  }

  finish(): Buffer {
    const written = this.#bytes.subarray(0, this.#at);
    if (this.#bytes.length > KEPT_BYTES) return written;
    scratch = this.#bytes;
    scratchView = this.#view;
    return Buffer.from(written);
  }

  /** `finish`, after `messageInTurns`. */
  async finishInTurns(turns: Turns): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(this.#written);
    let end = 0;
    for (const chunk of [...(this.#full ?? []), this.#bytes.subarray(0, this.#at)]) {
      // A long string has a chunk of its own.
      for (let from = 0; from < chunk.length; from += CHUNK_BYTES) {
        end += chunk.copy(whole, end, from, from + CHUNK_BYTES);
        if (turns.isOver) await turns.take();
      }
    }
    return whole;
  }

  get #written(): number {
    return this.#fullBytes + this.#at;
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  async #valueInTurns(value: unknown, depth: number, turns: Turns): Promise<boolean> {
    const items = depth < MAX_DEPTH ? this.#begin(value) : null;
    if (items === null) return this.#value(value, depth);
    for (const item of items) {
      const isNested = typeof item === "object" && item !== null && !ArrayBuffer.isView(item);
      const isWritten = isNested
        ? await this.#valueInTurns(item, depth + 1, turns)
        : this.#value(item, depth + 1);
      if (!isWritten) return false;
      const steps = 1 + Math.floor((this.#written - this.#steppedAt) / BYTES_PER_STEP);
      this.#steppedAt = this.#written;
      if (turns.due(steps)) await turns.take();
    }
    return true;
  }

  /** Writes the head of a container and gives what is in it, names of members written on the way; `null`: it is none. */
  #begin(value: unknown): Iterable<unknown> | null {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return null;
    if (Array.isArray(value)) {
      this.#head(TAGS.list, value.length);
      return value;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Map.prototype) {
      const map = value as ReadonlyMap<unknown, unknown>;
      this.#head(TAGS.map, map.size);
      return alternating(map);
    }
    if (prototype !== Object.prototype && prototype !== null) return null;
    return this.#members(value as Readonly<Record<string, unknown>>);
  }

  *#members(members: Readonly<Record<string, unknown>>): Generator<unknown, void> {
    const names = Object.keys(members);
    this.#head(TAGS.object, names.length);
    for (const name of names) {
      this.#name(name);
      yield members[name];
    }
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
    if (ArrayBuffer.isView(value)) return this.#typedArray(value);
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
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
    return true;
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): boolean {
    this.#head(TAGS.map, map.size);
    for (const [key, value] of map) if (!this.#value(key, depth) || !this.#value(value, depth)) return false;
    return true;
  }

  #typedArray(view: ArrayBufferView): boolean {
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
    const position = this.#written - this.#headroom;
    const padding = aligned(position) - position;
    this.#reserve(padding + view.byteLength);
    const start = this.#at + padding;
    // Memory that is not cleared holds what was there before.
    this.#bytes.fill(0, this.#at, start);
    this.#bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), start);
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
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  #string(text: string): void {
    const { length } = text;
    if (!isLatin1(text)) {
      this.#head(TAGS.utf16, length);
      this.#reserve(2 * length);
      this.#at += this.#bytes.write(text, this.#at, "utf16le");
      return;
    }
    this.#head(TAGS.latin1, length);
    this.#reserve(length);
    if (length > SHORT_CHARACTERS) this.#bytes.write(text, this.#at, "latin1");
    else for (let i = 0; i < length; i++) this.#bytes[this.#at + i] = text.charCodeAt(i);
    this.#at += length;
  }

  #number(value: number): void {
    this.#reserve(9);
    if ((value | 0) === value && !Object.is(value, -0)) {
      this.#view.setUint8(this.#at, TAGS.int32);
      this.#view.setInt32(this.#at + 1, value, true);
      this.#at += 5;
    } else {
      this.#view.setUint8(this.#at, TAGS.float64);
      this.#view.setFloat64(this.#at + 1, value, true);
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
    this.#view.setBigInt64(this.#at, value, true);
    this.#at += 8;
    return true;
  }

  #head(tag: number, count: number): void {
    this.#reserve(5);
    this.#view.setUint8(this.#at, tag);
    this.#view.setUint32(this.#at + 1, count, true);
    this.#at += 5;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = byte;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    if (this.#full !== null) {
      this.#full.push(this.#bytes.subarray(0, this.#at));
      this.#fullBytes += this.#at;
      this.#at = 0;
      this.#use(Buffer.allocUnsafeSlow(Math.max(count, Math.min(2 * this.#bytes.length, CHUNK_BYTES))));
      return;
    }
    // What follows a long value must not double what holds it.
    const larger = Buffer.allocUnsafeSlow(Math.max(needed + FIRST_BYTES, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#use(larger);
  }
}

/** Keys and values. */
function* alternating(map: ReadonlyMap<unknown, unknown>): Generator<unknown, void> {
  for (const [key, value] of map) {
    yield key;
    yield value;
  }
}
