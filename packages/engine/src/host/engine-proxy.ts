/** The engine's methods as calls by name, for whatever carries them to an engine elsewhere. */
import type {
  Collection,
  CollectionModels,
  CollectionRef,
  CommitRequest,
  CommitResult,
  CreateCollection,
  Database,
  DeleteRequest,
  Facet,
  FacetsRequest,
  GetRequest,
  ModelIdentity,
  QueryRequest,
  ReadToken,
  SearchRequest,
  Selector,
  Tenant,
  UpdateCollection,
  WriteRequest,
} from "@sheaf/protocol";
import type { BackupProgress, BackupRequest, MadeBackup } from "../backup/make-backup.ts";
import type { BegunPartition, PartitionAsk } from "../collection/partitions/asked-partition.ts";
import type { SelectedRecords } from "../query/partitioned/read-partitions.ts";
import type { RecordsAnswer, RecordsQuestion } from "../storage/log/asked/records-question.ts";
import type {
  AskedOfPartition,
  Activity,
  CollectionName,
  DatabaseRef,
  Engine,
  EngineOptions,
  EngineStatistics,
  IndexingStatus,
  KeyReplacement,
  ListBatch,
  ListPage,
  ResultBatch,
  StoredKey,
  ToDelete,
  TokenUsage,
} from "../engine.ts";

export type EngineMethod = Exclude<keyof Engine, "close">;

export abstract class EngineProxy implements Engine {
  createTenant(name: string, options?: EngineOptions): Promise<void> {
    return this.call("createTenant", [name], options);
  }

  getTenant(name: string): Promise<Tenant> {
    return this.call("getTenant", [name]);
  }

  listTenants(page: ListPage): Promise<ListBatch<Tenant>> {
    return this.call("listTenants", [page]);
  }

  updateTenant(name: string, resourceName: string, options?: EngineOptions): Promise<void> {
    return this.call("updateTenant", [name, resourceName], options);
  }

  resolveTenant(resourceName: string): Promise<string | null> {
    return this.call("resolveTenant", [resourceName]);
  }

  deleteTenant(name: string, options?: EngineOptions): Promise<void> {
    return this.call("deleteTenant", [name], options);
  }

  createDatabase(ref: DatabaseRef, options?: EngineOptions): Promise<void> {
    return this.call("createDatabase", [ref], options);
  }

  getDatabase(ref: DatabaseRef): Promise<Database> {
    return this.call("getDatabase", [ref]);
  }

  listDatabases(tenant: string, page: ListPage): Promise<ListBatch<Database>> {
    return this.call("listDatabases", [tenant, page]);
  }

  deleteDatabase(ref: ToDelete<DatabaseRef>, options?: EngineOptions): Promise<void> {
    return this.call("deleteDatabase", [ref], options);
  }

  createCollection(request: CreateCollection, options?: EngineOptions): Promise<Collection> {
    return this.call("createCollection", [request], options);
  }

  getCollection(ref: CollectionRef): Promise<Collection> {
    return this.call("getCollection", [ref]);
  }

  getCollectionByName(name: CollectionName): Promise<Collection> {
    return this.call("getCollectionByName", [name]);
  }

  listCollections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<Collection>> {
    return this.call("listCollections", [ref, page]);
  }

  countCollections(ref: DatabaseRef): Promise<number> {
    return this.call("countCollections", [ref]);
  }

  collectionUsage(ref: DatabaseRef, page: ListPage): ReturnType<Engine["collectionUsage"]> {
    return this.call("collectionUsage", [ref, page]);
  }

  updateCollection(ref: CollectionRef, change: UpdateCollection, options?: EngineOptions): Promise<void> {
    return this.call("updateCollection", [ref, change], options);
  }

  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.call("rememberModels", [ref, models]);
  }

  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.call("acceptModels", [ref, models]);
  }

  deleteCollection(name: ToDelete<CollectionName>, options?: EngineOptions): Promise<void> {
    return this.call("deleteCollection", [name], options);
  }

  listKeys(page: ListPage): Promise<ListBatch<StoredKey>> {
    return this.call("listKeys", [page]);
  }

  findKeys(digests: readonly string[]): Promise<readonly (StoredKey | null)[]> {
    return this.call("findKeys", [digests]);
  }

  createKey(key: StoredKey, options?: EngineOptions): Promise<void> {
    return this.call("createKey", [key], options);
  }

  rotateKey(id: string, replacement: KeyReplacement, options?: EngineOptions): Promise<StoredKey> {
    return this.call("rotateKey", [id, replacement], options);
  }

  deleteKey(id: string, options?: EngineOptions): Promise<void> {
    return this.call("deleteKey", [id], options);
  }

  recordActivity(activity: Activity): Promise<void> {
    return this.call("recordActivity", [activity]);
  }

  listTokenUsage(): Promise<readonly TokenUsage[]> {
    return this.call("listTokenUsage", []);
  }

  statistics(): Promise<EngineStatistics> {
    return this.call("statistics", []);
  }

  makeBackup(request: BackupRequest, options?: EngineOptions): Promise<MadeBackup> {
    return this.call("makeBackup", [request], options);
  }

  backupProgress(): Promise<BackupProgress | null> {
    return this.call("backupProgress", []);
  }

  reset(options?: EngineOptions): Promise<void> {
    return this.call("reset", [], options);
  }

  forkCollection(ref: CollectionRef, newName: string, options?: EngineOptions): Promise<Collection> {
    return this.onCollection("forkCollection", ref, [newName], options);
  }

  forkCount(ref: CollectionRef): Promise<number> {
    return this.call("forkCount", [ref]);
  }

  readToken(ref: CollectionRef): Promise<ReadToken> {
    return this.onCollection("readToken", ref, []);
  }

  commit(ref: CollectionRef, request: CommitRequest, options?: EngineOptions): Promise<CommitResult> {
    return this.onCollection("commit", ref, [request], options);
  }

  write(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<void> {
    return this.onCollection("write", ref, [request], options);
  }

  writeAsGiven(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<boolean> {
    return this.onCollection("writeAsGiven", ref, [request], options);
  }

  delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number> {
    return this.onCollection("delete", ref, [request], options);
  }

  get(ref: CollectionRef, request: GetRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.onCollection("get", ref, [request], options);
  }

  query(ref: CollectionRef, request: QueryRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.onCollection("query", ref, [request], options);
  }

  search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.onCollection("search", ref, [request], options);
  }

  nextBatch(ref: CollectionRef, cursor: number, options?: EngineOptions): Promise<ResultBatch> {
    return this.onCollection("nextBatch", ref, [cursor], options);
  }

  closeRead(cursor: number): Promise<void> {
    return this.call("closeRead", [cursor]);
  }

  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number> {
    return this.onCollection("count", ref, [selector], options);
  }

  facets(ref: CollectionRef, request: FacetsRequest, options?: EngineOptions): Promise<readonly Facet[]> {
    return this.onCollection("facets", ref, [request], options);
  }

  indexingStatus(ref: CollectionRef): Promise<IndexingStatus> {
    return this.onCollection("indexingStatus", ref, []);
  }

  beginPartition(
    ref: CollectionRef,
    partition: number,
    ...[question, ids, options]: AskedOfPartition
  ): Promise<BegunPartition> {
    return this.onCollection("beginPartition", ref, [partition, question, ids], options);
  }

  askPartition(
    ref: CollectionRef,
    ask: PartitionAsk,
    cursor: number,
    options?: EngineOptions,
  ): Promise<unknown> {
    return this.onCollection("askPartition", ref, [ask, cursor], options);
  }

  recordsOf(
    ref: CollectionRef,
    partition: number,
    question: RecordsQuestion,
    options?: EngineOptions,
  ): Promise<RecordsAnswer> {
    return this.onCollection("recordsOf", ref, [partition, question], options);
  }

  deleteSelected(
    ref: CollectionRef,
    selected: SelectedRecords,
    options?: EngineOptions,
  ): Promise<number | null> {
    return this.onCollection("deleteSelected", ref, [selected], options);
  }

  abstract close(): Promise<void>;

  protected abstract call<M extends EngineMethod>(
    method: M,
    args: readonly unknown[],
    options?: EngineOptions,
  ): ReturnType<Engine[M]>;

  /** A call that opens the collection. */
  protected abstract onCollection<M extends EngineMethod>(
    method: M,
    ref: CollectionRef,
    args: readonly unknown[],
    options?: EngineOptions,
  ): ReturnType<Engine[M]>;
}
