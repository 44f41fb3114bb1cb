/** A part of a catalog: takes away from a copy of it what is not wanted, and gives collections a new past. */
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { CatalogEntry } from "../storage/catalog/catalog-store.ts";
import {
  type CollectionEntry,
  decodeCollection,
  decodeDatabase,
  decodeKey,
  encodeCollection,
} from "./catalog-codec.ts";
import {
  ALL_COLLECTIONS,
  ALL_KEYS,
  ALL_SHARE_MARKS,
  ALL_TOKEN_USAGE,
  CATALOG_PREFIX,
  EVERYTHING,
  KEY_COUNT_KEY,
  collectionKey,
  databaseKey,
  databasesOf,
  dirtyKey,
  forkTreeKey,
  idBytes,
  nameBehind,
  resourceNameKey,
  tenantKey,
} from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";
import { findTenant } from "./tenant-entries.ts";

const ID_BYTES = 16;
/** Keys of these kinds begin with the id of a database. */
const OF_DATABASES: readonly number[] = [
  CATALOG_PREFIX.collectionByName,
  CATALOG_PREFIX.collectionByAge,
  CATALOG_PREFIX.member,
];

/** The collections among entries of a catalog, in order of their ids. */
export function* collectionEntries(entries: Iterable<CatalogEntry>): Generator<CollectionEntry> {
  for (const { key, value } of entries)
    if (key[0] === CATALOG_PREFIX.collection) yield decodeCollection(value, { store: "catalog", key });
}

/** What leads to keys is made again when the catalog is opened. */
export function removeKeys(transaction: CatalogTransaction): void {
  transaction.clear(ALL_KEYS);
  removeWhatLeadsToKeys(transaction);
}

/** Leaves one tenant, with its keys, beside the empty defaults. */
export async function keepTenant(transaction: CatalogTransaction, tenant: string): Promise<void> {
  const databases = new Set<string>();
  const keep = new Set<string>();
  const keepKey = (key: Uint8Array): void => void keep.add(hex(key));
  for (const { key, value } of await transaction.entriesOf(databasesOf(tenant))) {
    databases.add(decodeDatabase(value, transaction.origin(key)).id.replaceAll("-", ""));
    keepKey(key);
  }
  keepKey(tenantKey(tenant));
  keepKey(tenantKey(DEFAULT_TENANT));
  keepKey(databaseKey(DEFAULT_TENANT, DEFAULT_DATABASE));
  const resourceName = (await findTenant(transaction, tenant))?.resourceName ?? null;
  if (resourceName !== null) keepKey(resourceNameKey(resourceName));
  for (const entry of collectionEntries(await transaction.entriesOf(ALL_COLLECTIONS))) {
    if (entry.tenant !== tenant) continue;
    keepKey(collectionKey(idBytes(entry.id)));
    keepKey(dirtyKey(idBytes(entry.id)));
    keepKey(forkTreeKey(idBytes(entry.tree)));
  }
  for (const { key, value } of await transaction.entriesOf(ALL_KEYS))
    if (decodeKey(value, transaction.origin(key)).tenant === tenant) keepKey(key);
  for (const { key } of await transaction.entriesOf(ALL_TOKEN_USAGE))
    if (nameBehind(key, ALL_TOKEN_USAGE.start.length) === tenant) keepKey(key);
  for (const { key } of await transaction.entriesOf(EVERYTHING)) {
    const isOfDatabase =
      OF_DATABASES.includes(key[0] ?? 0) && databases.has(hex(key.subarray(1, 1 + ID_BYTES)));
    if (!isOfDatabase && !keep.has(hex(key))) transaction.remove(key);
  }
  removeWhatLeadsToKeys(transaction);
}

/**
 * Another past is under the same ids now, so that nothing that was read before is taken for true.
 * `sequenceOf`: operations that the store has; where the catalog has counted fewer, the start looks at the collection.
 */
export async function renewEpochs(
  transaction: CatalogTransaction,
  epochOf: (id: string) => string,
  sequenceOf: (id: string) => number,
): Promise<void> {
  for (const entry of collectionEntries(await transaction.entriesOf(ALL_COLLECTIONS))) {
    const id = idBytes(entry.id);
    transaction.put(collectionKey(id), encodeCollection({ ...entry, epoch: epochOf(entry.id) }));
    if (sequenceOf(entry.id) > entry.logPosition) transaction.put(dirtyKey(id), id);
  }
}

/** Has these collections name a share of an environment, and all others one of their own. Ids of those that shared one. */
export async function shareOnly(
  transaction: CatalogTransaction,
  sharing: ReadonlySet<string>,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const entry of collectionEntries(await transaction.entriesOf(ALL_COLLECTIONS))) {
    if (entry.shared) ids.push(entry.id);
    const shared = sharing.has(entry.id);
    if (shared !== entry.shared)
      transaction.put(collectionKey(idBytes(entry.id)), encodeCollection({ ...entry, shared }));
  }
  transaction.clear(ALL_SHARE_MARKS);
  return ids;
}

function removeWhatLeadsToKeys(transaction: CatalogTransaction): void {
  const { apiKeyByDigest, apiKeyByAge, apiKeyByTenant } = CATALOG_PREFIX;
  for (const first of [apiKeyByDigest, apiKeyByAge, apiKeyByTenant])
    transaction.clear({ start: Uint8Array.of(first), end: Uint8Array.of(first + 1) });
  transaction.remove(KEY_COUNT_KEY);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
