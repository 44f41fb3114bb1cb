/** What makes one sorted list of entries out of another, as a list of changes, and as bytes. */
import { closeSync, readSync } from "node:fs";
import { openFileSync } from "../storage/folder/open-file.ts";
import type { Entry, EntryWrite } from "../storage/entries.ts";
import { damaged } from "./backup-files.ts";

/** Begins a list of changes. Then for each: u32 length of the key, u32 length of the value, key, value; little-endian. */
const MAGIC = Buffer.from("SHEAFCH1");
/** Instead of the length of a value: the entry is gone. */
const GONE = 0xffff_ffff;
const HEADER_BYTES = 8;
const BUFFER_BYTES = 2 ** 20;

/** Where a list of changes lies. */
export interface ChangeList {
  readonly path: string;
  /** Of its first byte. */
  readonly at: number;
  readonly bytes: number;
}

/** Both in order of their keys, and so are the changes. */
export function* changesBetween(before: Iterable<Entry>, after: Iterable<Entry>): Generator<EntryWrite> {
  const [old, now] = [before[Symbol.iterator](), after[Symbol.iterator]()];
  try {
    let [left, right] = [old.next(), now.next()];
    while (left.done !== true || right.done !== true) {
      const order =
        left.done === true ? 1 : right.done === true ? -1 : Buffer.compare(left.value.key, right.value.key);
      if (order < 0 && left.done !== true) {
        yield { key: left.value.key, value: null };
        left = old.next();
      } else if (right.done !== true) {
        const isSame =
          order === 0 && left.done !== true && Buffer.compare(left.value.value, right.value.value) === 0;
        if (!isSame) yield right.value;
        if (order === 0) left = old.next();
        right = now.next();
      }
    }
  } finally {
    // Both may have files open.
    old.return?.();
    now.return?.();
  }
}

/** The same changes; `null`: there are none. */
export function atLeastOne<T>(changes: Iterator<T>): Iterable<T> | null {
  const first = changes.next();
  if (first.done === true) return null;
  return (function* () {
    yield first.value;
    for (let next = changes.next(); next.done !== true; next = changes.next()) yield next.value;
  })();
}

/** A list of changes as bytes, in pieces. */
export function* encodeChanges(changes: Iterable<EntryWrite>): Generator<Buffer> {
  let waiting: Uint8Array[] = [MAGIC];
  let waitingBytes = MAGIC.length;
  for (const { key, value } of changes) {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32LE(key.length, 0);
    header.writeUInt32LE(value?.length ?? GONE, 4);
    waiting.push(header, key, ...(value === null ? [] : [value]));
    waitingBytes += HEADER_BYTES + key.length + (value?.length ?? 0);
    if (waitingBytes < BUFFER_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, waitingBytes] = [[], 0];
  }
  if (waiting.length > 0) yield Buffer.concat(waiting);
}

/** Throws `failed_precondition` where the bytes are no list of changes, or end too early. */
export function* readChanges({ path, at, bytes }: ChangeList): Generator<EntryWrite> {
  const file = openFileSync(path);
  let position = at;
  const end = at + bytes;
  let buffered = Buffer.alloc(0);
  /** `null`: the file ends before. */
  const take = (length: number): Buffer | null => {
    const left = buffered.length + end - position;
    if (length > left) return null;
    if (buffered.length < length) {
      const more = Buffer.allocUnsafe(Math.min(left, Math.max(length, BUFFER_BYTES)));
      buffered.copy(more);
      let filled = buffered.length;
      for (let read = -1; filled < length && read !== 0; filled += read, position += read)
        read = readSync(file, more, filled, more.length - filled, position);
      buffered = more.subarray(0, filled);
      if (filled < length) return null;
    }
    const taken = buffered.subarray(0, length);
    buffered = buffered.subarray(length);
    return taken;
  };
  const need = (length: number): Buffer => {
    const taken = take(length);
    if (taken === null) throw damaged(path, "it ends too early");
    return taken;
  };
  try {
    if (take(MAGIC.length)?.equals(MAGIC) !== true) throw damaged(path, "it is no list of changes");
    for (;;) {
      const header = take(HEADER_BYTES);
      if (header === null) {
        if (buffered.length > 0 || position < end) throw damaged(path, "it ends too early");
        return;
      }
      const valueBytes = header.readUInt32LE(4);
      const key = need(header.readUInt32LE(0));
      yield { key, value: valueBytes === GONE ? null : need(valueBytes) };
    }
  } finally {
    closeSync(file);
  }
}
