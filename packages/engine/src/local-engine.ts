/**
 * The engine in this process: catalog, open collections and their files under one data folder. Whoever opens one
 * must hold the folder's lock.
 */
import {
  type Collection,
  type CollectionModels,
  type CollectionRef,
  type CommitRequest,
  type CommitResult,
  type CreateCollection,
  type Database,
  type DeleteRequest,
  type Facet,
  type FacetsRequest,
  type GetRequest,
  type ModelIdentity,
  type QueryRequest,
  type ReadToken,
  type SearchRequest,
  type Selector,
  type Tenant,
  type UpdateCollection,
  type WriteRequest,
  partitionsOf,
  throwIfAborted,
} from "@sheaf/protocol";
import { NO_ARCHIVE } from "./archive/archive.ts";
import { BackupMaker, type BackupRequest, type MadeBackup } from "./backup/make-backup.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { commitTo } from "./collection/planning/commit-to.ts";
import { readTokenOf } from "./collection/read-token.ts";
import { collectionStatistics, collectionUsage } from "./collection/collection-statistics.ts";
import { CollectionCalls } from "./collection/collection-calls.ts";
import { CollectionForker } from "./collection/collection-forker.ts";
import { createLog, requireUndivided } from "./collection/partitions/divided-logs.ts";
import { DeleteBehind } from "./collection/removal/delete-behind.ts";
import { discardCollections } from "./collection/removal/discard-collections.ts";
import {
  CollectionOpener,
  type OpeningContext,
  type QuarantinedStore,
} from "./collection/collection-opener.ts";
import { CatalogSize } from "./collection/logged/catalog-size.ts";
import { NO_DATABASE } from "./collection/logged/database-measure.ts";
import { CollectionPool } from "./collection/collection-pool.ts";
import { openLimits } from "./collection/open-limit.ts";
import { NO_QUOTAS, TenantBudgets } from "./collection/tenant-quotas.ts";
import { type EngineLog, describeError } from "./engine-log.ts";
import type {
  Activity,
  CollectionName,
  DatabaseRef,
  Engine,
  EngineOptions,
  EngineStatistics,
  KeyReplacement,
  ListBatch,
  ListPage,
  ResultBatch,
  StoredKey,
  ToDelete,
  TokenUsage,
} from "./engine.ts";
import type { SelectedRecords } from "./query/partitioned/read-partitions.ts";
import { startUpkeep } from "./engine-upkeep.ts";
import { type EngineWorkers, createWorkers } from "./engine-workers.ts";
import type { EngineParts, OpenOptions } from "./local-engine-options.ts";
import { openEngineParts } from "./open-engine-parts.ts";
import { DocumentMemory } from "./index/document-memory.ts";
import { IndexMemory } from "./storage/files/index-memory.ts";
import { HistoryMemory, historyBounds } from "./storage/version-history.ts";

export class LocalEngine implements Engine {
  readonly #parts: EngineParts;
  readonly #catalog: Catalog;
  readonly #catalogSize: CatalogSize;
  readonly #opener: CollectionOpener;
  readonly #pool: CollectionPool;
  readonly #forker: CollectionForker;
  readonly #upkeep: ReturnType<typeof startUpkeep>;
  readonly #deleteBehind: DeleteBehind;
  readonly #backups: BackupMaker;
  readonly #workers: EngineWorkers;
  readonly #budgets: TenantBudgets;
  readonly #calls: CollectionCalls;
  readonly #log: EngineLog;
  readonly #onClosed: () => void;

  private constructor(options: OpenOptions, parts: EngineParts) {
    [this.#parts, this.#catalog] = [parts, parts.catalog];
    this.#catalogSize = new CatalogSize(parts.catalog);
    ({ log: this.#log = () => {}, onClosed: this.#onClosed = () => {} } = options);
    this.#workers = createWorkers(options);
    const onLeft = (): void => this.#deleteBehind.start();
    const opener = (this.#opener = new CollectionOpener({
      ...parts,
      ...{ shareLimits: options.shareStores, onLeft, askRecords: options.askRecords ?? null },
      ...this.#workers,
      indexMemory: IndexMemory.within(options.indexMemory, options.unsealedMemory),
      historyMemory: new HistoryMemory(historyBounds(options.indexMemory)),
      documents: new DocumentMemory(options.indexMemory),
      listeners: options,
      index: options.index ?? {},
      log: this.#log,
      onProblem: this.#telling("work in the background of a collection failed, its requests go on"),
    }));
    // With a database the logs count.
    const quotas = (parts.logs === null && options.quotas) || NO_QUOTAS;
    const budgets = (this.#budgets = new TenantBudgets(quotas, {
      idsOf: (tenant) => this.#catalog.collectionIds(tenant),
      measure: opener.measure.bind(opener),
    }));
    const partition: OpeningContext["partition"] = (...asked) => this.#calls.partition(...asked);
    this.#pool = new CollectionPool({
      ...{ ...openLimits(options), memory: opener.indexMemory },
      open: (id, opening, dropped) => opener.open(id, { budgets, partition, ...opening }, dropped),
      log: this.#log,
      refusal: (error, id) => opener.damaged.refusal(error, id),
      onProblem: this.#telling("closing a collection failed"),
    });
    this.#calls = new CollectionCalls(parts.catalog, this.#pool);
    const onProblem = this.#telling("a fork makes its index of the records");
    const forked = { opener, pool: this.#pool, onProblem, onLeft };
    const forker = (this.#forker = new CollectionForker({ ...parts, ...forked }));
    this.#deleteBehind = new DeleteBehind({
      ...{ marks: parts.catalog.shares, stores: parts.shares },
      onProblem: this.#telling("what a collection has left in a shared environment could not be removed"),
    });
    this.#deleteBehind.start();
    const behind = { ...parts, pool: this.#pool, opener, forker, deleteBehind: this.#deleteBehind };
    const { diskReserve, lockFd, purgeAfterMs: afterMs = Infinity, shareStores: limits } = options;
    this.#backups = new BackupMaker({ ...behind, diskReserve, lockFd, log: this.#log });
    this.#upkeep = startUpkeep({
      ...{ ...behind, budgets, afterMs, limits, onCatalog: options.onCatalog },
      telling: this.#telling.bind(this),
    });
  }

  /** Without the lock: for the engine host, whose gateway holds it. */
  static async open(options: OpenOptions): Promise<LocalEngine> {
    return new LocalEngine(options, await openEngineParts(options));
  }

  createTenant(name: string, options?: EngineOptions): Promise<void> {
    return this.#catalog.createTenant(name, options?.signal);
  }

  async getTenant(name: string): Promise<Tenant> {
    return this.#catalog.tenant(name);
  }

  async listTenants(page: ListPage): Promise<ListBatch<Tenant>> {
    return this.#catalog.tenants(page);
  }

  updateTenant(name: string, resourceName: string, options?: EngineOptions): Promise<void> {
    return this.#catalog.updateTenant(name, resourceName, options?.signal);
  }

  async resolveTenant(resourceName: string): Promise<string | null> {
    return this.#catalog.tenantOfResource(resourceName);
  }

  async deleteTenant(name: string, options?: EngineOptions): Promise<void> {
    await this.#discard(await this.#catalog.deleteTenant(name, options?.signal));
  }

  createDatabase(ref: DatabaseRef, options?: EngineOptions): Promise<void> {
    return this.#catalog.createDatabase(ref, options?.signal);
  }

  async getDatabase(ref: DatabaseRef): Promise<Database> {
    return this.#catalog.database(ref);
  }

  async listDatabases(tenant: string, page: ListPage): Promise<ListBatch<Database>> {
    return this.#catalog.databases(tenant, page);
  }

  async deleteDatabase(ref: ToDelete<DatabaseRef>, options?: EngineOptions): Promise<void> {
    await this.#discard(await this.#catalog.deleteDatabase(ref, options?.signal));
  }

  async createCollection(request: CreateCollection, options?: EngineOptions): Promise<Collection> {
    throwIfAborted(options?.signal);
    requireUndivided(request.schema, this.#parts.logs !== null);
    const made = await this.#catalog.createCollection(request, options?.signal);
    if (partitionsOf(made.schema) > 1) await createLog(made, this.#parts);
    return made;
  }

  async getCollection(ref: CollectionRef): Promise<Collection> {
    // What another server has made of it is known to the catalog's store before it is to what was kept.
    return this.#parts.logs === null ? this.#catalog.collection(ref) : this.#catalog.newestCollection(ref);
  }

  async getCollectionByName(name: CollectionName): Promise<Collection> {
    return this.#catalog.collectionByName(name);
  }

  async listCollections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<Collection>> {
    return this.#catalog.collections(ref, page);
  }

  async countCollections(ref: DatabaseRef): Promise<number> {
    return this.#catalog.countCollections(ref);
  }

  collectionUsage(ref: DatabaseRef, page: ListPage): ReturnType<Engine["collectionUsage"]> {
    return collectionUsage(this.#catalog, this.#pool, ref, page);
  }

  updateCollection(ref: CollectionRef, change: UpdateCollection, options?: EngineOptions): Promise<void> {
    return this.#calls.update(ref, change, options?.signal);
  }

  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#catalog.rememberModels(ref, models);
  }

  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#catalog.acceptModels(ref, models);
  }

  async deleteCollection(name: ToDelete<CollectionName>, options?: EngineOptions): Promise<void> {
    await this.#discard([await this.#catalog.deleteCollection(name, options?.signal)]);
  }

  async listKeys(page: ListPage): Promise<ListBatch<StoredKey>> {
    return this.#catalog.keys.list(page);
  }

  findKeys(digests: readonly string[]): Promise<readonly (StoredKey | null)[]> {
    return this.#catalog.keys.findByDigests(digests);
  }

  createKey(key: StoredKey, options?: EngineOptions): Promise<void> {
    return this.#catalog.keys.create(key, options?.signal);
  }

  rotateKey(id: string, replacement: KeyReplacement, options?: EngineOptions): Promise<StoredKey> {
    return this.#catalog.keys.rotate(id, replacement, options?.signal);
  }

  deleteKey(id: string, options?: EngineOptions): Promise<void> {
    return this.#catalog.keys.delete(id, options?.signal);
  }

  recordActivity(activity: Activity): Promise<void> {
    return this.#catalog.keys.record(activity);
  }

  async statistics(): Promise<EngineStatistics> {
    return {
      ...(await collectionStatistics(this.#parts.folder, this.#catalogSize, this.#pool, this.#opener)),
      ...(this.#parts.archive?.measure ?? NO_ARCHIVE),
      ...(this.#parts.others?.measure() ?? NO_DATABASE),
      ...this.#calls.measure(),
      waitingRegexRequests: this.#workers.regexPool.waiting,
      endedRegexThreads: this.#workers.regexPool.endedThreads,
    };
  }

  async listTokenUsage(): Promise<readonly TokenUsage[]> {
    return this.#catalog.keys.tokenUsage();
  }

  makeBackup(request: BackupRequest, options?: EngineOptions): Promise<MadeBackup> {
    return this.#backups.make(request, options?.signal);
  }

  async backupProgress(): Promise<BackupMaker["progress"]> {
    return this.#backups.progress;
  }

  async reset(options?: EngineOptions): Promise<void> {
    await this.#discard(await this.#catalog.reset(options?.signal));
  }

  async forkCollection(ref: CollectionRef, newName: string, options?: EngineOptions): Promise<Collection> {
    const source = await this.#catalog.collection(ref);
    return this.#budgets.fork(source, () => this.#forker.fork(ref, newName, options?.signal));
  }

  async forkCount(ref: CollectionRef): Promise<number> {
    return this.#catalog.forkCount(ref);
  }

  readToken(ref: CollectionRef): Promise<ReadToken> {
    return this.#calls.use(ref, undefined, (opened) => readTokenOf(opened, ref, this.#catalog));
  }

  commit(ref: CollectionRef, request: CommitRequest, options?: EngineOptions): Promise<CommitResult> {
    return this.#calls.use(ref, options, (collection, signal) =>
      commitTo(collection, ref, request, { catalog: this.#catalog, signal }),
    );
  }

  write(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<void> {
    return this.#calls.use(ref, options, (opened, signal) => opened.write(request, signal), "records");
  }

  writeAsGiven(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<boolean> {
    return this.#calls.writeAsGiven(ref, request, options);
  }

  delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number> {
    return this.#calls.use(ref, options, (opened, signal, times) => opened.delete(request, signal, times));
  }

  get(ref: CollectionRef, request: GetRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.#calls.read(ref, options, (reads, signal, times) => reads.get(request, signal, times));
  }

  query(ref: CollectionRef, request: QueryRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.#calls.read(ref, options, (reads, signal, times) => reads.query(request, signal, times));
  }

  search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.#calls.read(ref, options, (reads, signal, times) => reads.search(request, signal, times));
  }

  nextBatch(ref: CollectionRef, cursor: number, options?: EngineOptions): Promise<ResultBatch> {
    return this.#calls.use(ref, options, (_collection, signal, times) =>
      times.measure("select", () => this.#calls.open.next(ref.id, cursor, signal)),
    );
  }

  async closeRead(cursor: number): Promise<void> {
    this.#calls.open.close(cursor);
  }

  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number> {
    return this.#calls.use(ref, options, ({ reads }, signal, times) => reads.count(selector, signal, times));
  }

  facets(ref: CollectionRef, request: FacetsRequest, options?: EngineOptions): Promise<readonly Facet[]> {
    return this.#calls.use(ref, options, ({ reads }, signal, times) => reads.facets(request, signal, times));
  }

  readonly indexingStatus: Engine["indexingStatus"] = (ref) => this.#calls.indexingStatus(ref);
  readonly beginPartition: Engine["beginPartition"] = (...asked) => this.#calls.openPartition(...asked);
  readonly askPartition: Engine["askPartition"] = (...asked) => this.#calls.askPartition(...asked);
  readonly recordsOf: Engine["recordsOf"] = (...asked) => this.#calls.recordsOf(...asked);

  deleteSelected(
    ref: CollectionRef,
    selected: SelectedRecords,
    options?: EngineOptions,
  ): Promise<number | null> {
    return this.#calls.use(ref, options, (collection, signal) => collection.deleteSelected(selected, signal));
  }

  /** Collections with writes since their last checkpoint, before a crash or now. */
  async dirtyCollections(): Promise<readonly string[]> {
    return this.#catalog.checkpoints.dirtyCollections();
  }

  /** These must not be opened, whatever asks for it; what is no longer among them counts for its tenant again. */
  async setQuarantined(stores: readonly QuarantinedStore[]): Promise<void> {
    for (const id of this.#opener.setQuarantined(stores)) await this.#budgets.measureAgain(id);
  }

  /** Opens a collection, which makes the missing checkpoint. A damaged one is reported, not thrown; one that was removed meanwhile is neither. */
  async revive(id: string): Promise<void> {
    try {
      await this.#pool.open(id);
    } catch (error) {
      if (!(await this.#catalog.hasCollection(id)) || this.#opener.damaged.hear(error, id)) return;
      this.#telling("opening a collection after a restart failed")(error, id);
    }
  }

  /** After the calls under way. */
  async close(): Promise<void> {
    await Promise.all([this.#backups, this.#upkeep, this.#deleteBehind].map((work) => work.close()));
    await this.#forker.close();
    await this.#pool.close();
    await this.#parts.close();
    await Promise.all(Object.values(this.#workers).map((pool) => pool.close()));
    this.#onClosed();
  }

  #discard(ids: readonly string[]): Promise<void> {
    return discardCollections(ids, {
      ...this.#parts,
      ...{ pool: this.#pool, budgets: this.#budgets, opener: this.#opener },
      deleteBehind: this.#deleteBehind,
      onProblem: this.#telling("removing the files of a dropped collection failed"),
    });
  }

  #telling(message: string): (error: unknown, collection?: string) => void {
    return (error, collection) =>
      this.#log({ level: "error", message, error: describeError(error), ...(collection && { collection }) });
  }
}
