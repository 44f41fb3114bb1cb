/** Entries of collections in the catalog and the keys that lead to them: by id, by name and by age inside a database. */
import { takeSlice } from "@sheaf/process";
import { type CollectionRef, SheafError } from "@sheaf/protocol";
import type { CollectionName, ListBatch, ListPage } from "../engine.ts";
import type { CatalogView } from "../storage/catalog/catalog-store.ts";
import {
  type CollectionEntry,
  decodeCollection,
  decodeCounter,
  encodeCollection,
  encodeCounter,
} from "./catalog-codec.ts";
import {
  ALL_AGES,
  ALL_COLLECTIONS,
  ALL_MEMBERS,
  ALL_NAMES,
  COUNTER_KEY,
  ageKey,
  collectionKey,
  collectionsOf,
  dirtyKey,
  idBytes,
  memberKey,
  nameKey,
  parseUuid,
} from "./catalog-keys.ts";
import { type CatalogTransaction, allEntries, pagesOf } from "./catalog-transaction.ts";
import type { CatalogTransactions } from "./catalog-transactions.ts";
import { addToCollectionCount, collectionCount, setCollectionCount } from "./collection-count.ts";
import { allDatabases, findDatabase } from "./database-entries.ts";
import { leaveForkTree } from "./fork-trees.ts";
import { type ListedItem, readBatch } from "./list-batch.ts";
import { markShare } from "./share-marks.ts";
import type { TenantCounts } from "./tenant-counts.ts";
import type { DecodeCollection } from "./decoded-collections.ts";
import { formatUuid } from "../storage/format-uuid.ts";

export async function hasCollection(view: CatalogView, id: string): Promise<boolean> {
  const bytes = parseUuid(id);
  return bytes !== null && (await view.get(collectionKey(bytes))) !== null;
}

/** Those of the ids that no collection has; for some hundred at most. */
export async function absentCollections(
  view: CatalogView,
  ids: readonly string[],
): Promise<readonly string[]> {
  const entries = await view.getAll(ids.map((id) => collectionKey(idBytes(id))));
  return ids.filter((_id, i) => entries[i] === null);
}

/** Whether a key that leads to collections names it; goes through all of them. */
export async function mentionsCollection(view: CatalogView, id: string): Promise<boolean> {
  const bytes = idBytes(id);
  for (const range of [ALL_NAMES, ALL_AGES, ALL_MEMBERS]) {
    for await (const page of pagesOf(view, range))
      if (page.some(({ value }) => bytes.equals(value))) return true;
  }
  return false;
}

/** `null`: there is none with this id. */
export async function readCollection(
  view: CatalogView,
  id: string,
  decode: DecodeCollection = decodeCollection,
): Promise<CollectionEntry | null> {
  const bytes = parseUuid(id);
  const value = bytes === null ? null : await view.get(collectionKey(bytes));
  return value === null ? null : decode(value, view.origin(collectionKey(bytes!)));
}

/** `null`: the database has none with this id; of one elsewhere nothing is read. */
export async function findCollection(
  view: CatalogView,
  databaseId: string,
  id: string,
  decode?: DecodeCollection,
): Promise<CollectionEntry | null> {
  const bytes = parseUuid(id);
  return bytes === null ? null : readBehind(view, memberKey(idBytes(databaseId), bytes), decode);
}

export function findCollectionByName(
  view: CatalogView,
  databaseId: string,
  name: string,
): Promise<CollectionEntry | null> {
  return readBehind(view, nameKey(idBytes(databaseId), name));
}

/** @param id Of the only one that is meant, where it is known. */
export async function requireCollectionByName(
  view: CatalogView,
  name: CollectionName,
  id?: string,
): Promise<CollectionEntry> {
  const owner = await findDatabase(view, name);
  const entry = owner === null ? null : await findCollectionByName(view, owner.id, name.name);
  if (entry === null || (id !== undefined && id !== entry.id))
    throw new SheafError("not_found", `Collection [${name.name}] does not exist`);
  return entry;
}

/** The id must lie under the tenant and database it was asked for. */
export async function requireCollection(
  view: CatalogView,
  ref: CollectionRef,
  decode?: DecodeCollection,
): Promise<CollectionEntry> {
  const owner = await findDatabase(view, ref);
  const entry = owner === null ? null : await findCollection(view, owner.id, ref.id, decode);
  if (entry === null) throw unknownCollection(ref.id);
  return entry;
}

/** 404 for a collection addressed by id, also under a foreign tenant or database. */
export function unknownCollection(id: string): SheafError {
  return new SheafError("not_found", `Collection [${id}] does not exist.`);
}

/** Of a call that came to a collection which was dropped meanwhile. */
export function isGone(error: unknown): boolean {
  return error instanceof SheafError && error.code === "not_found";
}

/** In order of creation. */
export function listCollections(
  view: CatalogView,
  databaseId: string,
  page: ListPage,
): Promise<ListBatch<CollectionEntry>> {
  return readBatch(view, collectionsOf(idBytes(databaseId)), page, async (entries) => {
    const keys = entries.map(({ value }) => collectionKey(value));
    const values = await view.getAll(keys);
    const listed: (ListedItem<CollectionEntry> | null)[] = [];
    for (const [i, value] of values.entries()) {
      if (value === null) await requireGone(view, entries[i]!.key, entries[i]!.value);
      listed.push(value && { item: decodeCollection(value, view.origin(keys[i]!)), bytes: value.length });
    }
    return listed;
  });
}

export function countCollections(view: CatalogView, databaseId: string): Promise<number> {
  return view.count(collectionsOf(idBytes(databaseId)));
}

export async function collectionIds(view: CatalogView): Promise<readonly string[]> {
  const ids: string[] = [];
  // Page by page: descriptions take far more memory than ids.
  for await (const page of pagesOf(view, ALL_COLLECTIONS))
    for (const { key } of page) ids.push(formatUuid(key.subarray(1)));
  return ids;
}

export async function collectionIdsOf(view: CatalogView, tenant: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { id } of await allDatabases(view, tenant)) {
    for (const { value } of await allEntries(view, collectionsOf(idBytes(id)))) ids.push(formatUuid(value));
  }
  return ids;
}

/** Number of the next collection. */
export async function nextNumber(view: CatalogView): Promise<number> {
  const value = await view.get(COUNTER_KEY);
  if (value === null) throw lacking(COUNTER_KEY);
  return decodeCounter(value, view.origin(COUNTER_KEY));
}

export function setNextNumber(transaction: CatalogTransaction, next: number): void {
  transaction.put(COUNTER_KEY, encodeCounter(next));
}

/** 422 if the tenant has all the collections it may have. */
export async function requireCollectionRoom(
  transaction: CatalogTransaction,
  counts: TenantCounts,
  tenant: string,
): Promise<void> {
  // A collection that comes meanwhile changes it, so it stands for the numbers that are counted.
  const next = await nextNumber(transaction);
  await counts.requireCollection(tenant, next, async () => {
    let sum = 0;
    for (const { id } of await allDatabases(transaction, tenant))
      sum += await countCollections(transaction, id);
    return sum;
  });
}

/** The newest of its database, and how many bytes it takes; 409 if the name is taken. */
export async function insertCollection(
  transaction: CatalogTransaction,
  counts: TenantCounts,
  fields: Omit<CollectionEntry, "created">,
): Promise<{ readonly entry: CollectionEntry; readonly bytes: number }> {
  const { id, databaseId, name, tenant } = fields;
  await requireFreeName(transaction, databaseId, name);
  await requireCollectionRoom(transaction, counts, tenant);
  counts.add(tenant, 1);
  await addToCollectionCount(transaction, 1);
  const created = await nextNumber(transaction);
  setNextNumber(transaction, created + 1);
  const entry = { ...fields, created };
  transaction.put(nameKey(idBytes(databaseId), name), idBytes(id));
  transaction.put(ageKey(idBytes(databaseId), created), idBytes(id));
  return { entry, bytes: putCollection(transaction, entry) };
}

/** Writes an entry and what leads to it by its database; how many bytes it takes. */
export function putCollection(transaction: CatalogTransaction, entry: CollectionEntry): number {
  const id = idBytes(entry.id);
  transaction.put(memberKey(idBytes(entry.databaseId), id), id);
  return replaceCollection(transaction, entry);
}

/** Writes an entry that is there anew; how many bytes it takes. */
export function replaceCollection(transaction: CatalogTransaction, entry: CollectionEntry): number {
  const value = encodeCollection(entry);
  transaction.put(collectionKey(idBytes(entry.id)), value);
  return value.length;
}

/** Leads the new name to the entry; its own copy of the name is for `putCollection`. */
export async function renameCollection(
  transaction: CatalogTransaction,
  { id, databaseId, name }: CollectionEntry,
  newName: string,
): Promise<void> {
  await requireFreeName(transaction, databaseId, newName);
  transaction.remove(nameKey(idBytes(databaseId), name));
  transaction.put(nameKey(idBytes(databaseId), newName), idBytes(id));
}

/** All of a database; their ids. */
export async function removeCollections(
  transaction: CatalogTransaction,
  counts: TenantCounts,
  databaseId: string,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { key, value } of await transaction.entriesOf(collectionsOf(idBytes(databaseId)))) {
    // One by one, and not as a condition: descriptions take far more memory than ids.
    const description = await transaction.peek(collectionKey(value));
    transaction.expect(key, value);
    if (description === null) {
      await requireGone(transaction, key, value);
      continue;
    }
    const entry = decodeCollection(description, transaction.origin(collectionKey(value)));
    transaction.expect(nameKey(idBytes(databaseId), entry.name), value);
    await removeCollection(transaction, counts, entry);
    ids.push(entry.id);
    await takeSlice("");
  }
  return ids;
}

export async function removeCollection(
  transaction: CatalogTransaction,
  counts: TenantCounts,
  { id, databaseId, tenant, name, created, tree, shared }: CollectionEntry,
): Promise<void> {
  counts.add(tenant, -1);
  await addToCollectionCount(transaction, -1);
  if (shared) markShare(transaction, id);
  transaction.remove(nameKey(idBytes(databaseId), name));
  transaction.remove(ageKey(idBytes(databaseId), created));
  transaction.remove(collectionKey(idBytes(id)));
  transaction.remove(memberKey(idBytes(databaseId), idBytes(id)));
  transaction.remove(dirtyKey(idBytes(id)));
  await leaveForkTree(transaction, tree);
}

export async function requireFreeName(view: CatalogView, databaseId: string, name: string): Promise<void> {
  if ((await view.get(nameKey(idBytes(databaseId), name))) === null) return;
  throw new SheafError("already_exists", `Collection [${name}] already exists`);
}

/** What earlier builds do not keep, or have left as it was: members, and the number of collections. */
export async function completeCollections(
  view: CatalogView,
  transactions: CatalogTransactions,
): Promise<void> {
  const [members, collections] = [await view.count(ALL_MEMBERS), await view.count(ALL_COLLECTIONS)];
  if (members < collections) await transactions.transact(completeMembers);
  if ((await collectionCount(view)) === collections) return;
  await transactions.transact(async (transaction) =>
    setCollectionCount(transaction, await transaction.count(ALL_COLLECTIONS)),
  );
}

async function completeMembers(transaction: CatalogTransaction): Promise<void> {
  for (const { key, value } of await transaction.entriesOf(ALL_COLLECTIONS)) {
    putCollection(transaction, decodeCollection(value, transaction.origin(key)));
    await takeSlice("");
  }
}

/** For a key that leads to a collection; `null`: it does not, or not any more. */
async function readBehind(
  view: CatalogView,
  leading: Uint8Array,
  decode: DecodeCollection = decodeCollection,
): Promise<CollectionEntry | null> {
  const id = await view.get(leading);
  if (id === null) return null;
  const key = collectionKey(id);
  const value = await view.get(key);
  if (value === null) await requireGone(view, leading, id);
  return value === null ? null : decode(value, view.origin(key));
}

/** An entry and what leads to it go together: where that is still there, the entry was lost. */
async function requireGone(view: CatalogView, leading: Uint8Array, id: Uint8Array): Promise<void> {
  const now = await view.get(leading);
  if (now !== null && Buffer.compare(now, id) === 0) throw lacking(collectionKey(id));
}

function lacking(key: Uint8Array): SheafError {
  return new SheafError("internal", `the catalog lacks key ${Buffer.from(key).toString("hex")}`);
}
