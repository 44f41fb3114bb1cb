/** Keys of the catalog's environment. Ids stand in them as 16 bytes, counters as u64 big-endian. */
import { hash } from "node:crypto";
import { SheafError } from "@sheaf/protocol";

/** First byte of a key. */
export const CATALOG_PREFIX = {
  tenant: 0x01,
  database: 0x02,
  collection: 0x03,
  collectionByName: 0x04,
  collectionByAge: 0x05,
  dirty: 0x06,
  forkTree: 0x07,
  member: 0x10,
  apiKey: 0x11,
  tokenUsage: 0x12,
  apiKeyByDigest: 0x13,
  apiKeyByAge: 0x14,
  apiKeyByTenant: 0x15,
  apiKeyCount: 0x16,
  resourceName: 0x17,
  shareMark: 0x18,
  collectionCount: 0x19,
  archivePosition: 0x1a,
} as const;
/** No key begins with it. */
const AFTER_ALL = 0xff;
/** Tenant names hold no control characters, so this ends one unambiguously. */
const SEPARATOR = 0x00;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const COUNTER_KEY = Uint8Array.of(0x00);

export interface Prefix {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

export function tenantKey(name: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.tenant), Buffer.from(name)]);
}

export function databaseKey(tenant: string, name: string): Buffer {
  return Buffer.concat([databasesOf(tenant).start, Buffer.from(name)]);
}

/** `id` as `parseUuid` returned it. */
export function collectionKey(id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.collection), id]);
}

export function nameKey(databaseId: Uint8Array, name: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.collectionByName), databaseId, Buffer.from(name)]);
}

export function ageKey(databaseId: Uint8Array, created: number): Buffer {
  return Buffer.concat([collectionsOf(databaseId).start, u64(created)]);
}

export const ALL_TENANTS = allOf(CATALOG_PREFIX.tenant);
/** Everything but the counter. */
export const EVERYTHING: Prefix = {
  start: Uint8Array.of(CATALOG_PREFIX.tenant),
  end: Uint8Array.of(AFTER_ALL),
};
/** Of all databases. */
export const ALL_NAMES = allOf(CATALOG_PREFIX.collectionByName);
export const ALL_AGES = allOf(CATALOG_PREFIX.collectionByAge);
export const ALL_COLLECTIONS = allOf(CATALOG_PREFIX.collection);
/** How many collections there are. */
export const COLLECTION_COUNT_KEY = Uint8Array.of(CATALOG_PREFIX.collectionCount);

/** Position in the archive of the newest commit; there only where the folder has, or had, an archive. */
export const ARCHIVE_POSITION_KEY = Uint8Array.of(CATALOG_PREFIX.archivePosition);

export const ALL_MEMBERS = allOf(CATALOG_PREFIX.member);
export const ALL_KEYS = allOf(CATALOG_PREFIX.apiKey);
export const ALL_KEYS_BY_AGE = allOf(CATALOG_PREFIX.apiKeyByAge);
/** How many API keys there are. Stands where each has its entries by digest, age and tenant. */
export const KEY_COUNT_KEY = Uint8Array.of(CATALOG_PREFIX.apiKeyCount);
export const ALL_TOKEN_USAGE = allOf(CATALOG_PREFIX.tokenUsage);

/** Stands while the collection lies in the database: a foreign id and an absent one are looked up alike. */
export function memberKey(databaseId: Uint8Array, id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.member), databaseId, id]);
}

export function apiKeyKey(id: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.apiKey), Buffer.from(id)]);
}

/** Leads to an id. */
export function keyByDigest(digest: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.apiKeyByDigest), Buffer.from(digest, "hex")]);
}

/** Leads to an id; the oldest first. */
export function keyByAge(created: number, id: string): Buffer {
  return Buffer.concat([ALL_KEYS_BY_AGE.start, u64(created), Buffer.from(id)]);
}

/** Leads to an id. */
export function keyByTenant(tenant: string, id: string): Buffer {
  return Buffer.concat([keysOfTenant(tenant).start, Buffer.from(id)]);
}

/** Of those bound to one of its databases, too. */
export function keysOfTenant(tenant: string): Prefix {
  return prefix(
    Buffer.concat([
      Uint8Array.of(CATALOG_PREFIX.apiKeyByTenant),
      Buffer.from(tenant),
      Uint8Array.of(SEPARATOR),
    ]),
  );
}

/** Leads to the name of a tenant. By digest, for resource names may be longer than a key. */
export function resourceNameKey(resourceName: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.resourceName), hash("sha256", resourceName, "buffer")]);
}

export function tokenUsageKey(tenant: string): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.tokenUsage), Buffer.from(tenant)]);
}

export const ALL_DIRTY = allOf(CATALOG_PREFIX.dirty);

/** Stands while a collection has writes that `logPosition` does not count yet. */
export function dirtyKey(id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.dirty), id]);
}

export const ALL_SHARE_MARKS = allOf(CATALOG_PREFIX.shareMark);

/** Stands while there may be entries of a collection in a shared environment that nothing leads to. */
export function shareMarkKey(id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.shareMark), id]);
}

/** `root` is the collection that the tree began with, there or not. */
export function forkTreeKey(root: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(CATALOG_PREFIX.forkTree), root]);
}

export function databasesOf(tenant: string): Prefix {
  return prefix(
    Buffer.concat([Uint8Array.of(CATALOG_PREFIX.database), Buffer.from(tenant), Uint8Array.of(SEPARATOR)]),
  );
}

/** In order of creation. */
export function collectionsOf(databaseId: Uint8Array): Prefix {
  return prefix(Buffer.concat([Uint8Array.of(CATALOG_PREFIX.collectionByAge), databaseId]));
}

/** The name behind a tenant key or behind the prefix of a database key. */
export function nameBehind(key: Uint8Array, prefixBytes: number): string {
  return Buffer.from(key).toString("utf8", prefixBytes);
}

/** `null`: not a UUID, so not an id of ours. */
export function parseUuid(id: string): Buffer | null {
  const lower = id.toLowerCase();
  return UUID.test(lower) ? Buffer.from(lower.replaceAll("-", ""), "hex") : null;
}

/** Ids inside the catalog are ours, so they parse. */
export function idBytes(id: string): Buffer {
  const bytes = parseUuid(id);
  if (bytes === null) throw new SheafError("internal", `${id} is not a UUID`);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** All keys that begin with `start`. */
function prefix(start: Buffer): Prefix {
  let last = start.length - 1;
  while (start[last] === 0xff) last--;
  const end = Buffer.from(start.subarray(0, last + 1));
  end[last] = (end[last] as number) + 1;
  return { start, end };
}

function allOf(first: number): Prefix {
  return { start: Uint8Array.of(first), end: Uint8Array.of(first + 1) };
}
