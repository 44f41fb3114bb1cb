/**
 * Whether each entry of the catalog with a checksum is as it was written. A start has to know that before it changes
 * anything: only those who ask for a damaged entry would notice it, while others go on writing beside it. Nothing is
 * decoded, and the entries come from the walk through all pages of the file. Keys that only lead to a collection are left to `sheaf doctor`.
 */
import type { CatalogEntry } from "../storage/catalog/catalog-store.ts";
import { ValueReader } from "../storage/values/value-reader.ts";
import { VALUE_KIND, type ValueKind } from "../storage/values/value-writer.ts";
import { CATALOG_PREFIX, COUNTER_KEY } from "./catalog-keys.ts";

/** First byte of a key -> what lies under it. */
const KINDS: ReadonlyMap<number | undefined, ValueKind> = new Map([
  [COUNTER_KEY[0], VALUE_KIND.counter],
  [CATALOG_PREFIX.tenant, VALUE_KIND.tenant],
  [CATALOG_PREFIX.database, VALUE_KIND.database],
  [CATALOG_PREFIX.collection, VALUE_KIND.collection],
  [CATALOG_PREFIX.forkTree, VALUE_KIND.forkTree],
  [CATALOG_PREFIX.collectionCount, VALUE_KIND.counter],
  [CATALOG_PREFIX.apiKey, VALUE_KIND.apiKey],
  [CATALOG_PREFIX.tokenUsage, VALUE_KIND.tokenUsage],
]);

/** Throws `CorruptDataError` where the entry is damaged. */
export function verifyCatalogEntry({ key, value }: CatalogEntry): void {
  const kind = KINDS.get(key[0]);
  // Its constructor checks checksum, version and kind.
  if (kind !== undefined) void new ValueReader(value, kind, { store: "catalog", key });
}
