/** Keys of the catalog's environment. Ids stand in them as 16 bytes, counters as u64 big-endian. */
import { SheafError } from "@sheaf/protocol";

const TENANT = 0x01;
const DATABASE = 0x02;
const COLLECTION = 0x03;
const COLLECTION_BY_NAME = 0x04;
const COLLECTION_BY_AGE = 0x05;
const UNFOLDED = 0x06;
const FORK_TREE = 0x07;
const MEMBER = 0x10;
const API_KEY = 0x11;
const TOKEN_USAGE = 0x12;
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
  return Buffer.concat([Uint8Array.of(TENANT), Buffer.from(name)]);
}

export function databaseKey(tenant: string, name: string): Buffer {
  return Buffer.concat([databasesOf(tenant).start, Buffer.from(name)]);
}

/** `id` as `parseUuid` returned it. */
export function collectionKey(id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(COLLECTION), id]);
}

export function nameKey(databaseId: Uint8Array, name: string): Buffer {
  return Buffer.concat([Uint8Array.of(COLLECTION_BY_NAME), databaseId, Buffer.from(name)]);
}

export function ageKey(databaseId: Uint8Array, created: number): Buffer {
  const number = Buffer.allocUnsafe(8);
  number.writeBigUInt64BE(BigInt(created));
  return Buffer.concat([collectionsOf(databaseId).start, number]);
}

export const ALL_TENANTS: Prefix = { start: Uint8Array.of(TENANT), end: Uint8Array.of(TENANT + 1) };
/** Everything but the counter. */
export const EVERYTHING: Prefix = { start: Uint8Array.of(TENANT), end: Uint8Array.of(AFTER_ALL) };
export const ALL_COLLECTIONS: Prefix = {
  start: Uint8Array.of(COLLECTION),
  end: Uint8Array.of(COLLECTION + 1),
};

export const ALL_MEMBERS: Prefix = { start: Uint8Array.of(MEMBER), end: Uint8Array.of(MEMBER + 1) };
export const ALL_KEYS: Prefix = { start: Uint8Array.of(API_KEY), end: Uint8Array.of(API_KEY + 1) };
export const ALL_TOKEN_USAGE: Prefix = {
  start: Uint8Array.of(TOKEN_USAGE),
  end: Uint8Array.of(TOKEN_USAGE + 1),
};

/** Stands while the collection lies in the database: a foreign id and an absent one are looked up alike. */
export function memberKey(databaseId: Uint8Array, id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(MEMBER), databaseId, id]);
}

export function apiKeyKey(id: string): Buffer {
  return Buffer.concat([Uint8Array.of(API_KEY), Buffer.from(id)]);
}

export function tokenUsageKey(tenant: string): Buffer {
  return Buffer.concat([Uint8Array.of(TOKEN_USAGE), Buffer.from(tenant)]);
}

export const ALL_UNFOLDED: Prefix = { start: Uint8Array.of(UNFOLDED), end: Uint8Array.of(UNFOLDED + 1) };

/** Stands while a collection has writes that `logPosition` does not count yet. */
export function unfoldedKey(id: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(UNFOLDED), id]);
}

/** `root` is the collection that the tree began with, there or not. */
export function forkTreeKey(root: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(FORK_TREE), root]);
}

export function databasesOf(tenant: string): Prefix {
  return prefix(Buffer.concat([Uint8Array.of(DATABASE), Buffer.from(tenant), Uint8Array.of(SEPARATOR)]));
}

/** In order of creation. */
export function collectionsOf(databaseId: Uint8Array): Prefix {
  return prefix(Buffer.concat([Uint8Array.of(COLLECTION_BY_AGE), databaseId]));
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

export function formatUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** All keys that begin with `start`. */
function prefix(start: Buffer): Prefix {
  let last = start.length - 1;
  while (start[last] === 0xff) last--;
  const end = Buffer.from(start.subarray(0, last + 1));
  end[last] = (end[last] as number) + 1;
  return { start, end };
}
