/** Keys of a collection's environment: one prefix byte, then the id or the offset. */
import { CorruptDataError, type DataOrigin } from "../corrupt-data-error.ts";
import { NUMBER_KEY_BYTES, numberKey, readNumber } from "../number-key.ts";

const ID_PREFIX = 0x01;
const OFFSET_PREFIX = 0x02;
const REMOVAL_PREFIX = 0x03;
const CHANGE_PREFIX = 0x04;

export const RECORD_KEYS = {
  head: Uint8Array.of(0x00),
  /** Below every id key. */
  ids: Uint8Array.of(ID_PREFIX),
  /** Above every id key, and below every offset key. */
  afterIds: Uint8Array.of(ID_PREFIX + 1),
  /** Above every offset key, and below every removal key. An entry that says nothing may lie there: `putFence`. */
  afterOffsets: Uint8Array.of(OFFSET_PREFIX + 1),
  /** Above every removal key, and below every change key. */
  afterRemovals: Uint8Array.of(REMOVAL_PREFIX + 1),
  /** Above every change key. */
  afterChanges: Uint8Array.of(CHANGE_PREFIX + 1),
  /** Id of the batch that the head is of, where the store follows a log. */
  batch: Uint8Array.of(0x08),
} as const;

export function idKey(id: string): Uint8Array {
  const key = Buffer.allocUnsafe(1 + Buffer.byteLength(id));
  key[0] = ID_PREFIX;
  key.write(id, 1);
  return key;
}

/** Ids that begin with `prefix`, above `after`; `null`: all of them. */
export function idRange(prefix: string, after: string | null): { start: Uint8Array; end: Uint8Array } {
  const first = idKey(prefix);
  // No byte of UTF-8 is 0xff, and nothing lies between a key and the same key with a zero byte behind it.
  const start = after === null ? first : Buffer.concat([idKey(after), Uint8Array.of(0)]);
  return { start, end: Buffer.concat([first, Uint8Array.of(0xff)]) };
}

/** Also the value that an id key leads to. */
export function offsetKey(offset: number): Uint8Array {
  return numberKey(OFFSET_PREFIX, offset);
}

/** Leads to the id of the record that the operation with this sequence number removed. */
export function removalKey(sequence: number): Uint8Array {
  return numberKey(REMOVAL_PREFIX, sequence);
}

/** Leads to what the operations up to this sequence number put, back to the change key before it. */
export function changeKey(sequence: number): Uint8Array {
  return numberKey(CHANGE_PREFIX, sequence);
}

/** The id in an id key. */
export function readId(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("utf8", 1);
}

/** The offset in an offset key. */
export function readOffset(key: Uint8Array, origin: DataOrigin): number {
  if (key.length !== NUMBER_KEY_BYTES || key[0] !== OFFSET_PREFIX) {
    throw new CorruptDataError(origin, 0, "not an offset key");
  }
  return readNumber(key);
}

/** The sequence number in a removal key or a change key. */
export function readSequence(key: Uint8Array, origin: DataOrigin): number {
  if (key.length !== NUMBER_KEY_BYTES) throw new CorruptDataError(origin, 0, "not a key of an operation");
  return readNumber(key);
}
