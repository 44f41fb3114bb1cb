/**
 * Lists of the catalog in batches that are read within some milliseconds, whatever the entries hold. Every batch sees the
 * newest commits; what is there throughout is in exactly one of those that follow each other by `after`.
 */
import { invalid } from "@sheaf/protocol";
import type { ListBatch, ListPage } from "../engine.ts";
import type { CatalogEntry, CatalogRange, CatalogView } from "../storage/catalog/catalog-store.ts";
import { behind } from "./catalog-transaction.ts";

/** Bytes of entries, and entries, with which a batch ends. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ENTRIES = 512;
/** Entries that are read at once: at first few, for one of them may be longer than a batch, then as many as may fit. */
const FIRST_ENTRIES = 4;
const MOST_ENTRIES = 128;

/** An entry as callers see it, and how many bytes it was stored in. */
export interface ListedItem<T> {
  readonly item: T;
  readonly bytes: number;
}

/**
 * Entries before `offset` are counted and not read. Throws `invalid_argument` for an `after` of another list.
 * @param read Gives one for each entry, `null` for what is gone meanwhile.
 */
export async function readBatch<T>(
  view: CatalogView,
  range: CatalogRange,
  { limit, offset, after }: ListPage,
  read: (entries: readonly CatalogEntry[]) => Promise<readonly (ListedItem<T> | null)[]>,
): Promise<ListBatch<T>> {
  const items: T[] = [];
  let bytes = 0;
  let last: Uint8Array | null = null;
  let start = after === undefined ? range.start : startBehind(after, range);
  let wanted = FIRST_ENTRIES;
  const mostItems = limit ?? Infinity;
  for (let skip = offset; items.length < mostItems; skip = 0) {
    const most = Math.min(mostItems - items.length, wanted);
    const entries = await view.entries({ start, end: range.end, limit: most, offset: skip });
    const listed = await read(entries);
    for (const [i, { key }] of entries.entries()) {
      if (last !== null && (bytes >= BATCH_BYTES || items.length === BATCH_ENTRIES))
        return { items, next: cursorAt(last) };
      last = key;
      const found = listed[i] ?? null;
      if (found === null) continue;
      items.push(found.item);
      bytes += found.bytes;
    }
    if (last === null || entries.length < most) return { items, next: null };
    start = behind(last);
    const fitting = Math.ceil(((BATCH_BYTES - bytes) * items.length) / Math.max(1, bytes));
    wanted = Math.max(1, Math.min(MOST_ENTRIES, fitting));
  }
  return { items, next: last === null ? null : cursorAt(last) };
}

function cursorAt(key: Uint8Array): string {
  return Buffer.from(key).toString("hex");
}

function startBehind(cursor: string, range: CatalogRange): Uint8Array {
  const key = Buffer.from(cursor, "hex");
  const isIn = Buffer.compare(key, range.start) >= 0 && Buffer.compare(key, range.end) < 0;
  if (!isIn) throw invalid("after", "is of another list");
  return behind(key);
}
