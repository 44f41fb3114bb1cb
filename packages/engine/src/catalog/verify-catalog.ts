/**
 * Whether each entry of the catalog with a checksum is as it was written. A start has to know that before it changes
 * anything: only those who ask for a damaged entry would notice it, while others go on writing beside it. Nothing is
 * decoded, so 100,000 collections take half a second. Keys that only lead to a collection are left to `sheaf doctor`.
 */
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { ValueReader } from "../storage/values/value-reader.ts";
import { VALUE_KIND, type ValueKind } from "../storage/values/value-writer.ts";
import { CATALOG_PREFIX, COUNTER_KEY } from "./catalog-keys.ts";

/** First byte of a key -> what lies under it. */
const KINDS: readonly (readonly [number | undefined, ValueKind])[] = [
  [COUNTER_KEY[0], VALUE_KIND.counter],
  [CATALOG_PREFIX.tenant, VALUE_KIND.tenant],
  [CATALOG_PREFIX.database, VALUE_KIND.database],
  [CATALOG_PREFIX.collection, VALUE_KIND.collection],
  [CATALOG_PREFIX.forkTree, VALUE_KIND.forkTree],
  [CATALOG_PREFIX.apiKey, VALUE_KIND.apiKey],
  [CATALOG_PREFIX.tokenUsage, VALUE_KIND.tokenUsage],
];

/** Throws `CorruptDataError` at the first damaged entry. */
export function verifyCatalog(environment: LmdbEnvironment): void {
  for (const [first = 0, kind] of KINDS) {
    const range = { start: Uint8Array.of(first), end: Uint8Array.of(first + 1) };
    for (const { key, value } of environment.iterate(range)) {
      // Its constructor checks checksum, version and kind.
      void new ValueReader(value, kind, environment.origin(key));
    }
  }
}
