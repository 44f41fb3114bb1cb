/**
 * Decides which tenants, databases and collections exist, in an LMDB environment of its own. A change is durable
 * when its promise resolves; readers see it from then on. What is dropped here is dropped, whatever files are left.
 */
import { randomUUID } from "node:crypto";
import {
  type Collection,
  type CollectionModels,
  type CollectionRef,
  type CreateCollection,
  DEFAULT_DATABASE,
  DEFAULT_TENANT,
  type Database,
  type JsonObject,
  type ModelIdentity,
  SheafError,
  type Tenant,
  type UpdateCollection,
} from "@sheaf/protocol";
import type { CollectionName, DatabaseRef, ListBatch, ListPage } from "../engine.ts";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import type { CollectionEntry } from "./catalog-codec.ts";
import { ALL_DIRTY, COUNTER_KEY, EVERYTHING, formatUuid, idBytes, dirtyKey } from "./catalog-keys.ts";
import { CollectionEntries } from "./collection-entries.ts";
import { DatabaseEntries, absentDatabase } from "./database-entries.ts";
import { KeyCatalog } from "./key-catalog.ts";
import { LookupCache } from "./lookup-cache.ts";
import { type CatalogQuotas, TenantCounts } from "./tenant-counts.ts";
import { TenantEntries } from "./tenant-entries.ts";
import type { Steps } from "../storage/steps.ts";

/** Of a change that a tenant asks for, beside the description itself; it must not take what is kept free of the disk. */
const CHANGE_BYTES = 1024 * 1024;
const NO_CATALOG_QUOTAS: CatalogQuotas = Object.freeze({ databases: 0, collections: 0 });

/** What the index has learnt of a collection's records. */
export interface CollectionProgress {
  readonly logPosition?: number;
  readonly dimension?: number | null;
  /** The schema with new keys; `null`: nothing new. */
  readonly extend?: (schema: JsonObject) => JsonObject | null;
  /** Every write is checkpointed: removes the mark of `markDirty`. */
  readonly checkpointed?: boolean;
}

/** What a fork is beside its source. */
export interface ForkedCollection extends Readonly<Record<"id" | "epoch" | "name", string>> {
  /** Of its records, as its store knows them. */
  readonly dimension: number | null;
  readonly logPosition: number;
}

export class Catalog {
  readonly keys: KeyCatalog;
  readonly #environment: LmdbEnvironment;
  readonly #tenants: TenantEntries;
  readonly #databases: DatabaseEntries;
  readonly #collections: CollectionEntries;
  readonly #counts: TenantCounts;
  /** Every call on a collection begins with looking it up. */
  readonly #known: LookupCache<Collection>;

  private constructor(environment: LmdbEnvironment, quotas: CatalogQuotas) {
    this.#environment = environment;
    this.#tenants = new TenantEntries(environment);
    this.#counts = new TenantCounts(quotas);
    this.#databases = new DatabaseEntries(environment, this.#counts);
    this.#collections = new CollectionEntries(environment, this.#counts);
    this.#known = new LookupCache(environment);
    this.keys = new KeyCatalog(environment, this);
  }

  /** Makes the default tenant and database the first time. */
  static async open(environment: LmdbEnvironment, quotas = NO_CATALOG_QUOTAS): Promise<Catalog> {
    const catalog = new Catalog(environment, quotas);
    if (environment.get(COUNTER_KEY) === null) await environment.transact(() => catalog.#putDefaults(0));
    await catalog.#collections.completeMembers();
    return catalog;
  }

  /** Makes what leads to tenants and, last, to keys, where the folder is of a version that did not have it. */
  async completeIndexes(): Promise<void> {
    if (this.keys.isIndexed) return;
    await this.#environment.transact(() => this.#tenants.indexAll());
    await this.#environment.transact(() => this.keys.indexAll());
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  /** 409 if there is one already. */
  createTenant(name: string): Promise<void> {
    return this.#environment.transact(() => this.#tenants.insert(name));
  }

  /** 404 for one that is not there. */
  tenant(name: string): Tenant {
    return this.#tenants.require(name);
  }

  tenants(page: ListPage): ListBatch<Tenant> {
    return this.#tenants.list(page);
  }

  /** 409 if another tenant has the resource name. */
  updateTenant(name: string, resourceName: string): Promise<void> {
    return this.#environment.transact(() => this.#tenants.rename(name, resourceName));
  }

  /** The tenant with this resource name, else the one with this name; `null`: neither. */
  tenantOfResource(resourceName: string): string | null {
    return this.#tenants.ofResource(resourceName);
  }

  /** Ids of the collections that went with it. */
  deleteTenant(name: string): Promise<readonly string[]> {
    return this.#change(() => this.#removeTenant(name));
  }

  /** 404 for a tenant that is not there, 409 if there is such a database already. */
  createDatabase(ref: DatabaseRef): Promise<void> {
    return this.#change(() => {
      this.#tenants.require(ref.tenant);
      this.#environment.disk.require(CHANGE_BYTES);
      this.#databases.insert(ref);
    });
  }

  database(ref: DatabaseRef): Database {
    const database = this.#databases.find(ref);
    if (database === null) throw absentDatabase(ref, "not_found");
    return database;
  }

  /** By name; none for a tenant that does not exist. */
  databases(tenant: string, page: ListPage): ListBatch<Database> {
    return this.#databases.list(tenant, page);
  }

  /** Ids of the collections that went with it. */
  deleteDatabase(ref: DatabaseRef): Promise<readonly string[]> {
    return this.#change(() => this.#removeDatabaseAndKeys(ref));
  }

  createCollection(request: CreateCollection): Promise<Collection> {
    const { name, tenant, database, metadata, configuration, schema } = request;
    return this.#change(() => {
      const owner = this.#databases.find(request);
      if (owner === null) throw absentDatabase(request, "invalid_argument");
      const known = request.getOrCreate ? this.#collections.findByName(owner.id, name) : null;
      if (known !== null) return toCollection(known);
      const id = randomUUID();
      const entry = this.#collections.insert({
        ...{ id, name, tenant, database, databaseId: owner.id, metadata, configuration, schema },
        ...{ dimension: null, logPosition: 0, version: 0, models: {}, tree: id, epoch: randomUUID() },
      });
      this.#environment.disk.require(CHANGE_BYTES + this.#collections.bytes(id));
      return toCollection(entry);
    });
  }

  /** Throws what `createFork` would, before anything is copied. */
  checkFork(ref: CollectionRef, name: string): void {
    const { databaseId, tree } = this.#requireCollection(ref);
    this.#collections.requireFreeName(databaseId, name);
    this.#collections.requireRoom(ref.tenant);
    this.#collections.trees.requireRoom(tree);
  }

  /**
   * A collection like `ref` under another name and id; its files must be there already. 404 if `ref` has gone, 409 for
   * a name that is taken, 422 for a fork too many.
   */
  createFork(ref: CollectionRef, fork: ForkedCollection): Promise<Collection> {
    return this.#change(() => {
      const source = this.#requireCollection(ref);
      this.#collections.trees.add(source.tree);
      const entry = this.#collections.insert({ ...source, ...fork, version: 0 });
      // The copy may hold writes whose metadata keys are on their way to the source's schema just now.
      if (fork.logPosition > 0) this.#environment.put(dirtyKey(idBytes(fork.id)), idBytes(fork.id));
      return toCollection(entry);
    });
  }

  /** Forks of the whole tree that the collection belongs to. */
  forkCount(ref: CollectionRef): number {
    return this.#collections.trees.edges(this.#requireCollection(ref).tree);
  }

  epoch(ref: CollectionRef): string {
    return this.#requireCollection(ref).epoch;
  }

  /** Not to be changed. */
  collection(ref: CollectionRef): Collection {
    const { tenant, database, id } = ref;
    return this.#known.get(`${tenant.length} ${tenant} ${database.length} ${database} ${id}`, () =>
      toCollection(this.#requireCollection(ref)),
    );
  }

  /** For what was looked up before; 404 once it is gone. */
  collectionById(id: string): Collection {
    if (!this.hasCollection(id)) throw unknownCollection(id);
    return toCollection(this.#collections.read(idBytes(id)));
  }

  collectionByName(name: CollectionName): Collection {
    return toCollection(this.#requireByName(name));
  }

  /** Ids of all collections of a tenant, or of all. */
  collectionIds(tenant: string | null): readonly string[] {
    return tenant === null ? this.#collections.ids() : this.#collections.idsOf(tenant);
  }

  get bytes(): number {
    return this.#environment.bytes;
  }

  /** In order of creation; none for a database that does not exist. */
  collections(ref: DatabaseRef, page: ListPage): ListBatch<Collection> {
    const owner = this.#databases.find(ref);
    if (owner === null) return { items: [], next: null };
    const { items, next } = this.#collections.list(owner.id, page);
    return { items: items.map(toCollection), next };
  }

  countCollections(ref: DatabaseRef): number {
    const owner = this.#databases.find(ref);
    return owner === null ? 0 : this.#collections.count(owner.id);
  }

  hasCollection(id: string): boolean {
    return this.#collections.has(id);
  }

  /** Whether anything of the catalog but its entry names it; one that is there, or was and is damaged. */
  mentions(id: string): boolean {
    return this.#collections.mentions(id);
  }

  updateCollection(ref: CollectionRef, change: UpdateCollection): Promise<void> {
    return this.#environment.transact(() => {
      const entry = this.#requireCollection(ref);
      const { name = entry.name } = change;
      if (name !== entry.name) this.#collections.rename(entry, name);
      const {
        metadata = entry.metadata,
        configuration = entry.configuration,
        schema = entry.schema,
      } = change;
      this.#collections.put({ ...entry, name, metadata, configuration, schema });
      this.#environment.disk.require(CHANGE_BYTES + this.#collections.bytes(entry.id));
    });
  }

  /** What the collection remembers of its models, with those of these that it did not know. */
  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#changeModels(ref, (known) => ({ ...byIdentifier(models), ...known }));
  }

  /** What the collection remembers of its models, with these instead of what it knew of them. */
  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#changeModels(ref, (known) => ({ ...known, ...byIdentifier(models) }));
  }

  /** Remembers that the collection has writes since its last checkpoint, for a start after a crash. */
  markDirty(id: string): Promise<void> {
    return this.#environment.transact(() => {
      if (this.hasCollection(id)) this.#environment.put(dirtyKey(idBytes(id)), idBytes(id));
    });
  }

  isDirty(id: string): boolean {
    return this.#environment.get(dirtyKey(idBytes(id))) !== null;
  }

  dirtyCollections(): readonly string[] {
    return this.#environment.entries(ALL_DIRTY).map(({ value }) => formatUuid(value));
  }

  /** Records progress and raises `version` when `logPosition` rises; does nothing if the collection is gone. */
  advance(id: string, progress: CollectionProgress): Promise<void> {
    return this.#environment.transact(() => {
      if (!this.hasCollection(id)) return;
      const entry = this.#collections.read(idBytes(id));
      const logPosition = Math.max(entry.logPosition, progress.logPosition ?? 0);
      this.#collections.put({
        ...entry,
        schema: progress.extend?.(entry.schema) ?? entry.schema,
        dimension: progress.dimension ?? entry.dimension,
        version: entry.version + (logPosition > entry.logPosition ? 1 : 0),
        logPosition,
      });
      if (progress.checkpointed === true) this.#environment.remove(dirtyKey(idBytes(id)));
    });
  }

  /** Its id. */
  deleteCollection(name: CollectionName): Promise<string> {
    return this.#change(() => {
      const entry = this.#requireByName(name);
      this.#collections.remove(entry);
      return entry.id;
    });
  }

  /** Removes everything but the defaults; ids of all collections there were. */
  reset(): Promise<readonly string[]> {
    return this.#change(() => {
      const ids = this.#collections.ids();
      const next = this.#collections.nextNumber();
      for (const { key } of this.#environment.entries(EVERYTHING)) this.#environment.remove(key);
      this.#counts.forget();
      this.#putDefaults(next);
      return ids;
    });
  }

  /** A transaction that makes or removes databases or collections. */
  #change<T>(action: () => Steps<T>): Promise<T> {
    return this.#counts.change(action, (work) => this.#environment.transact(work));
  }

  #changeModels(
    ref: CollectionRef,
    change: (known: CollectionModels) => CollectionModels,
  ): Promise<CollectionModels> {
    return this.#environment.transact(() => {
      const entry = this.#requireCollection(ref);
      const models = change(entry.models);
      this.#collections.put({ ...entry, models });
      return models;
    });
  }

  #putDefaults(nextCollection: number): void {
    this.#collections.setNextNumber(nextCollection);
    this.#tenants.put({ name: DEFAULT_TENANT, resourceName: null });
    this.#databases.insert({ tenant: DEFAULT_TENANT, database: DEFAULT_DATABASE });
  }

  #requireByName(name: CollectionName): CollectionEntry {
    const owner = this.#databases.find(name);
    const entry = owner === null ? null : this.#collections.findByName(owner.id, name.name);
    if (entry === null) throw missing(`Collection [${name.name}] does not exist`);
    return entry;
  }

  /** The id must lie under the tenant and database it was asked for. */
  #requireCollection(ref: CollectionRef): CollectionEntry {
    const owner = this.#databases.find(ref);
    const entry = owner === null ? null : this.#collections.find(owner.id, ref.id);
    if (entry === null) throw unknownCollection(ref.id);
    return entry;
  }

  *#removeTenant(name: string): Generator<void, readonly string[]> {
    this.#tenants.require(name);
    yield* this.keys.removeBoundTo(name, null);
    const ids: string[] = [];
    for (const database of this.#databases.all(name))
      for (const id of yield* this.#removeDatabase(database)) ids.push(id);
    this.#tenants.remove(name);
    return ids;
  }

  *#removeDatabaseAndKeys(ref: DatabaseRef): Generator<void, readonly string[]> {
    const database = this.#databases.find(ref);
    if (database === null) throw missing(`Database [${ref.database}] not found`);
    yield* this.keys.removeBoundTo(ref.tenant, ref.database);
    return yield* this.#removeDatabase(database);
  }

  *#removeDatabase(database: Database): Generator<void, readonly string[]> {
    const ids = yield* this.#collections.removeAll(database.id);
    this.#databases.remove(database);
    return ids;
  }
}

/** 404 for a collection addressed by id, also under a foreign tenant or database. */
export function unknownCollection(id: string): SheafError {
  return missing(`Collection [${id}] does not exist.`);
}

function toCollection(entry: CollectionEntry): Collection {
  const { databaseId: _databaseId, created: _created, tree: _tree, epoch: _epoch, ...collection } = entry;
  return collection;
}

function byIdentifier(models: readonly ModelIdentity[]): CollectionModels {
  return Object.fromEntries(models.map((model) => [model.identifier, model]));
}

function missing(message: string): SheafError {
  return new SheafError("not_found", message);
}
