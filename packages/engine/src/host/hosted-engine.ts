/**
 * The engine as its gateway sees it: a proxy to the engine host, which is started again when it dies. Calls that a
 * death leaves unanswered, and calls until the next host serves, are 503 with Retry-After.
 */
import { availableParallelism } from "node:os";
import { type CallOptions, type ChildDeath, ChildSupervisor, siblingModule } from "@sheaf/process";
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
  SheafError,
  type Tenant,
  type UpdateCollection,
  type WriteRequest,
} from "@sheaf/protocol";
import type { BackupProgress, BackupRequest, MadeBackup } from "../backup/make-backup.ts";
import type { CatalogReport } from "../catalog/catalog-watch.ts";
import type { EngineLog, EngineLogEntry } from "../engine-log.ts";
import type {
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
  TokenUsage,
} from "../engine.ts";
import type { LocalEngine } from "../local-engine.ts";
import { hasSeveralLeaves } from "../query/rank/leaves.ts";
import { cannotStart } from "./caller-errors.ts";
import type { DataLock } from "./data-lock.ts";
import { endCause, endedAtStart } from "./end-cause.ts";
import { hostStart } from "./host-arguments.ts";
import { HOST_PROCESS } from "./host-process.ts";
import type { DamageEvent, HostMethod, TouchEvent } from "./host-protocol.ts";
import { HostRecovery, type RecoveringHost } from "./host-recovery.ts";
import type { HostedEngineOptions } from "./hosted-engine-options.ts";

/** More than the longest work in one piece: going through the file of a large collection on a slow disk. */
const HANG_AFTER_MS = 120_000;

const CORES = availableParallelism();

export class HostedEngine implements Engine {
  readonly #supervisor: ChildSupervisor;
  readonly #lock: DataLock;
  readonly #log: EngineLog;
  readonly #onHostDeath: () => void;
  readonly #onCatalog: (report: CatalogReport) => void;
  readonly #recovery: HostRecovery;
  /** Why the newest host could not start; `null`: it could. */
  #failure: string | null = null;
  /** The newest host has come so far that it serves. */
  #served = false;
  /** Crashes of hosts that had not come so far, one after the other. */
  #crashesAtStart = 0;
  /** How many of them say something of the catalog: one at the first start, two once a host has opened it. */
  #crashesThatTell = 1;
  /** The newest host is being killed because it hangs. */
  #hung = false;

  constructor(options: HostedEngineOptions, lock: DataLock) {
    const { dataFolder, log = () => {}, onHostDeath = () => {} } = options;
    this.#lock = lock;
    this.#log = log;
    this.#onHostDeath = onHostDeath;
    this.#onCatalog = options.onCatalog ?? (() => {});
    const { settings, env } = hostStart(options, lock.token);
    const spawnOptions = { ...HOST_PROCESS, env, stderr: "pipe", inherited: [lock.fd] } as const;
    const text = (): string => JSON.stringify({ ...settings, damaged: this.#recovery.damaged });
    this.#supervisor = new ChildSupervisor({
      name: "engine host",
      module: siblingModule(import.meta.url, "./engine-host"),
      spawnOptions: () => ({ ...spawnOptions, args: [text()] }),
      onEvent: (name, value) => this.#onEvent(name, value),
      onUnclaimed: (value) => this.#closeUnclaimed(value),
      onDeath: (death) => this.#onDeath(death),
      hangAfterMs: options.hangAfterMs ?? HANG_AFTER_MS,
      onHang: () => {
        this.#hung = true;
        log({ level: "error", message: "the engine host hangs and is killed" });
      },
    });
    this.#recovery = new HostRecovery({ dataFolder, log, host: this.#asRecovering() });
  }

  /** Process id of the newest host, dead or alive; `undefined` before the first. */
  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  /** Whether calls are answered now. */
  get ready(): boolean {
    return this.#supervisor.ready;
  }

  /** As `ready`, and the host has given a sign of life within the last seconds. */
  get responsive(): boolean {
    return this.#supervisor.responsive;
  }

  /** Resolves when the first host serves; if it cannot start, everything is given back and the reason thrown. */
  async start(): Promise<void> {
    try {
      await this.#supervisor.start();
    } catch (error) {
      await this.close();
      if (this.#failure === null) throw error;
      throw new SheafError("failed_precondition", this.#failure, { cause: error });
    }
  }

  createTenant(name: string): Promise<void> {
    return this.#call("createTenant", [name]);
  }

  getTenant(name: string): Promise<Tenant> {
    return this.#call("getTenant", [name]);
  }

  listTenants(page: ListPage): Promise<ListBatch<Tenant>> {
    return this.#call("listTenants", [page]);
  }

  updateTenant(name: string, resourceName: string): Promise<void> {
    return this.#call("updateTenant", [name, resourceName]);
  }

  resolveTenant(resourceName: string): Promise<string | null> {
    return this.#call("resolveTenant", [resourceName]);
  }

  deleteTenant(name: string): Promise<void> {
    return this.#call("deleteTenant", [name]);
  }

  createDatabase(ref: DatabaseRef): Promise<void> {
    return this.#call("createDatabase", [ref]);
  }

  getDatabase(ref: DatabaseRef): Promise<Database> {
    return this.#call("getDatabase", [ref]);
  }

  listDatabases(tenant: string, page: ListPage): Promise<ListBatch<Database>> {
    return this.#call("listDatabases", [tenant, page]);
  }

  deleteDatabase(ref: DatabaseRef): Promise<void> {
    return this.#call("deleteDatabase", [ref]);
  }

  createCollection(request: CreateCollection, options?: EngineOptions): Promise<Collection> {
    return this.#call("createCollection", [request], options);
  }

  getCollection(ref: CollectionRef): Promise<Collection> {
    return this.#call("getCollection", [ref]);
  }

  getCollectionByName(name: CollectionName): Promise<Collection> {
    return this.#call("getCollectionByName", [name]);
  }

  listCollections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<Collection>> {
    return this.#call("listCollections", [ref, page]);
  }

  countCollections(ref: DatabaseRef): Promise<number> {
    return this.#call("countCollections", [ref]);
  }

  collectionUsage(ref: DatabaseRef, page: ListPage): ReturnType<Engine["collectionUsage"]> {
    return this.#call("collectionUsage", [ref, page]);
  }

  updateCollection(ref: CollectionRef, change: UpdateCollection): Promise<void> {
    return this.#call("updateCollection", [ref, change]);
  }

  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#call("rememberModels", [ref, models]);
  }

  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels> {
    return this.#call("acceptModels", [ref, models]);
  }

  deleteCollection(name: CollectionName): Promise<void> {
    return this.#call("deleteCollection", [name]);
  }

  listKeys(page: ListPage): Promise<ListBatch<StoredKey>> {
    return this.#call("listKeys", [page]);
  }

  findKeys(digests: readonly string[]): Promise<readonly (StoredKey | null)[]> {
    return this.#call("findKeys", [digests]);
  }

  createKey(key: StoredKey): Promise<void> {
    return this.#call("createKey", [key]);
  }

  rotateKey(id: string, replacement: KeyReplacement): Promise<StoredKey> {
    return this.#call("rotateKey", [id, replacement]);
  }

  deleteKey(id: string): Promise<void> {
    return this.#call("deleteKey", [id]);
  }

  recordActivity(activity: Activity): Promise<void> {
    return this.#call("recordActivity", [activity]);
  }

  listTokenUsage(): Promise<readonly TokenUsage[]> {
    return this.#call("listTokenUsage", []);
  }

  statistics(): Promise<EngineStatistics> {
    return this.#call("statistics", []);
  }

  makeBackup(request: BackupRequest, options?: EngineOptions): Promise<MadeBackup> {
    return this.#call("makeBackup", [request], options);
  }

  backupProgress(): Promise<BackupProgress | null> {
    return this.#call("backupProgress", []);
  }

  reset(): Promise<void> {
    return this.#call("reset", []);
  }

  forkCollection(ref: CollectionRef, newName: string, options?: EngineOptions): Promise<Collection> {
    return this.#onCollection("forkCollection", ref, [newName], options);
  }

  forkCount(ref: CollectionRef): Promise<number> {
    return this.#call("forkCount", [ref]);
  }

  readToken(ref: CollectionRef): Promise<ReadToken> {
    return this.#onCollection("readToken", ref, []);
  }

  commit(ref: CollectionRef, request: CommitRequest, options?: EngineOptions): Promise<CommitResult> {
    return this.#onCollection("commit", ref, [request], options);
  }

  write(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<void> {
    return this.#onCollection("write", ref, [request], options);
  }

  delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number> {
    return this.#onCollection("delete", ref, [request], options);
  }

  get(ref: CollectionRef, request: GetRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.#onCollection("get", ref, [request], options);
  }

  query(ref: CollectionRef, request: QueryRequest, options?: EngineOptions): Promise<ResultBatch> {
    return this.#onCollection("query", ref, [request], options);
  }

  search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch> {
    const takesCores = CORES < 3 && request.searches.some(hasSeveralLeaves);
    return this.#onCollection("search", ref, [request], { ...options, takesCores });
  }

  nextBatch(ref: CollectionRef, cursor: number, options?: EngineOptions): Promise<ResultBatch> {
    return this.#onCollection("nextBatch", ref, [cursor], options);
  }

  closeRead(cursor: number): Promise<void> {
    return this.#call("closeRead", [cursor]);
  }

  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number> {
    return this.#onCollection("count", ref, [selector], options);
  }

  facets(ref: CollectionRef, request: FacetsRequest, options?: EngineOptions): Promise<readonly Facet[]> {
    return this.#onCollection("facets", ref, [request], options);
  }

  indexingStatus(ref: CollectionRef): Promise<IndexingStatus> {
    return this.#onCollection("indexingStatus", ref, []);
  }

  /** As `ChildSupervisor.expectCall`: the host waits awake for the next call, and the gateway for its answer. */
  expectCall(): void {
    this.#supervisor.expectCall();
  }

  /** Ends the host, then gives the data folder back. */
  async close(): Promise<void> {
    await Promise.all([this.#supervisor.close(), this.#recovery.close()]);
    this.#lock.release();
  }

  #call<M extends HostMethod>(
    method: M,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<LocalEngine[M]> {
    return this.#toHost(method, args, options) as ReturnType<LocalEngine[M]>;
  }

  /** A call that opens the collection. */
  #onCollection<M extends HostMethod>(
    method: M,
    ref: CollectionRef,
    args: readonly unknown[],
    options: CallOptions = {},
  ): ReturnType<LocalEngine[M]> {
    const call = (): Promise<unknown> => this.#toHost(method, [ref, ...args], options);
    return this.#recovery.run(ref, options.signal, call) as ReturnType<LocalEngine[M]>;
  }

  /** Where no host can start, to be told to come back is of no use. */
  #toHost(method: HostMethod, args: readonly unknown[], options: CallOptions): Promise<unknown> {
    const cannot = !this.#supervisor.ready && this.#failure !== null;
    return cannot ? Promise.reject(cannotStart()) : this.#supervisor.call(method, args, options);
  }

  /** Whoever left before it had the cursor of its read cannot close it. */
  #closeUnclaimed(value: unknown): void {
    const { cursor } = (value ?? {}) as Partial<ResultBatch>;
    // A host that has ended has no reads.
    if (typeof cursor === "number") this.closeRead(cursor).catch(() => undefined);
  }

  #onEvent(name: string, value: unknown): void {
    if (name === "log") this.#log(value as EngineLogEntry);
    else if (name === "failed") this.#failure = value as string;
    else if (name === "catalog") this.#onCatalog(value as CatalogReport);
    else if (name === "damage") this.#recovery.hearDamage(value as DamageEvent);
    else if (name === "touch") {
      this.#recovery.touch((value as TouchEvent).collection, (value as TouchEvent).touching);
    } else if (name === "ready") {
      this.#failure = null;
      this.#served = true;
      this.#crashesAtStart = 0;
      this.#crashesThatTell = 2;
      // Reported in there; nobody waits for it.
      void this.#recovery.hostReady();
    }
  }

  #onDeath(death: ChildDeath): void {
    this.#onHostDeath();
    const cause = endCause(death, this.#hung);
    if (!this.#served && (cause === "crash" || cause === "out of memory")) {
      this.#crashesAtStart += 1;
      if (this.#crashesAtStart >= this.#crashesThatTell && this.#failure === null) {
        this.#failure = endedAtStart(death.signal, cause);
        this.#log({ level: "error", message: this.#failure });
      }
    }
    this.#served = false;
    this.#recovery.hostEnded(death, this.#hung);
    this.#hung = false;
  }

  #asRecovering(): RecoveringHost {
    const isReady = (): boolean => this.#supervisor.ready;
    return {
      get ready() {
        return isReady();
      },
      setQuarantined: (collections) => this.#call("setQuarantined", [collections]),
      dirtyCollections: () => this.#call("dirtyCollections", []),
      revive: (id) => this.#call("revive", [id]),
    };
  }
}
