/**
 * Decides which tenants, databases and collections exist, in an LMDB environment of its own. A change is durable
 * when its promise resolves; readers see it from then on. What is dropped here is dropped, whatever files are left.
 */
import { randomUUID } from "node:crypto";
import {
  type Collection,
  type CollectionRef,
  type CreateCollection,
  type Database,
  type JsonObject,
  SheafError,
  type Tenant,
  type UpdateCollection,
  invalid,
} from "@sheaf/protocol";
import type { CollectionName, DatabaseRef, Page } from "../engine.ts";
import type { LmdbEnvironment } from "../storage/lmdb-environment.ts";
import {
  type CollectionEntry,
  type DatabaseEntry,
  decodeDatabase,
  decodeTenant,
  encodeDatabase,
  encodeTenant,
} from "./catalog-codec.ts";
import {
  ALL_TENANTS,
  ALL_UNFOLDED,
  COUNTER_KEY,
  EVERYTHING,
  databaseKey,
  databasesOf,
  formatUuid,
  idBytes,
  nameBehind,
  tenantKey,
  unfoldedKey,
} from "./catalog-keys.ts";
import { CollectionEntries } from "./collection-entries.ts";
import { KeyCatalog } from "./key-catalog.ts";
import { ResourceNames } from "./resource-names.ts";

export const DEFAULT_TENANT = "default_tenant";
export const DEFAULT_DATABASE = "default_database";

/** What the index has learnt of a collection's records. */
export interface CollectionProgress {
  readonly logPosition?: number;
  readonly dimension?: number | null;
  /** The schema with new keys; `null`: nothing new. */
  readonly extend?: (schema: JsonObject) => JsonObject | null;
  /** Nothing is left to fold: takes the mark of `markUnfolded` away. */
  readonly folded?: boolean;
}

/** What a fork is beside its source. */
export interface ForkedCollection {
  readonly id: string;
  readonly name: string;
  /** Of its records, as its store knows them. */
  readonly dimension: number | null;
  readonly logPosition: number;
}

export class Catalog {
  readonly keys: KeyCatalog;
  readonly #environment: LmdbEnvironment;
  readonly #collections: CollectionEntries;
  readonly #resources = new ResourceNames(() => this.tenants());

  private constructor(environment: LmdbEnvironment, quotaCollections: number) {
    this.#environment = environment;
    this.#collections = new CollectionEntries(environment, quotaCollections);
    this.keys = new KeyCatalog(environment, this);
  }

  /** Makes the default tenant and database the first time. */
  static async open(environment: LmdbEnvironment, quotaCollections = 0): Promise<Catalog> {
    const catalog = new Catalog(environment, quotaCollections);
    if (environment.get(COUNTER_KEY) === null) await environment.transact(() => catalog.#putDefaults(0));
    await catalog.#collections.completeMembers();
    return catalog;
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  createTenant(name: string): Promise<void> {
    return this.#environment.transact(() => {
      if (this.#findTenant(name) !== null) throw exists(`Tenant [${name}] already exists`);
      this.#environment.put(tenantKey(name), encodeTenant({ resourceName: null }));
    });
  }

  tenant(name: string): Tenant {
    const tenant = this.#findTenant(name);
    if (tenant === null) throw missing(`Tenant [${name}] not found`);
    return tenant;
  }

  tenants(): readonly Tenant[] {
    return this.#environment.entries(ALL_TENANTS).map(({ key, value }) => ({
      name: nameBehind(key, ALL_TENANTS.start.length),
      ...decodeTenant(value, this.#environment.origin(key)),
    }));
  }

  /** 409 if another tenant has the resource name. */
  updateTenant(name: string, resourceName: string): Promise<void> {
    return this.#changeTenants(() => {
      this.tenant(name);
      this.#resources.requireFree(resourceName, name);
      this.#environment.put(tenantKey(name), encodeTenant({ resourceName }));
    });
  }

  /** The tenant with this resource name, else the one with this name; `null`: neither. */
  tenantOfResource(resourceName: string): string | null {
    return this.#resources.tenantOf(resourceName) ?? this.#findTenant(resourceName)?.name ?? null;
  }

  /** Ids of the collections that went with it. */
  deleteTenant(name: string): Promise<readonly string[]> {
    return this.#changeTenants(() => {
      this.tenant(name);
      const ids = this.databases(name, ALL).flatMap((database) => this.#removeDatabase(database));
      this.#environment.remove(tenantKey(name));
      this.keys.removeBoundTo(name, null);
      return ids;
    });
  }

  createDatabase({ tenant, database }: DatabaseRef): Promise<void> {
    return this.#environment.transact(() => {
      this.tenant(tenant);
      if (this.#findDatabase(tenant, database) !== null)
        throw exists(`Database [${database}] already exists`);
      this.#environment.put(databaseKey(tenant, database), encodeDatabase({ id: randomUUID() }));
    });
  }

  database({ tenant, database }: DatabaseRef): Database {
    const entry = this.#findDatabase(tenant, database);
    if (entry === null) throw missing(`Database [${database}] not found. Are you sure it exists?`);
    return { id: entry.id, name: database, tenant };
  }

  /** By name; none for a tenant that does not exist. */
  databases(tenant: string, page: Page): readonly Database[] {
    const prefix = databasesOf(tenant);
    return this.#environment.entries({ ...prefix, ...toRange(page) }).map(({ key, value }) => ({
      id: decodeDatabase(value, this.#environment.origin(key)).id,
      name: nameBehind(key, prefix.start.length),
      tenant,
    }));
  }

  /** Ids of the collections that went with it. */
  deleteDatabase(ref: DatabaseRef): Promise<readonly string[]> {
    return this.#environment.transact(() => {
      const entry = this.#findDatabase(ref.tenant, ref.database);
      if (entry === null) throw missing(`Database [${ref.database}] not found`);
      this.keys.removeBoundTo(ref.tenant, ref.database);
      return this.#removeDatabase({ id: entry.id, name: ref.database, tenant: ref.tenant });
    });
  }

  createCollection(request: CreateCollection): Promise<Collection> {
    const { name, tenant, database, metadata, configuration, schema } = request;
    return this.#environment.transact(() => {
      const owner = this.#findDatabase(tenant, database);
      if (owner === null) throw invalid("", `Database [${database}] does not exist`);
      const known = request.getOrCreate ? this.#collections.findByName(owner.id, name) : null;
      if (known !== null) return toCollection(known);
      const id = randomUUID();
      const entry = this.#collections.insert({
        ...{ id, name, tenant, database, databaseId: owner.id, metadata, configuration, schema },
        ...{ dimension: null, logPosition: 0, version: 0, tree: id, epoch: randomUUID() },
      });
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
    return this.#environment.transact(() => {
      const source = this.#requireCollection(ref);
      this.#collections.trees.add(source.tree);
      const entry = this.#collections.insert({ ...source, ...fork, version: 0, epoch: randomUUID() });
      // The copy may hold writes whose metadata keys are on their way to the source's schema just now.
      if (fork.logPosition > 0) this.#environment.put(unfoldedKey(idBytes(fork.id)), idBytes(fork.id));
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

  collection(ref: CollectionRef): Collection {
    return toCollection(this.#requireCollection(ref));
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
  collections({ tenant, database }: DatabaseRef, page: Page): readonly Collection[] {
    const owner = this.#findDatabase(tenant, database);
    return owner === null ? [] : this.#collections.list(owner.id, toRange(page)).map(toCollection);
  }

  countCollections({ tenant, database }: DatabaseRef): number {
    const owner = this.#findDatabase(tenant, database);
    return owner === null ? 0 : this.#collections.count(owner.id);
  }

  hasCollection(id: string): boolean {
    return this.#collections.has(id);
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
    });
  }

  /** Remembers that the collection has writes to fold, for a start after a crash. */
  markUnfolded(id: string): Promise<void> {
    return this.#environment.transact(() => {
      if (this.hasCollection(id)) this.#environment.put(unfoldedKey(idBytes(id)), idBytes(id));
    });
  }

  isUnfolded(id: string): boolean {
    return this.#environment.get(unfoldedKey(idBytes(id))) !== null;
  }

  unfoldedCollections(): readonly string[] {
    return this.#environment.entries(ALL_UNFOLDED).map(({ value }) => formatUuid(value));
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
      if (progress.folded === true) this.#environment.remove(unfoldedKey(idBytes(id)));
    });
  }

  /** Its id. */
  deleteCollection(name: CollectionName): Promise<string> {
    return this.#environment.transact(() => {
      const entry = this.#requireByName(name);
      this.#collections.remove(entry);
      return entry.id;
    });
  }

  /** Removes everything but the defaults; ids of all collections there were. */
  reset(): Promise<readonly string[]> {
    return this.#changeTenants(() => {
      const ids = this.#collections.ids();
      const next = this.#collections.nextNumber();
      for (const { key } of this.#environment.entries(EVERYTHING)) this.#environment.remove(key);
      this.#putDefaults(next);
      return ids;
    });
  }

  /** A transaction that makes known resource names wrong. */
  async #changeTenants<T>(change: () => T): Promise<T> {
    try {
      return await this.#environment.transact(() => {
        this.#resources.forget();
        return change();
      });
    } finally {
      this.#resources.forget();
    }
  }

  #putDefaults(nextCollection: number): void {
    this.#collections.setNextNumber(nextCollection);
    this.#environment.put(tenantKey(DEFAULT_TENANT), encodeTenant({ resourceName: null }));
    this.#environment.put(
      databaseKey(DEFAULT_TENANT, DEFAULT_DATABASE),
      encodeDatabase({ id: randomUUID() }),
    );
  }

  #findTenant(name: string): Tenant | null {
    const key = tenantKey(name);
    const value = this.#environment.get(key);
    return value === null ? null : { name, ...decodeTenant(value, this.#environment.origin(key)) };
  }

  #findDatabase(tenant: string, database: string): DatabaseEntry | null {
    const key = databaseKey(tenant, database);
    const value = this.#environment.get(key);
    return value === null ? null : decodeDatabase(value, this.#environment.origin(key));
  }

  #requireByName({ tenant, database, name }: CollectionName): CollectionEntry {
    const owner = this.#findDatabase(tenant, database);
    const entry = owner === null ? null : this.#collections.findByName(owner.id, name);
    if (entry === null) throw missing(`Collection [${name}] does not exist`);
    return entry;
  }

  /** The id must lie under the tenant and database it was asked for. */
  #requireCollection({ tenant, database, id }: CollectionRef): CollectionEntry {
    const owner = this.#findDatabase(tenant, database);
    const entry = owner === null ? null : this.#collections.find(owner.id, id);
    if (entry === null) throw unknownCollection(id);
    return entry;
  }

  #removeDatabase({ tenant, name, id }: Database): readonly string[] {
    const entries = this.#collections.list(id);
    for (const entry of entries) this.#collections.remove(entry);
    this.#environment.remove(databaseKey(tenant, name));
    return entries.map((entry) => entry.id);
  }
}

const ALL: Page = { limit: null, offset: 0 };

/** 404 for a collection addressed by id, also under a foreign tenant or database. */
export function unknownCollection(id: string): SheafError {
  return missing(`Collection [${id}] does not exist.`);
}

function toCollection(entry: CollectionEntry): Collection {
  const { databaseId: _databaseId, created: _created, tree: _tree, epoch: _epoch, ...collection } = entry;
  return collection;
}

function toRange({ limit, offset }: Page): { limit?: number; offset?: number } {
  return { ...(limit === null ? {} : { limit }), ...(offset === 0 ? {} : { offset }) };
}

function exists(message: string): SheafError {
  return new SheafError("already_exists", message);
}

function missing(message: string): SheafError {
  return new SheafError("not_found", message);
}
