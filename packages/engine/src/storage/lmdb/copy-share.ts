/** Copies the share that a store has of an environment into an environment of its own. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { DataOrigin } from "../corrupt-data-error.ts";
import type { Entry } from "../entries.ts";
import type { DiskSpace } from "../folder/disk-space.ts";
import { type StoreCounts, decodeHead, encodeHead } from "../values/value-codec.ts";
import { ValueWriter } from "../values/value-writer.ts";
import type { EntrySource, EntrySpace } from "./entry-space.ts";
import { EVERY_KEY } from "./key-range.ts";
import { inStretches } from "./lmdb-changes.ts";
import type { EnvironmentOptions } from "./environment-options.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { RECORD_KEYS } from "./record-keys.ts";

/** Of an entry in its page. */
const BYTES_PER_ENTRY = 32;

/**
 * What was acknowledged before the call, into a folder that has no environment yet; nothing of a share that is empty.
 * On disk when it resolves. Throws `storage_full`; what was copied until then stays behind.
 */
export async function copyShare(space: EntrySpace, folder: string, disk: DiskSpace): Promise<void> {
  // No batch is committed while an action runs.
  const entries = await space.transact(() => readShare(space));
  if (entries.length === 0) return;
  await putShare(entries, { folder, name: space.origin(RECORD_KEYS.head).store, disk });
}

/** What was acknowledged before the call, into the empty share of another store. Durable when it resolves. */
export async function copyToShare(from: EntrySpace, to: EntrySource): Promise<void> {
  await putIntoShare(await from.transact(() => readAll(from)), to);
}

interface SharedEntries {
  readonly entries: readonly Entry[];
  readonly counts: StoreCounts;
}

/** As `asShare`, of an environment of its own. No batch may be under way. */
export function* readAsShare(space: EntrySpace): Generator<void, SharedEntries> {
  return asShare(yield* readAll(space), (key) => space.origin(key));
}

/**
 * All that an environment of its own holds, as it lies in a share, and the counts that LMDB keeps there of the whole
 * environment only.
 */
export function asShare(all: readonly Entry[], origin: (key: Uint8Array) => DataOrigin): SharedEntries {
  let [records, bytes] = [0, 0];
  for (const { key, value } of all) {
    if (isHead(key)) continue;
    records += Number(isOffset(key));
    bytes += key.length + value.length;
  }
  const counts = { records, entries: Math.max(0, all.length - 1), bytes };
  return { entries: all.map((entry) => withCounts(entry, counts, origin)), counts };
}

/** Into an empty share. Durable when it resolves. */
export async function putIntoShare(entries: readonly Entry[], to: EntrySource): Promise<void> {
  const share = to.make();
  try {
    await share.transact(() => putAll(share, entries));
  } finally {
    await share.close();
  }
}

/** Makes an environment of them, of one file as any other copy: what nobody has open needs no lock. */
export async function putShare(entries: readonly Entry[], environment: EnvironmentOptions): Promise<void> {
  const own = new LmdbEnvironment(environment);
  try {
    await own.transact(() => putAll(own, entries));
  } finally {
    await own.close();
  }
  rmSync(join(environment.folder, "lock.mdb"), { force: true });
}

/**
 * All that is committed, as it lies in an environment of its own. Of one state within one turn, or within an action of the
 * process that writes there.
 */
export function* readShare(space: EntrySpace): Generator<void, readonly Entry[]> {
  // LMDB counts the entries of an environment, so its head does not.
  const origin = (key: Uint8Array): DataOrigin => space.origin(key);
  return (yield* readAll(space)).map((entry) => withCounts(entry, null, origin));
}

function* readAll(space: EntrySpace): Generator<void, readonly Entry[]> {
  const entries: Entry[] = [];
  for (const entry of inStretches(space, { ...EVERY_KEY, isCommitted: true })) {
    entries.push(entry);
    yield;
  }
  return entries;
}

/** An entry as it is, but the head with other counts. */
function withCounts(
  { key, value }: Entry,
  counts: StoreCounts | null,
  origin: (key: Uint8Array) => DataOrigin,
): Entry {
  if (!isHead(key)) return { key, value };
  const head = { ...decodeHead(value, origin(key)), counts };
  return { key, value: Buffer.from(encodeHead(new ValueWriter(), head)) };
}

function isHead(key: Uint8Array): boolean {
  return Buffer.compare(key, RECORD_KEYS.head) === 0;
}

/** A record lies there. */
function isOffset(key: Uint8Array): boolean {
  return key[0] === RECORD_KEYS.afterIds[0];
}

function* putAll(own: EntrySpace, entries: readonly Entry[]): Generator<void, void> {
  let bytes = 0;
  for (const { key, value } of entries) {
    bytes += key.length + value.length + BYTES_PER_ENTRY;
    own.put(key, value, true);
    yield;
  }
  own.claim(bytes);
}
