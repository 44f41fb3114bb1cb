/** Reads a long range of an environment in steps. */
import type { KeyRange } from "./key-range.ts";
import type { Entry, LmdbEnvironment } from "./lmdb-environment.ts";

const ENTRIES_PER_STEP = 128;

/**
 * Entries of the range, some in each step, at most `limit` of them. To be called in an action before it writes much: all
 * that is pending is looked through in each step.
 */
export function* entriesInSteps(
  environment: LmdbEnvironment,
  { start, end, limit = Infinity }: Omit<KeyRange, "offset">,
): Generator<void, Entry[]> {
  const entries: Entry[] = [];
  for (let from = start; entries.length < limit;) {
    const most = Math.min(ENTRIES_PER_STEP, limit - entries.length);
    const found = environment.entries({ start: from, end, limit: most });
    entries.push(...found);
    if (found.length < most) return entries;
    // The next key there may be.
    from = Buffer.concat([found.at(-1)!.key, Uint8Array.of(0)]);
    yield;
  }
  return entries;
}
