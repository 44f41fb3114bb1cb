/** Copies the share that a store has of an environment into an environment of its own. */
import type { Entry } from "../entries.ts";
import type { DiskSpace } from "../folder/disk-space.ts";
import { decodeHead, encodeHead } from "../values/value-codec.ts";
import { ValueWriter } from "../values/value-writer.ts";
import type { EntrySpace } from "./entry-space.ts";
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
export async function copyToShare(from: EntrySpace, to: EntrySpace): Promise<void> {
  const entries = await from.transact(() => readAll(from));
  await to.transact(() => putAll(to, entries));
}

/** Makes an environment of them. */
export async function putShare(entries: readonly Entry[], environment: EnvironmentOptions): Promise<void> {
  const own = new LmdbEnvironment(environment);
  try {
    await own.transact(() => putAll(own, entries));
  } finally {
    await own.close();
  }
}

/**
 * All that is committed, as it lies in an environment of its own. Of one state within one turn, or within an action of the
 * process that writes there.
 */
export function* readShare(space: EntrySpace): Generator<void, readonly Entry[]> {
  return (yield* readAll(space)).map((entry) => asOwn(space, entry));
}

function* readAll(space: EntrySpace): Generator<void, readonly Entry[]> {
  const entries: Entry[] = [];
  for (const entry of inStretches(space, { ...EVERY_KEY, isCommitted: true })) {
    entries.push(entry);
    yield;
  }
  return entries;
}

/** LMDB counts the entries of an environment, so its head does not. */
function asOwn(space: EntrySpace, { key, value }: Entry): Entry {
  if (Buffer.compare(key, RECORD_KEYS.head) !== 0) return { key, value };
  const head = { ...decodeHead(value, space.origin(key)), counts: null };
  return { key, value: Buffer.from(encodeHead(new ValueWriter(), head)) };
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
