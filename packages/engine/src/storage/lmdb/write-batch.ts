/** Puts one batch of a record store into its entries: records, what leads to them, what was changed, and the head last. */
import { LIMITS } from "@sheaf/protocol";
import { type RemovedRecord, type StoreChange, forgettable } from "../record-store.ts";
import { recordBytes } from "../values/record-bytes.ts";
import {
  type HeadValue,
  NO_ENTRIES,
  type StoreCounts,
  encodeHead,
  encodeRecord,
  encodeRecordInSteps,
  isLongValue,
} from "../values/value-codec.ts";
import type { ValueWriter } from "../values/value-writer.ts";
import type { EntrySpace } from "./entry-space.ts";
import { forgetAll, forgetChanges, putChanges } from "./lmdb-changes.ts";
import { PageGrowth } from "./page-growth.ts";
import { RECORD_KEYS, idKey, offsetKey, removalKey } from "./record-keys.ts";

/** Fixed part of a value, its two keys and the tree above them. */
const BYTES_PER_RECORD = 256;

/** Of a value: at most four of these fit a page. */
const FEW_PER_PAGE_BYTES = 800;
const FENCE = Uint8Array.of(0);

export interface BatchContext {
  readonly writer: ValueWriter;
  readonly before: HeadValue;
  /** Changes after this one are to be kept. */
  readonly keptFrom: number;
  /** As `LmdbRecordStore.apply` has it. */
  readonly admit: ((growth: number) => void) | undefined;
}

/** Only inside `transact`. */
export function* writeBatch(
  space: EntrySpace,
  change: StoreChange,
  context: BatchContext,
): Generator<void, StoreChange> {
  const { before, writer, keptFrom } = context;
  const { completeFrom, counts } = before;
  // Only what shares an environment has counts.
  const tracked = counts === null ? LIMITS.trackedOperations : LIMITS.trackedOperationsOfSmall;
  const upTo = forgettable(change.head, keptFrom, tracked);
  const added = change.removes.length + change.puts.length;
  const known = yield* forgetChanges(space, { completeFrom, upTo, added });
  yield* removeRecords(space, change.removes);
  const made = yield* putRecords(space, change, context);
  putHead(space, writer, {
    head: change.head,
    completeFrom: known,
    counts: countsAfter(space, before, made - change.removes.length),
  });
  return change;
}

/** Only inside `transact`. */
export function* forgetUpTo(
  space: EntrySpace,
  sequence: number,
  { writer, before }: Pick<BatchContext, "writer" | "before">,
): Generator<void, void> {
  yield* forgetAll(space, sequence);
  putHead(space, writer, {
    head: before.head,
    completeFrom: sequence,
    counts: countsAfter(space, before, 0),
  });
}

function countsAfter({ tally }: EntrySpace, { counts }: HeadValue, records: number): StoreCounts | null {
  if (tally === null) return null;
  const before = counts ?? NO_ENTRIES;
  return {
    records: before.records + records,
    entries: before.entries + tally.entries,
    bytes: before.bytes + tally.bytes,
  };
}

function putHead(space: EntrySpace, writer: ValueWriter, head: HeadValue): void {
  space.put(RECORD_KEYS.head, encodeHead(writer, head));
}

function* removeRecords(space: EntrySpace, removes: readonly RemovedRecord[]): Generator<void, void> {
  for (const { id, offset, sequence } of removes) {
    space.remove(idKey(id));
    space.remove(offsetKey(offset));
    space.put(removalKey(sequence), Buffer.from(id));
    yield;
  }
}

/**
 * An entry behind the last record. Where a new entry has no room behind the last one of a page, LMDB takes that one along to
 * the next page: of two records that fill a page one stays, and all pages end half full. With an entry behind it, the page is
 * divided between the old record and the new one. Where many records fit a page it would be divided in the middle, so
 * these have no such entry.
 */
function putFence(space: EntrySpace, bytes: number): void {
  if (bytes < FEW_PER_PAGE_BYTES || space.peek(RECORD_KEYS.afterOffsets) !== null) return;
  space.put(RECORD_KEYS.afterOffsets, FENCE, true);
}

/** Returns how many are new. Throws before anything of it is stored where there is no room for it. */
function* putRecords(
  space: EntrySpace,
  { puts, values, removes }: StoreChange,
  { writer, before: { head }, admit }: BatchContext,
): Generator<void, number> {
  // Deletes need the reserve and always fit, so only what adds data is measured.
  if (puts.length === 0) return 0;
  const { nextOffset } = head;
  const growth = new PageGrowth();
  let bytes = 0;
  let made = 0;
  for (const [i, record] of puts.entries()) {
    const key = offsetKey(record.offset);
    const isNew = record.offset >= nextOffset;
    const before = isNew || admit === undefined ? null : space.peek(key)?.length;
    const isLong = values === undefined && isLongValue(recordBytes(record));
    const encoded = isLong ? yield* encodeRecordInSteps(record) : values?.[i];
    const value = encoded ?? encodeRecord(writer, record);
    bytes += value.length + BYTES_PER_RECORD;
    if (typeof before === "number") growth.replace(key.length, value.length, before);
    else growth.append(key.length, value.length);
    space.put(key, value, encoded !== undefined);
    if (isNew) {
      if (record.offset === nextOffset) putFence(space, value.length);
      made += 1;
      const id = idKey(record.id);
      growth.insertId(id.length, key.length);
      space.put(id, key);
    }
    yield;
  }
  yield* putChanges(space, writer, puts, growth);
  space.claim(bytes);
  if (admit === undefined) return made;
  for (const { id, sequence } of removes) growth.append(removalKey(sequence).length, id.length);
  admit(space.whole === null ? (space.tally?.bytes ?? 0) : growth.bytes(space.whole.leafPages, nextOffset));
  return made;
}
