/**
 * What operations changed, beside the records in an LMDB environment: `0x03 <sequence>` -> id of the record that the
 * operation removed, `0x04 <sequence>` -> the records that operations up to this one put (change-runs.ts). An index that
 * has everything up to a sequence number is brought up to date from here, without a look at all other records.
 */
import {
  type ChangeRun,
  changeRuns,
  decodeChangeRuns,
  encodeChangeRuns,
  lastSequence,
} from "../values/change-runs.ts";
import { CorruptDataError } from "../corrupt-data-error.ts";
import type { Entry } from "../entries.ts";
import type { EntrySpace } from "./entry-space.ts";
import type { KeyRange } from "./key-range.ts";
import type { PageGrowth } from "./page-growth.ts";
import { RECORD_KEYS, changeKey, offsetKey, readSequence, removalKey } from "./record-keys.ts";
import type { StoredChange } from "../record-store.ts";
import type { StoredRecord } from "../stored-record.ts";
import type { ValueWriter } from "../values/value-writer.ts";

/** Operations that may be forgotten before any are, so that not every batch looks for them. */
const FORGET_EVERY = 256;
/** Keys that are read at once. */
const STRETCH = 256;

/** Only inside `transact`. */
export function* putChanges(
  space: EntrySpace,
  writer: ValueWriter,
  puts: readonly StoredRecord[],
  growth: PageGrowth,
): Generator<void, void> {
  for (const runs of changeRuns(puts)) {
    if (runs === null) {
      yield;
      continue;
    }
    const key = changeKey(lastSequence(runs));
    const value = encodeChangeRuns(writer, runs);
    growth.change(key.length, value.length);
    space.put(key, value);
    yield;
  }
}

export interface Forgetting {
  readonly completeFrom: number;
  /** Operations up to this one may be forgotten. */
  readonly upTo: number;
  /** Operations of this batch. A batch forgets about as many as it adds, so that none is held up by the past of others. */
  readonly added: number;
}

/** Only inside `transact`. Returns from which sequence number on everything is still known. */
export function* forgetChanges(
  space: EntrySpace,
  { completeFrom, upTo, added }: Forgetting,
): Generator<void, number> {
  if (upTo - completeFrom < FORGET_EVERY) return completeFrom;
  const most = 2 * (FORGET_EVERY + added);
  const removals = yield* forget(space, removalKey, { upTo, most });
  const changes = yield* forget(space, changeKey, { upTo, most });
  return Math.max(completeFrom, removals, changes);
}

/** Only inside `transact`. All up to this operation at once. */
export function* forgetAll(space: EntrySpace, upTo: number): Generator<void, void> {
  for (const keyOf of [removalKey, changeKey]) yield* forget(space, keyOf, { upTo, most: Infinity });
}

/** Returns up to which operation there are no keys any more. */
function* forget(
  space: EntrySpace,
  keyOf: (sequence: number) => Uint8Array,
  { upTo, most }: { readonly upTo: number; readonly most: number },
): Generator<void, number> {
  const end = keyOf(upTo + 1);
  let last = 0;
  for (let left = most; left > 0; left -= STRETCH) {
    const range = { start: keyOf(last + 1), end, limit: Math.min(left, STRETCH), isCommitted: true };
    const entries = space.entries(range);
    for (const { key } of entries) {
      space.remove(key);
      last = readSequence(key, space.origin(key));
    }
    if (entries.length < range.limit) return upTo;
    yield;
  }
  return last;
}

/** The changes after `sequence`, which must all be known still. No read is open between two of them. */
export function* readChanges(
  space: EntrySpace,
  sequence: number,
  read: (offset: number) => StoredRecord | null,
): Generator<StoredChange> {
  const removals = removalsAfter(space, sequence);
  let removal = removals.next().value;
  for (const put of putsAfter(space, sequence)) {
    for (; removal !== undefined && removal.sequence < put.sequence; removal = removals.next().value)
      yield removal;
    yield newest(space, put, read(put.offset));
  }
  for (; removal !== undefined; removal = removals.next().value) yield removal;
}

interface Put {
  readonly sequence: number;
  readonly offset: number;
}

function newest(space: EntrySpace, { sequence, offset }: Put, record: StoredRecord | null): StoredChange {
  if (record === null || record.sequence > sequence) return { kind: "superseded", sequence };
  if (record.sequence === sequence) return { kind: "put", sequence, record };
  const origin = space.origin(offsetKey(offset));
  throw new CorruptDataError(origin, 0, `holds operation ${record.sequence}, and ${sequence} put it later`);
}

function* putsAfter(space: EntrySpace, sequence: number): Generator<Put, undefined> {
  for (const runs of runsAfter(space, sequence)) {
    for (const run of runs) {
      for (let i = Math.max(0, sequence + 1 - run.sequence); i < run.count; i++)
        yield { sequence: run.sequence + i, offset: run.offset + i };
    }
  }
}

function* runsAfter(space: EntrySpace, sequence: number): Generator<readonly ChangeRun[]> {
  const end = RECORD_KEYS.afterChanges;
  for (const { key, value } of inStretches(space, { start: changeKey(sequence + 1), end })) {
    const origin = space.origin(key);
    yield decodeChangeRuns(value, readSequence(key, origin), origin);
  }
}

function* removalsAfter(
  space: EntrySpace,
  sequence: number,
): Generator<Extract<StoredChange, { kind: "remove" }>, undefined> {
  const end = RECORD_KEYS.afterRemovals;
  for (const { key, value } of inStretches(space, { start: removalKey(sequence + 1), end })) {
    const id = Buffer.from(value).toString();
    yield { kind: "remove", sequence: readSequence(key, space.origin(key)), id };
  }
}

/** Entries of a range, `STRETCH` of them read at a time: LMDB may be written between any two. */
export function* inStretches(
  space: EntrySpace,
  range: Omit<KeyRange, "limit" | "offset">,
): Generator<Entry, undefined> {
  for (let { start } = range; ;) {
    const entries = space.entries({ ...range, start, limit: STRETCH });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < STRETCH) return;
    // The first key above it.
    start = Buffer.concat([last.key, Uint8Array.of(0)]);
  }
}
