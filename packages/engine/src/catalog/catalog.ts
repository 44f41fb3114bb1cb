/**
 * Decides which tenants, databases and collections exist. A change is durable when its promise resolves; readers see it
 * from then on. What is dropped here is dropped, whatever files are left.
 */
import { randomUUID } from "node:crypto";
import {
  type CancelSignal,
  type Collection,
  type CollectionModels,
  type CollectionRef,
  type CreateCollection,
  DEFAULT_DATABASE,
  DEFAULT_TENANT,
  type Database,
  type JsonObject,
  type ModelIdentity,
  type Tenant,
  type UpdateCollection,
} from "@sheaf/protocol";
import type { CollectionName, DatabaseRef, ListBatch, ListPage, ToDelete } from "../engine.ts";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { newStoreId } from "../storage/new-store-id.ts";
import { type CollectionEntry, toCollection } from "./catalog-codec.ts";
import { type CatalogOptions, NO_CATALOG_QUOTAS } from "./catalog-options.ts";
import { COUNTER_KEY, dirtyKey, idBytes, shareMarkKey } from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";
import { CatalogTransactions } from "./catalog-transactions.ts";
import { CheckpointCatalog } from "./checkpoint-catalog.ts";
import { collectionCount } from "./collection-count.ts";
import {
  collectionIds,
  collectionIdsOf,
  completeCollections,
  countCollections,
  findCollectionByName,
  hasCollection,
  insertCollection,
  listCollections,
  mentionsCollection,
  nextNumber,
  putCollection,
  readCollection,
  removeCollection,
  removeCollections,
  renameCollection,
  requireCollection,
  requireCollectionByName,
  requireCollectionRoom,
  requireFreeName,
  setNextNumber,
  unknownCollection,
} from "./collection-entries.ts";
import {
  absentDatabase,
  findDatabase,
  heldDatabases,
  insertDatabase,
  listDatabases,
  removeDatabase,
  requireDatabase,
} from "./database-entries.ts";
import { decodingOnce } from "./decoded-collections.ts";
import { addFork, forkEdges, requireForkRoom } from "./fork-trees.ts";
import { KeyCatalog, removeKeysBoundTo } from "./key-catalog.ts";
import { LookupCache } from "./lookup-cache.ts";
import { ShareCatalog, clearEverything } from "./share-catalog.ts";
import { TenantCounts } from "./tenant-counts.ts";
import {
  indexTenants,
  insertTenant,
  listTenants,
  putTenant,
  removeTenant,
  renameTenant,
  requireTenant,
  tenantOfResource,
} from "./tenant-entries.ts";

/** Of a change that a tenant asks for, beside the description itself; it must not take what is kept free of the disk. */
const CHANGE_BYTES = 1024 * 1024;
const NOTHING_HELD = Object.freeze({ records: 0, bytes: 0, writtenAt: null });

/** What a fork is beside its source. */
export interface ForkedCollection extends Readonly<Record<"id" | "epoch" | "name", string>> {
  /** It has a share of an environment, which was announced. */
  readonly shared: boolean;
  /** Of its records, as its store knows them. */
  readonly dimension: number | null;
  readonly logPosition: number;
}

export class Catalog {
  readonly keys: KeyCatalog;
  readonly checkpoints: CheckpointCatalog;
  readonly shares: ShareCatalog;
  readonly #shared: boolean;
  readonly #avoid: CatalogOptions["avoid"];
  readonly #store: CatalogStore;
  readonly #transactions: CatalogTransactions;
  readonly #counts: TenantCounts;
  /** Every call on a collection begins with looking it up. */
  readonly #known: LookupCache<Collection>;
  readonly #decode = decodingOnce();

  private constructor(store: CatalogStore, options: CatalogOptions) {
    const { quotas = NO_CATALOG_QUOTAS, shares = false, cache, avoid, callersWait } = options;
    [this.#shared, this.#avoid] = [shares, avoid];
    this.#store = store;
    this.#counts = new TenantCounts(quotas);
    this.#transactions = new CatalogTransactions(store, () => this.#counts.forget(), callersWait);
    this.#known = new LookupCache(store);
    this.keys = new KeyCatalog(store, this.#transactions, quotas.keys);
    this.checkpoints = new CheckpointCatalog(store, this.#transactions, { decode: this.#decode, cache });
    this.shares = new ShareCatalog(store, this.#transactions);
  }

  /** Makes the default tenant and database the first time. */
  static async open(store: CatalogStore, options: CatalogOptions = {}): Promise<Catalog> {
    const catalog = new Catalog(store, options);
    await catalog.#transactions.transact(async (transaction) => {
      if ((await transaction.get(COUNTER_KEY)) === null) await catalog.#putDefaults(transaction, 0);
    });
    await completeCollections(store, catalog.#transactions);
    return catalog;
  }

  /** Makes what leads to tenants and, last, to keys, where the folder is of a version that did not have it. */
  async completeIndexes(): Promise<void> {
    if (await this.keys.isIndexed()) return;
    await this.#transactions.transact(indexTenants);
    await this.keys.indexAll();
  }

  /** After the changes that were asked for. */
  async close(): Promise<void> {
    await this.#transactions.idle();
    await this.#store.close();
  }

  /** 409 if there is one already. */
  createTenant(name: string, caller?: CancelSignal): Promise<void> {
    return this.#transactions.transact((transaction) => insertTenant(transaction, name), caller);
  }

  /** 404 for one that is not there. */
  tenant(name: string): Promise<Tenant> {
    return requireTenant(this.#store, name);
  }

  tenants(page: ListPage): Promise<ListBatch<Tenant>> {
    return listTenants(this.#store, page);
  }

  /** 409 if another tenant has the resource name. */
  updateTenant(name: string, resourceName: string, caller?: CancelSignal): Promise<void> {
    return this.#transactions.transact((changes) => renameTenant(changes, name, resourceName), caller);
  }

  /** The tenant with this resource name, else the one with this name; `null`: neither. */
  tenantOfResource(resourceName: string): Promise<string | null> {
    return tenantOfResource(this.#store, resourceName);
  }

  /** Ids of the collections that went with it. */
  deleteTenant(name: string, caller?: CancelSignal): Promise<readonly string[]> {
    return this.#change(async (transaction) => {
      await requireTenant(transaction, name);
      await removeKeysBoundTo(transaction, name, null);
      const ids: string[] = [];
      for (const database of await heldDatabases(transaction, name))
        for (const id of await this.#removeDatabase(transaction, database)) ids.push(id);
      await removeTenant(transaction, name);
      return ids;
    }, caller);
  }

  /** 404 for a tenant that is not there, 409 if there is such a database already. */
  createDatabase(ref: DatabaseRef, caller?: CancelSignal): Promise<void> {
    return this.#change(async (transaction) => {
      await requireTenant(transaction, ref.tenant);
      await transaction.requireRoom(CHANGE_BYTES);
      await insertDatabase(transaction, this.#counts, ref);
    }, caller);
  }

  async database(ref: DatabaseRef): Promise<Database> {
    const database = await findDatabase(this.#store, ref);
    if (database === null) throw await absentDatabase(this.#store, ref, "not_found");
    return database;
  }

  /** By name; none for a tenant that does not exist. */
  databases(tenant: string, page: ListPage): Promise<ListBatch<Database>> {
    return listDatabases(this.#store, tenant, page);
  }

  /** Ids of the collections that went with it. */
  deleteDatabase(ref: ToDelete<DatabaseRef>, caller?: CancelSignal): Promise<readonly string[]> {
    return this.#change(async (transaction) => {
      const database = await requireDatabase(transaction, ref);
      await removeKeysBoundTo(transaction, ref.tenant, ref.database);
      return this.#removeDatabase(transaction, database);
    }, caller);
  }

  createCollection(request: CreateCollection, caller?: CancelSignal): Promise<Collection> {
    const { name, tenant, database, metadata, configuration, schema } = request;
    return this.#change(async (transaction) => {
      const owner = await findDatabase(transaction, request);
      if (owner === null) throw await absentDatabase(transaction, request, "invalid_argument");
      const known = request.getOrCreate ? await findCollectionByName(transaction, owner.id, name) : null;
      if (known !== null) return toCollection(known);
      const id = newStoreId(this.#avoid);
      const { entry, bytes } = await insertCollection(transaction, this.#counts, {
        ...{ id, name, tenant, database, databaseId: owner.id, metadata, configuration, schema },
        ...{ dimension: null, logPosition: 0, version: 0, models: {}, tree: id, epoch: randomUUID() },
        ...{ shared: this.#shared, held: NOTHING_HELD },
      });
      await transaction.requireRoom(CHANGE_BYTES + bytes);
      return toCollection(entry);
    }, caller);
  }

  /** Throws what `createFork` would, before anything is copied. */
  checkFork(ref: CollectionRef, name: string): Promise<void> {
    return this.#change(async (transaction) => {
      const { databaseId, tree } = await requireCollection(transaction, ref);
      await requireFreeName(transaction, databaseId, name);
      await requireCollectionRoom(transaction, this.#counts, ref.tenant);
      await requireForkRoom(transaction, tree);
    });
  }

  /**
   * A collection like `ref` under another name and id; its files must be there already. 404 if `ref` has gone, 409 for
   * a name that is taken, 422 for a fork too many.
   */
  createFork(ref: CollectionRef, fork: ForkedCollection, caller?: CancelSignal): Promise<Collection> {
    return this.#change(async (transaction) => {
      const source = await requireCollection(transaction, ref);
      await addFork(transaction, source.tree);
      const fields = { ...source, ...fork, version: 0 };
      if (fork.shared) transaction.remove(shareMarkKey(idBytes(fork.id)));
      const { entry } = await insertCollection(transaction, this.#counts, fields);
      // The copy may hold writes whose metadata keys are on their way to the source's schema just now.
      if (fork.logPosition > 0) transaction.put(dirtyKey(idBytes(fork.id)), idBytes(fork.id));
      return toCollection(entry);
    }, caller);
  }

  /** Forks of the whole tree that the collection belongs to. */
  async forkCount(ref: CollectionRef): Promise<number> {
    return forkEdges(this.#store, (await requireCollection(this.#store, ref)).tree);
  }

  async epoch(ref: CollectionRef): Promise<string> {
    return (await requireCollection(this.#store, ref)).epoch;
  }

  /** Not to be changed. */
  collection(ref: CollectionRef): Promise<Collection> {
    const { tenant, database, id } = ref;
    const name = `${tenant.length} ${tenant} ${database.length} ${database} ${id}`;
    return this.#known.get(name, () => this.newestCollection(ref));
  }

  /** As every server has left it before. */
  async newestCollection(ref: CollectionRef): Promise<Collection> {
    return toCollection(await requireCollection(this.#store, ref, this.#decode));
  }

  /** For what was looked up before; 404 once it is gone. */
  async entry(id: string): Promise<CollectionEntry> {
    const entry = await readCollection(this.#store, id, this.#decode);
    if (entry === null) throw unknownCollection(id);
    return entry;
  }

  async collectionByName(name: CollectionName): Promise<Collection> {
    return toCollection(await requireCollectionByName(this.#store, name));
  }

  /** Ids of all collections of a tenant, or of all. */
  collectionIds(tenant: string | null): Promise<readonly string[]> {
    return tenant === null ? collectionIds(this.#store) : collectionIdsOf(this.#store, tenant);
  }

  collectionCount(): Promise<number> {
    return collectionCount(this.#store);
  }

  bytes(): Promise<number> {
    return this.#store.size();
  }

  /** In order of creation; none for a database that does not exist. */
  async collections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<Collection>> {
    const { items, next } = await this.heldCollections(ref, page);
    return { items: items.map(toCollection), next };
  }

  /** The same, with what each holds. */
  async heldCollections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<CollectionEntry>> {
    const owner = await findDatabase(this.#store, ref);
    return owner === null ? { items: [], next: null } : listCollections(this.#store, owner.id, page);
  }

  async countCollections(ref: DatabaseRef): Promise<number> {
    const owner = await findDatabase(this.#store, ref);
    return owner === null ? 0 : countCollections(this.#store, owner.id);
  }

  hasCollection(id: string): Promise<boolean> {
    return hasCollection(this.#store, id);
  }

  /** Whether anything of the catalog but its entry names it; one that is there, or was and is damaged. */
  mentions(id: string): Promise<boolean> {
    return mentionsCollection(this.#store, id);
  }

  /** Its schema from then on. */
  updateCollection(ref: CollectionRef, change: UpdateCollection, caller?: CancelSignal): Promise<JsonObject> {
    return this.#transactions.transact(async (transaction) => {
      const entry = await requireCollection(transaction, ref);
      const { name = entry.name, schema = entry.schema } = change;
      const { metadata = entry.metadata, configuration = entry.configuration } = change;
      if (name !== entry.name) await renameCollection(transaction, entry, name);
      const bytes = putCollection(transaction, { ...entry, name, metadata, configuration, schema });
      await transaction.requireRoom(CHANGE_BYTES + bytes);
      return schema;
    }, caller);
  }

  /** What the collection remembers of its models, with those of these that it did not know. */
  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#changeModels(ref, (known) => ({ ...byIdentifier(models), ...known }));
  }

  /** What the collection remembers of its models, with these instead of what it knew of them. */
  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#changeModels(ref, (known) => ({ ...known, ...byIdentifier(models) }));
  }

  /** Its id. */
  deleteCollection(name: ToDelete<CollectionName>, caller?: CancelSignal): Promise<string> {
    return this.#change(async (transaction) => {
      const entry = await requireCollectionByName(transaction, name, name.onlyId);
      await removeCollection(transaction, this.#counts, entry);
      return entry.id;
    }, caller);
  }

  /** Removes everything but the defaults; ids of all collections there were. */
  reset(caller?: CancelSignal): Promise<readonly string[]> {
    return this.#change(async (transaction) => {
      const next = await nextNumber(transaction);
      const ids = await collectionIds(transaction);
      await clearEverything(transaction);
      this.#counts.forget();
      await this.#putDefaults(transaction, next);
      return ids;
    }, caller);
  }

  /** A transaction that makes or removes databases or collections. */
  #change<T>(action: (transaction: CatalogTransaction) => Promise<T>, caller?: CancelSignal): Promise<T> {
    return this.#transactions.transact((changes) => this.#counts.change(() => action(changes)), caller);
  }

  #changeModels(
    ref: CollectionRef,
    change: (known: CollectionModels) => CollectionModels,
  ): Promise<CollectionModels> {
    return this.#transactions.transact(async (transaction) => {
      const entry = await requireCollection(transaction, ref);
      const models = change(entry.models);
      putCollection(transaction, { ...entry, models });
      return models;
    });
  }

  async #putDefaults(transaction: CatalogTransaction, nextCollection: number): Promise<void> {
    setNextNumber(transaction, nextCollection);
    putTenant(transaction, { name: DEFAULT_TENANT, resourceName: null });
    const ref = { tenant: DEFAULT_TENANT, database: DEFAULT_DATABASE };
    await insertDatabase(transaction, this.#counts, ref);
  }

  async #removeDatabase(transaction: CatalogTransaction, database: Database): Promise<readonly string[]> {
    const ids = await removeCollections(transaction, this.#counts, database.id);
    removeDatabase(transaction, database);
    return ids;
  }
}

function byIdentifier(models: readonly ModelIdentity[]): CollectionModels {
  return Object.fromEntries(models.map((model) => [model.identifier, model]));
}
