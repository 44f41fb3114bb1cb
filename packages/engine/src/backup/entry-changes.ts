/** What makes one sorted list of entries out of another, as a list of changes, and as a file of them. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import type { Entry, EntryWrite } from "../storage/entries.ts";
import { damaged } from "./backup-files.ts";
import type { FileSum } from "./summed-file.ts";

/** Begins a file of changes. Then for each: u32 length of the key, u32 length of the value, key, value; little-endian. */
const MAGIC = Buffer.from("SHEAFCH1");
/** Instead of the length of a value: the entry is gone. */
const GONE = 0xffff_ffff;
const HEADER_BYTES = 8;
const BUFFER_BYTES = 2 ** 20;

/** Both in order of their keys, and so are the changes. */
export function* changesBetween(before: Iterable<Entry>, after: Iterable<Entry>): Generator<EntryWrite> {
  const [old, now] = [before[Symbol.iterator](), after[Symbol.iterator]()];
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
}

/** Writes a file that does not exist yet; it is on disk when this returns. */
export function writeChanges(path: string, changes: Iterable<EntryWrite>): FileSum {
  const file = openSync(path, "wx", OWNER_ONLY_FILE);
  const hash = createHash("sha256");
  let bytes = 0;
  let waiting: Uint8Array[] = [MAGIC];
  let waitingBytes = MAGIC.length;
  const flush = (): void => {
    const piece = Buffer.concat(waiting);
    hash.update(piece);
    for (let from = 0; from < piece.length;) from += writeSync(file, piece, from);
    bytes += piece.length;
    [waiting, waitingBytes] = [[], 0];
  };
  try {
    for (const { key, value } of changes) {
      const header = Buffer.allocUnsafe(HEADER_BYTES);
      header.writeUInt32LE(key.length, 0);
      header.writeUInt32LE(value?.length ?? GONE, 4);
      waiting.push(header, key, ...(value === null ? [] : [value]));
      waitingBytes += HEADER_BYTES + key.length + (value?.length ?? 0);
      if (waitingBytes >= BUFFER_BYTES) flush();
    }
    flush();
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Throws `failed_precondition` where the file is none of changes, or ends too early. */
export function* readChanges(path: string): Generator<EntryWrite> {
  const file = openSync(path, "r");
  let position = 0;
  let buffered = Buffer.alloc(0);
  /** `null`: the file ends before. */
  const take = (length: number): Buffer | null => {
    if (buffered.length < length) {
      const more = Buffer.allocUnsafe(Math.max(length, BUFFER_BYTES));
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
        if (buffered.length > 0) throw damaged(path, "it ends too early");
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
