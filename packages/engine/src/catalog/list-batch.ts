/**
 * Lists of the catalog in batches that are read within some milliseconds, whatever the entries hold. Every batch sees the
 * newest commits; what is there throughout is in exactly one of them.
 */
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
 * Entries before `offset` are counted and not read.
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
  let start = after === undefined ? range.start : behind(Buffer.from(after, "hex"));
  let left = limit ?? Infinity;
  let wanted = FIRST_ENTRIES;
  for (let skip = offset; left > 0; skip = 0) {
    const most = Math.min(left, wanted);
    const entries = await view.entries({ start, end: range.end, limit: most, offset: skip });
    const listed = await read(entries);
    for (const [i, { key }] of entries.entries()) {
      if (last !== null && (bytes >= BATCH_BYTES || items.length === BATCH_ENTRIES)) {
        return { items, next: Buffer.from(last).toString("hex") };
      }
      last = key;
      const found = listed[i] ?? null;
      if (found === null) continue;
      items.push(found.item);
      bytes += found.bytes;
    }
    if (last === null || entries.length < most) break;
    start = behind(last);
    left -= entries.length;
    const fitting = Math.ceil(((BATCH_BYTES - bytes) * items.length) / Math.max(1, bytes));
    wanted = Math.max(1, Math.min(MOST_ENTRIES, fitting));
  }
  return { items, next: null };
}
