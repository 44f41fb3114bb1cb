/**
 * The engine as one asynchronous interface of plain messages (frozen objects, typed arrays, maps): `LocalEngine`
 * implements it in process, `HostedEngine` as a proxy to the engine host. One behaviour suite runs on both.
 * Every method throws `SheafError`; after an abort nothing more is done than what is already durable.
 */
import type {
  Collection,
  CollectionRef,
  CreateCollection,
  Database,
  DeleteRequest,
  GetRequest,
  QueryRequest,
  ResultRecord,
  SearchRequest,
  Selector,
  Tenant,
  UpdateCollection,
  WriteRequest,
} from "@sheaf/protocol";

export interface EngineOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Page {
  readonly limit: number | null;
  readonly offset: number;
}

export interface DatabaseRef {
  readonly tenant: string;
  readonly database: string;
}

export interface CollectionName extends DatabaseRef {
  readonly name: string;
}

/** One stretch of a `get`; `next` continues it, `null` at the end. A stretch holds at most a few MiB. */
export interface GetPage {
  readonly records: readonly ResultRecord[];
  readonly next: number | null;
}

export interface IndexingStatus {
  readonly totalOperations: number;
  readonly indexedOperations: number;
}

export interface Engine {
  createTenant(name: string): Promise<void>;
  getTenant(name: string): Promise<Tenant>;
  listTenants(): Promise<readonly Tenant[]>;
  updateTenant(name: string, resourceName: string): Promise<void>;
  /** Removes its databases and their collections too. */
  deleteTenant(name: string): Promise<void>;

  createDatabase(ref: DatabaseRef): Promise<void>;
  getDatabase(ref: DatabaseRef): Promise<Database>;
  /** By name, ascending. */
  listDatabases(tenant: string, page: Page): Promise<readonly Database[]>;
  deleteDatabase(ref: DatabaseRef): Promise<void>;

  createCollection(request: CreateCollection): Promise<Collection>;
  getCollection(ref: CollectionRef): Promise<Collection>;
  getCollectionByName(name: CollectionName): Promise<Collection>;
  /** In order of creation. */
  listCollections(ref: DatabaseRef, page: Page): Promise<readonly Collection[]>;
  countCollections(ref: DatabaseRef): Promise<number>;
  updateCollection(ref: CollectionRef, change: UpdateCollection): Promise<void>;
  deleteCollection(name: CollectionName): Promise<void>;
  /** Removes everything and makes `default_tenant` and `default_database` again. */
  reset(): Promise<void>;

  /** Durable when it resolves, whole or not at all; the next read sees it. */
  write(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<void>;
  /** How many records really existed and are gone. */
  delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number>;
  /** Insertion order. `cursor` is a `next` of an earlier page of the same request. */
  get(
    ref: CollectionRef,
    request: GetRequest,
    cursor: number | null,
    options?: EngineOptions,
  ): Promise<GetPage>;
  /** One list per query vector, nearest first. */
  query(
    ref: CollectionRef,
    request: QueryRequest,
    options?: EngineOptions,
  ): Promise<readonly (readonly ResultRecord[])[]>;
  /** One list per search; text queries must have been turned into vectors. */
  search(
    ref: CollectionRef,
    request: SearchRequest,
    options?: EngineOptions,
  ): Promise<readonly (readonly ResultRecord[])[]>;
  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number>;
  indexingStatus(ref: CollectionRef): Promise<IndexingStatus>;

  close(): Promise<void>;
}
