/**
 * Lists of the catalog in batches that are read within some milliseconds, whatever the entries hold. Every batch sees the
 * newest commit; what is there throughout is in exactly one of them.
 */
import type { ListBatch, ListPage } from "../engine.ts";
import type { Entry, LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import type { KeyRange } from "../storage/lmdb/key-range.ts";

/** Bytes of entries, and entries, with which a batch ends. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ENTRIES = 512;

/** An entry as callers see it, and how many bytes it was stored in. */
export interface ListedItem<T> {
  readonly item: T;
  readonly bytes: number;
}

/** Entries before `offset` are counted and not read. */
export function readBatch<T>(
  environment: LmdbEnvironment,
  range: Pick<KeyRange, "start" | "end">,
  { limit, offset, after }: ListPage,
  read: (entry: Entry) => ListedItem<T>,
): ListBatch<T> {
  const items: T[] = [];
  if (limit === 0) return { items, next: null };
  const bounds = after === undefined ? range : { start: behind(after), end: range.end };
  const page = { ...(limit === null ? {} : { limit }), ...(offset === 0 ? {} : { offset }) };
  let bytes = 0;
  let last: Uint8Array | null = null;
  for (const entry of environment.iterate({ ...bounds, ...page })) {
    if (last !== null && (bytes >= BATCH_BYTES || items.length === BATCH_ENTRIES)) {
      return { items, next: Buffer.from(last).toString("hex") };
    }
    const listed = read(entry);
    items.push(listed.item);
    bytes += listed.bytes;
    last = entry.key;
  }
  return { items, next: null };
}

/** The first key that can follow. */
function behind(key: string): Uint8Array {
  return Buffer.from(`${key}00`, "hex");
}
