/**
 * Entries of collections in the catalog and the keys that lead to them: by id, by name and by age inside a database.
 * Reads see the newest commit; whatever writes is to be called inside a transaction.
 */
import { SheafError } from "@sheaf/protocol";
import type { ListBatch, ListPage } from "../engine.ts";
import { entriesInSteps } from "../storage/lmdb/entries-in-steps.ts";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import {
  type CollectionEntry,
  decodeCollection,
  decodeCounter,
  decodeDatabase,
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
  databasesOf,
  formatUuid,
  idBytes,
  memberKey,
  nameKey,
  parseUuid,
  dirtyKey,
} from "./catalog-keys.ts";
import { ForkTrees } from "./fork-trees.ts";
import { type ListedItem, readBatch } from "./list-batch.ts";
import type { TenantCounts } from "./tenant-counts.ts";

export class CollectionEntries {
  readonly trees: ForkTrees;
  readonly #environment: LmdbEnvironment;
  readonly #counts: TenantCounts;

  constructor(environment: LmdbEnvironment, counts: TenantCounts) {
    this.#environment = environment;
    this.#counts = counts;
    this.trees = new ForkTrees(environment);
  }

  has(id: string): boolean {
    const bytes = parseUuid(id);
    return bytes !== null && this.#environment.get(collectionKey(bytes)) !== null;
  }

  /** Whether a key that leads to collections names it; goes through all of them. */
  mentions(id: string): boolean {
    const bytes = idBytes(id);
    return [ALL_NAMES, ALL_AGES, ALL_MEMBERS].some((range) =>
      this.#environment.entries(range).some(({ value }) => bytes.equals(value)),
    );
  }

  /** For an id that a key of the catalog leads to. */
  read(id: Uint8Array): CollectionEntry {
    return this.#readListed(id).item;
  }

  #readListed(id: Uint8Array): ListedItem<CollectionEntry> {
    const key = collectionKey(id);
    const value = this.#require(key);
    return { item: decodeCollection(value, this.#environment.origin(key)), bytes: value.length };
  }

  /** What the entry is stored in; inside a transaction as that has it. */
  bytes(id: string): number {
    return this.#environment.peek(collectionKey(idBytes(id)))?.length ?? 0;
  }

  /** `null`: the database has none with this id; of one elsewhere nothing is read. */
  find(databaseId: string, id: string): CollectionEntry | null {
    const bytes = parseUuid(id);
    if (bytes === null || this.#environment.get(memberKey(idBytes(databaseId), bytes)) === null) return null;
    return this.read(bytes);
  }

  findByName(databaseId: string, name: string): CollectionEntry | null {
    const id = this.#environment.get(nameKey(idBytes(databaseId), name));
    return id === null ? null : this.read(id);
  }

  /** In order of creation. */
  list(databaseId: string, page: ListPage): ListBatch<CollectionEntry> {
    const range = collectionsOf(idBytes(databaseId));
    return readBatch(this.#environment, range, page, ({ value }) => this.#readListed(value));
  }

  count(databaseId: string): number {
    return this.#environment.count(collectionsOf(idBytes(databaseId)));
  }

  ids(): readonly string[] {
    return this.#environment.entries(ALL_COLLECTIONS).map(({ key }) => formatUuid(key.subarray(1)));
  }

  /** Number of the next collection. */
  nextNumber(): number {
    return decodeCounter(this.#require(COUNTER_KEY), this.#environment.origin(COUNTER_KEY));
  }

  setNextNumber(next: number): void {
    this.#environment.put(COUNTER_KEY, encodeCounter(next));
  }

  /** Of a tenant. */
  idsOf(tenant: string): readonly string[] {
    return this.#databaseIds(tenant).flatMap((id) =>
      this.#environment.entries(collectionsOf(id)).map(({ value }) => formatUuid(value)),
    );
  }

  #databaseIds(tenant: string): readonly Buffer[] {
    return this.#environment
      .entries(databasesOf(tenant))
      .map(({ key, value }) => idBytes(decodeDatabase(value, this.#environment.origin(key)).id));
  }

  /** 422 if the tenant has all the collections it may have. */
  requireRoom(tenant: string): void {
    this.#counts.requireRoom("collections", tenant, () => {
      const counts = this.#databaseIds(tenant).map((id) => this.#environment.count(collectionsOf(id)));
      return counts.reduce((sum, count) => sum + count, 0);
    });
  }

  /** The newest of its database; 409 if the name is taken. */
  insert(fields: Omit<CollectionEntry, "created">): CollectionEntry {
    const { id, databaseId, name } = fields;
    this.requireFreeName(databaseId, name);
    this.requireRoom(fields.tenant);
    this.#counts.add("collections", fields.tenant, 1);
    const created = this.nextNumber();
    this.setNextNumber(created + 1);
    const entry = { ...fields, created };
    this.#environment.put(nameKey(idBytes(databaseId), name), idBytes(id));
    this.#environment.put(ageKey(idBytes(databaseId), created), idBytes(id));
    this.put(entry);
    return entry;
  }

  /** Writes an entry anew under the keys it has. */
  put(entry: CollectionEntry): void {
    const id = idBytes(entry.id);
    this.#environment.put(collectionKey(id), encodeCollection(entry));
    this.#environment.put(memberKey(idBytes(entry.databaseId), id), id);
  }

  /** Leads the new name to the entry; its own copy of the name is for `put`. */
  rename({ id, databaseId, name }: CollectionEntry, newName: string): void {
    this.requireFreeName(databaseId, newName);
    this.#environment.remove(nameKey(idBytes(databaseId), name));
    this.#environment.put(nameKey(idBytes(databaseId), newName), idBytes(id));
  }

  /** All of a database, one in each step; their ids. */
  *removeAll(databaseId: string): Generator<void, readonly string[]> {
    const ids: string[] = [];
    for (const { value } of yield* entriesInSteps(this.#environment, collectionsOf(idBytes(databaseId)))) {
      // One by one: descriptions take far more memory than ids.
      const entry = this.read(value);
      this.remove(entry);
      ids.push(entry.id);
      yield;
    }
    return ids;
  }

  remove({ id, databaseId, tenant, name, created, tree }: CollectionEntry): void {
    this.#counts.add("collections", tenant, -1);
    this.#environment.remove(nameKey(idBytes(databaseId), name));
    this.#environment.remove(ageKey(idBytes(databaseId), created));
    this.#environment.remove(collectionKey(idBytes(id)));
    this.#environment.remove(memberKey(idBytes(databaseId), idBytes(id)));
    this.#environment.remove(dirtyKey(idBytes(id)));
    this.trees.leave(tree);
  }

  requireFreeName(databaseId: string, name: string): void {
    if (this.#environment.get(nameKey(idBytes(databaseId), name)) === null) return;
    throw new SheafError("already_exists", `Collection [${name}] already exists`);
  }

  /** Folders of before there were members lack them. */
  async completeMembers(): Promise<void> {
    if (this.#environment.count(ALL_MEMBERS) >= this.#environment.count(ALL_COLLECTIONS)) return;
    await this.#environment.transact(() => {
      for (const id of this.ids()) this.put(this.read(idBytes(id)));
    });
  }

  #require(key: Uint8Array): Uint8Array {
    const value = this.#environment.get(key);
    if (value === null)
      throw new SheafError("internal", `the catalog lacks key ${Buffer.from(key).toString("hex")}`);
    return value;
  }
}
