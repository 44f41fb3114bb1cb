/** A part of a catalog: takes away from a copy of it what is not wanted, and gives collections a new past. */
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { Entry, LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
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
  ALL_TOKEN_USAGE,
  CATALOG_PREFIX,
  EVERYTHING,
  KEY_COUNT_KEY,
  type Prefix,
  databaseKey,
  databasesOf,
  dirtyKey,
  forkTreeKey,
  idBytes,
  nameBehind,
  resourceNameKey,
  tenantKey,
} from "./catalog-keys.ts";
import { TenantEntries } from "./tenant-entries.ts";

const ID_BYTES = 16;
/** Keys of these kinds begin with the id of a database. */
const OF_DATABASES: readonly number[] = [
  CATALOG_PREFIX.collectionByName,
  CATALOG_PREFIX.collectionByAge,
  CATALOG_PREFIX.member,
];

/** The collections among entries of a catalog, in order of their ids. */
export function* collectionEntries(entries: Iterable<Entry>): Generator<CollectionEntry> {
  for (const { key, value } of entries)
    if (key[0] === CATALOG_PREFIX.collection) yield decodeCollection(value, { store: "catalog", key });
}

/** Only inside a transaction. What leads to keys is made again when the catalog is opened. */
export function removeKeys(environment: LmdbEnvironment): void {
  for (const { key } of environment.entries(ALL_KEYS)) environment.remove(key);
  removeWhatLeadsToKeys(environment);
}

/** Only inside a transaction: leaves one tenant, with its keys, beside the empty defaults. */
export function keepTenant(environment: LmdbEnvironment, tenant: string): void {
  const databases = new Set<string>();
  const keep = new Set<string>();
  const keepKey = (key: Uint8Array): void => void keep.add(hex(key));
  for (const { key, value } of environment.entries(databasesOf(tenant))) {
    databases.add(decodeDatabase(value, environment.origin(key)).id.replaceAll("-", ""));
    keepKey(key);
  }
  keepKey(tenantKey(tenant));
  keepKey(tenantKey(DEFAULT_TENANT));
  keepKey(databaseKey(DEFAULT_TENANT, DEFAULT_DATABASE));
  const resourceName = new TenantEntries(environment).find(tenant)?.resourceName ?? null;
  if (resourceName !== null) keepKey(resourceNameKey(resourceName));
  for (const entry of [...collectionEntries(environment.iterate(ALL_COLLECTIONS))].filter(
    (one) => one.tenant === tenant,
  )) {
    keepKey(Buffer.concat([ALL_COLLECTIONS.start, idBytes(entry.id)]));
    keepKey(dirtyKey(idBytes(entry.id)));
    keepKey(forkTreeKey(idBytes(entry.tree)));
  }
  for (const { key, value } of environment.entries(ALL_KEYS))
    if (decodeKey(value, environment.origin(key)).tenant === tenant) keepKey(key);
  for (const { key } of environment.entries(ALL_TOKEN_USAGE))
    if (nameBehind(key, ALL_TOKEN_USAGE.start.length) === tenant) keepKey(key);
  for (const { key } of environment.entries(EVERYTHING)) {
    const isOfDatabase =
      OF_DATABASES.includes(key[0] ?? 0) && databases.has(hex(key.subarray(1, 1 + ID_BYTES)));
    if (!isOfDatabase && !keep.has(hex(key))) environment.remove(key);
  }
  removeWhatLeadsToKeys(environment);
}

/**
 * Only inside a transaction: another past is under the same ids now, so that nothing that was read before is taken for true.
 * `sequenceOf`: operations that the store has; where the catalog has counted fewer, the start looks at the collection.
 */
export function renewEpochs(
  environment: LmdbEnvironment,
  epochOf: (id: string) => string,
  sequenceOf: (id: string) => number,
): void {
  for (const entry of [...collectionEntries(environment.iterate(ALL_COLLECTIONS))]) {
    const id = idBytes(entry.id);
    environment.put(
      Buffer.concat([ALL_COLLECTIONS.start, id]),
      encodeCollection({ ...entry, epoch: epochOf(entry.id) }),
    );
    if (sequenceOf(entry.id) > entry.logPosition) environment.put(dirtyKey(id), id);
  }
}

function removeWhatLeadsToKeys(environment: LmdbEnvironment): void {
  const { apiKeyByDigest, apiKeyByAge, apiKeyByTenant } = CATALOG_PREFIX;
  for (const first of [apiKeyByDigest, apiKeyByAge, apiKeyByTenant]) {
    const range: Prefix = { start: Uint8Array.of(first), end: Uint8Array.of(first + 1) };
    for (const { key } of environment.entries(range)) environment.remove(key);
  }
  environment.remove(KEY_COUNT_KEY);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
