/** What the bodies of an archive's entries say. Lengths and counts are u32, numbers u64, all little-endian. */
import type { Steps } from "../storage/steps.ts";
import type { CatalogRange, CatalogWrite } from "../storage/catalog/catalog-store.ts";
import { formatUuid } from "../storage/format-uuid.ts";
import type { RemovedRecord, StoreChange, StoreHead } from "../storage/record-store.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { recordBytes } from "../storage/values/record-bytes.ts";
import {
  decodeRecord,
  encodeRecord,
  encodeRecordInSteps,
  isLongValue,
} from "../storage/values/value-codec.ts";
import { ValueWriter } from "../storage/values/value-writer.ts";

const NO_DIMENSION = 0xffff_ffff;
const GONE = 0xffff_ffff;
const ID_BYTES = 16;

/** A commit of the catalog. */
export interface CatalogEntryBody {
  readonly clears: readonly CatalogRange[];
  readonly writes: readonly CatalogWrite[];
}

/**
 * `step`: one batch, on the state `from`. `state`: all that changed after operation `from` or a later one, as it is at the head.
 * `image`: part of all records of a collection that has none, as a fork has them.
 */
export const CHANGE_FORM = { step: 0, state: 1, image: 2 } as const;
export type ChangeForm = (typeof CHANGE_FORM)[keyof typeof CHANGE_FORM];

/** A change of a collection's records. */
export interface ChangeBody extends StoreChange {
  readonly collection: string;
  readonly form: ChangeForm;
  /** Sequence number before it; of an image the number of the part. */
  readonly from: number;
}

export function encodeCatalog({ clears, writes }: CatalogEntryBody): readonly Uint8Array[] {
  const parts: Uint8Array[] = [u32(clears.length)];
  for (const { start, end } of clears) parts.push(u32(start.length), start, u32(end.length), end);
  parts.push(u32(writes.length));
  for (const { key, value } of writes)
    parts.push(u32(key.length), key, u32(value?.length ?? GONE), ...(value === null ? [] : [value]));
  return parts;
}

export function decodeCatalog(body: Buffer): CatalogEntryBody {
  const reader = new BodyReader(body);
  const clears = reader.list(() => ({ start: reader.bytes(), end: reader.bytes() }));
  const writes = reader.list(() => ({ key: reader.bytes(), value: reader.bytesOrNull() }));
  return { clears, writes };
}

/** In steps: a batch may be large. */
export function* encodeChange(change: ChangeBody): Generator<void, readonly Uint8Array[]> {
  const { collection, form, from, head, removes, puts } = change;
  const parts: Uint8Array[] = [
    Buffer.from(collection.replaceAll("-", ""), "hex"),
    u32(form),
    u64(from),
    u64(head.sequence),
    u64(head.nextOffset),
    u32(head.dimension ?? NO_DIMENSION),
    u32(removes.length),
  ];
  for (const { id, offset, sequence } of removes) {
    const name = Buffer.from(id);
    parts.push(u64(offset), u64(sequence), u32(name.length), name);
    yield;
  }
  parts.push(u32(puts.length));
  const writer = new ValueWriter();
  for (const record of puts) {
    const value = isLongValue(recordBytes(record))
      ? yield* encodeRecordInSteps(record)
      : Buffer.from(encodeRecord(writer, record));
    parts.push(u64(record.offset), u32(value.length), value);
    yield;
  }
  return parts;
}

/** Of which collection, and what comes before its records. */
export function decodeChangeHead(body: Buffer): Pick<ChangeBody, "collection" | "form" | "from" | "head"> {
  return readChangeHead(new BodyReader(body));
}

export function decodeChange(body: Buffer): ChangeBody {
  const reader = new BodyReader(body);
  const head = readChangeHead(reader);
  const removes = reader.list((): RemovedRecord => {
    const [offset, sequence] = [reader.u64(), reader.u64()];
    return { offset, sequence, id: reader.bytes().toString() };
  });
  const store = `collection ${head.collection} of the archive`;
  const puts = reader.list((): StoredRecord => {
    const offset = reader.u64();
    // The record keeps parts of the value.
    const value = new Uint8Array(reader.bytes());
    return decodeRecord(value, offset, { origin: { store, key: u64(offset) } });
  });
  return { ...head, removes, puts };
}

export function encodePosition(position: number): readonly Uint8Array[] {
  return [u64(position)];
}

export function decodePosition(body: Buffer): number {
  return new BodyReader(body).u64();
}

/** No entry has this position: what voids it is a note of the clock, and earlier versions pass over it. */
const NO_POSITION = 0;

/** That the clock was set back, and what it says now, in ms. The body of a void entry. */
export function encodeClock(now: number): readonly Uint8Array[] {
  return [u64(NO_POSITION), u64(now)];
}

/** `null`: the void entry is no note of the clock. */
export function decodeClock(body: Buffer): number | null {
  const reader = new BodyReader(body);
  return reader.u64() === NO_POSITION ? reader.u64() : null;
}

/** A backup was made that holds everything up to `to`, and needs what comes after `from`. */
export interface BaseBody {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  /** Milliseconds since 1970. */
  readonly finished: number;
}

export function encodeBase(base: BaseBody): readonly Uint8Array[] {
  return [Buffer.from(JSON.stringify(base))];
}

export function decodeBase(body: Buffer): BaseBody {
  return JSON.parse(body.toString()) as BaseBody;
}

export type EncodedBody = Steps<readonly Uint8Array[]>;

function readChangeHead(reader: BodyReader): Pick<ChangeBody, "collection" | "form" | "from" | "head"> {
  const collection = formatUuid(reader.take(ID_BYTES));
  const form = reader.u32() as ChangeForm;
  const from = reader.u64();
  const [sequence, nextOffset, dimension] = [reader.u64(), reader.u64(), reader.u32()];
  const head: StoreHead = { sequence, nextOffset, dimension: dimension === NO_DIMENSION ? null : dimension };
  return { collection, form, from, head };
}

/** Its checksum was right, so what it reads is what was written. */
class BodyReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  take(length: number): Buffer {
    const taken = this.#body.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  u64(): number {
    return Number(this.take(8).readBigUInt64LE());
  }

  bytes(): Buffer {
    return this.take(this.u32());
  }

  bytesOrNull(): Buffer | null {
    const length = this.u32();
    return length === GONE ? null : this.take(length);
  }

  list<T>(read: () => T): readonly T[] {
    const items: T[] = [];
    for (let left = this.u32(); left > 0; left--) items.push(read());
    return items;
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
