/**
 * Copies all entries of an environment into a new one, entry by entry: a copy of its pages would have the keys of removed
 * entries wherever these once divided two pages.
 */
import { takeSlice } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { type Entry, keyName } from "../entries.ts";
import { EVERY_KEY } from "./key-range.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";

/** Entries that are read at once; each of them may have some megabytes. */
const STRETCH = 16;
/** Of keys and values in one commit of the copy. */
const COMMIT_BYTES = 4 * 2 ** 20;
/** Of an entry in its page. */
const BYTES_PER_ENTRY = 32;
/** That are copied once more while commits wait. */
const MOST_TOUCHED = 200_000;

/** What was written since a copy was begun. */
export class TouchedKeys {
  readonly #keys = new Map<string, Uint8Array>();

  add(keys: Iterable<Uint8Array>): void {
    if (this.#keys.size >= MOST_TOUCHED) return;
    for (const key of keys) this.#keys.set(keyName(key), key);
  }

  /** Throws where they are too many, and some are not known. */
  all(): Iterable<Uint8Array> {
    if (this.#keys.size >= MOST_TOUCHED)
      throw new SheafError("unavailable", "too much was written while an environment was copied");
    return this.#keys.values();
  }
}

/**
 * Both may be used meanwhile: what is committed in `from` after the call may be in the copy or not, and has to be copied
 * once more with `copyKeys`. Throws `storage_full`.
 */
export async function copyEntries(from: LmdbEnvironment, to: LmdbEnvironment): Promise<void> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (let { start, end } = EVERY_KEY; ;) {
    const entries = from.entries({ start, end, limit: STRETCH });
    for (const entry of entries) bytes += sizeOf(entry);
    batch.push(...entries);
    if (bytes >= COMMIT_BYTES || entries.length < STRETCH) {
      await putEntries(to, batch);
      [batch, bytes] = [[], 0];
    }
    if (entries.length < STRETCH) return;
    // The first key above it.
    start = Buffer.concat([entries.at(-1)!.key, Uint8Array.of(0)]);
    await takeSlice("");
  }
}

/** What lies under these keys now, or that nothing does. */
export async function copyKeys(
  from: LmdbEnvironment,
  to: LmdbEnvironment,
  keys: Iterable<Uint8Array>,
): Promise<void> {
  await to.transact(function* () {
    for (const key of keys) {
      const value = from.get(key);
      if (value === null) to.remove(key);
      else to.put(key, value, true);
      yield;
    }
  });
}

async function putEntries(to: LmdbEnvironment, entries: readonly Entry[]): Promise<void> {
  await to.transact(function* () {
    to.claim(entries.reduce((sum, entry) => sum + sizeOf(entry), 0));
    for (const { key, value } of entries) {
      to.put(key, value, true);
      yield;
    }
  });
}

function sizeOf({ key, value }: Entry): number {
  return key.length + value.length + BYTES_PER_ENTRY;
}
