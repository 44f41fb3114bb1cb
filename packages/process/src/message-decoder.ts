/** The bytes of message-form.ts as values. */
import { deserialize } from "node:v8";
import { JsonFloat } from "@sheaf/protocol";
import {
  BUFFER_KIND,
  MAX_NAMES,
  NEW_NAME,
  OTHER_NAME,
  TAGS,
  V8_FORM,
  VIEWS,
  aligned,
  viewOf,
} from "./message-form.ts";
import type { Turns } from "./turns.ts";

const BYTES_PER_STEP = 4 * 1024;
/** A container that ends within so many is read in one step: promises for each part of a record take longer than the parts. */
const SHORT_BYTES = 16 * 1024;
const TOO_LONG = new RangeError("a part of a message is to be read in turns");

/** Reads what one `MessageEncoder` wrote. */
export class MessageDecoder {
  readonly #names: string[] = [];

  /** Typed arrays of the message are views into `bytes`, which must begin at a multiple of 8 in its buffer. */
  decode(bytes: Buffer): unknown {
    return bytes[0] === V8_FORM
      ? deserialize(bytes.subarray(1))
      : new MessageReader(bytes, this.#names).message();
  }

  /** `decode`, with turns of the event loop in between; another message must not be decoded meanwhile. */
  decodeInTurns(bytes: Buffer, detached: readonly Uint8Array[], turns: Turns): Promise<unknown> {
    if (bytes[0] === V8_FORM) return Promise.resolve(deserialize(bytes.subarray(1)));
    return new MessageReader(bytes, this.#names, detached).messageInTurns(turns);
  }
}

class MessageReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #names: string[];
  readonly #detached: readonly Uint8Array[];
  #at = 1;
  /** Where the clock was thought of last. */
  #steppedAt = 1;
  /** Where a container that is read in one step has to have begun its last part. */
  #mostAt = Infinity;

  constructor(bytes: Buffer, names: string[], detached: readonly Uint8Array[] = []) {
    this.#bytes = bytes;
    this.#detached = detached;
    this.#names = names;
    this.#view = viewOf(bytes);
  }

  message(): unknown {
    const value = this.#value();
    if (this.#at !== this.#bytes.length) throw new RangeError("a message has bytes after its end");
    return value;
  }

  /** `message`, with turns of the event loop in between. */
  async messageInTurns(turns: Turns): Promise<unknown> {
    const value = await this.#valueInTurns(turns);
    if (this.#at !== this.#bytes.length) throw new RangeError("a message has bytes after its end");
    return value;
  }

  async #valueInTurns(turns: Turns): Promise<unknown> {
    const tag = this.#view.getUint8(this.#at);
    if (tag === TAGS.list) return this.#listInTurns(turns);
    if (tag === TAGS.object) return this.#objectInTurns(turns);
    if (tag === TAGS.map) return this.#mapInTurns(turns);
    return this.#value();
  }

  async #listInTurns(turns: Turns): Promise<unknown[]> {
    this.#at++;
    const list: unknown[] = [];
    for (let left = this.#uint32(); left > 0; left--) {
      list.push(this.#isContainer() ? (this.#short() ?? (await this.#valueInTurns(turns))) : this.#value());
      if (this.#isDue(turns)) await turns.take();
    }
    return list;
  }

  async #objectInTurns(turns: Turns): Promise<object> {
    this.#at++;
    const members: Record<string, unknown> = {};
    for (let left = this.#uint32(); left > 0; left--) {
      const name = this.#name();
      setMember(
        members,
        name,
        this.#isContainer() ? (this.#short() ?? (await this.#valueInTurns(turns))) : this.#value(),
      );
      if (this.#isDue(turns)) await turns.take();
    }
    return members;
  }

  async #mapInTurns(turns: Turns): Promise<Map<unknown, unknown>> {
    this.#at++;
    const map = new Map<unknown, unknown>();
    for (let left = this.#uint32(); left > 0; left--) {
      const key = this.#value();
      map.set(
        key,
        this.#isContainer() ? (this.#short() ?? (await this.#valueInTurns(turns))) : this.#value(),
      );
      if (this.#isDue(turns)) await turns.take();
    }
    return map;
  }

  /** The container that comes next; `undefined`: it is long, and nothing was read. */
  #short(): unknown {
    const [at, names] = [this.#at, this.#names.length];
    this.#mostAt = at + SHORT_BYTES;
    try {
      return this.#value();
    } catch (error) {
      if (error !== TOO_LONG) throw error;
      this.#at = at;
      this.#names.length = names;
      return undefined;
    } finally {
      this.#mostAt = Infinity;
    }
  }

  #requireShort(): void {
    if (this.#at > this.#mostAt) throw TOO_LONG;
  }

  /** Long strings take as long as many short ones. */
  #isDue(turns: Turns): boolean {
    const steps = 1 + Math.floor((this.#at - this.#steppedAt) / BYTES_PER_STEP);
    this.#steppedAt = this.#at;
    return turns.due(steps);
  }

  /** What comes next. */
  #isContainer(): boolean {
    const tag = this.#view.getUint8(this.#at);
    return tag === TAGS.list || tag === TAGS.object || tag === TAGS.map;
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
      case TAGS.detachedView:
        return this.#detachedView();
      case TAGS.bigint:
        return BigInt(this.#string(this.#view.getUint8(this.#at++)));
      case TAGS.jsonFloat:
        this.#at += 8;
        return new JsonFloat(this.#view.getFloat64(this.#at - 8, true));
      default:
        throw new RangeError(`a message has the unknown tag ${tag}`);
    }
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    for (let left = this.#uint32(); left > 0; left--) {
      this.#requireShort();
      list.push(this.#value());
    }
    return list;
  }

  #object(): object {
    const members: Record<string, unknown> = {};
    for (let left = this.#uint32(); left > 0; left--) {
      this.#requireShort();
      const name = this.#name();
      setMember(members, name, this.#value());
    }
    return members;
  }

  #map(): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>();
    for (let left = this.#uint32(); left > 0; left--) {
      this.#requireShort();
      const key = this.#value();
      map.set(key, this.#value());
    }
    return map;
  }

  #name(): string {
    const number = this.#uint32();
    const known = this.#names[number];
    if (known !== undefined) return known;
    if (number < NEW_NAME) throw new RangeError("a message has the number of an unknown name");
    const name = this.#string(this.#view.getUint8(this.#at++));
    if (number === OTHER_NAME || this.#names.length === MAX_NAMES) return name;
    // As a key, V8 holds a string in a form that is looked up without reading it.
    const [key = name] = Object.keys({ [name]: null });
    this.#names.push(key);
    return key;
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
    return typedArray(
      kind,
      this.#bytes.buffer as ArrayBuffer,
      this.#bytes.byteOffset + this.#skip(length),
      length,
    );
  }

  #detachedView(): ArrayBufferView {
    const view = this.#detached[this.#uint32()];
    const kind = this.#view.getUint8(this.#at++);
    if (view === undefined) throw new RangeError("a message lacks one of its typed arrays");
    return typedArray(kind, view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
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

function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

function typedArray(kind: number, buffer: ArrayBuffer, start: number, length: number): ArrayBufferView {
  if (kind === BUFFER_KIND) return Buffer.from(buffer, start, length);
  const constructor = VIEWS[kind];
  if (constructor === undefined) throw new RangeError("a message has a typed array of an unknown kind");
  return new constructor(buffer, start, length / constructor.BYTES_PER_ELEMENT);
}
