/**
 * The engine as its gateway sees it: a proxy to the engine host, which is started again when it dies. Calls that a
 * death leaves unanswered, and calls until the next host serves, are 503 with Retry-After.
 */
import { ChildSupervisor, siblingModule } from "@sheaf/process";
import {
  type Collection,
  type CollectionRef,
  type CommitRequest,
  type CommitResult,
  type CreateCollection,
  type Database,
  type DeleteRequest,
  type GetRequest,
  type QueryRequest,
  type ReadToken,
  type ResultRecord,
  type SearchRequest,
  type Selector,
  SheafError,
  type Tenant,
  type UpdateCollection,
  type WriteRequest,
} from "@sheaf/protocol";
import { NO_QUOTAS, type TenantQuotas } from "../collection/tenant-quotas.ts";
import { type EngineLog, type EngineLogEntry, describeError } from "../engine-log.ts";
import type {
  Activity,
  CollectionName,
  DatabaseRef,
  Engine,
  EngineOptions,
  EngineStatistics,
  GetPage,
  IndexingStatus,
  KeyReplacement,
  Page,
  StoredKey,
  TokenUsage,
} from "../engine.ts";
import type { LocalEngine } from "../local-engine.ts";
import { DataFolder } from "../storage/data-folder.ts";
import { prepareDataFormat } from "../storage/data-format.ts";
import { CrashBlame } from "./crash-blame.ts";
import { type DataLock, acquireDataLock } from "./data-lock.ts";
import type { HostArguments, HostMethod } from "./host-protocol.ts";

export interface HostedEngineOptions {
  readonly dataFolder: string;
  readonly log?: EngineLog;
  /** Called at every unexpected end of the engine host. */
  readonly onHostDeath?: () => void;
  /** What each tenant may keep; by default anything. */
  readonly quotas?: TenantQuotas;
}

/** Takes the data folder's lock, starts the engine host and resolves when it serves. */
export async function createHostedEngine(options: HostedEngineOptions): Promise<HostedEngine> {
  const folder = new DataFolder(options.dataFolder);
  const lock = await acquireDataLock(folder.lockFile);
  try {
    prepareDataFormat(folder);
  } catch (error) {
    await lock.release();
    throw error;
  }
  const engine = new HostedEngine(options, lock);
  await engine.start();
  return engine;
}

export class HostedEngine implements Engine {
  readonly #supervisor: ChildSupervisor;
  readonly #lock: DataLock;
  readonly #log: EngineLog;
  readonly #onHostDeath: () => void;
  readonly #blame = new CrashBlame();
  #failure: string | null = null;

  constructor(options: HostedEngineOptions, lock: DataLock) {
    const { dataFolder, quotas = NO_QUOTAS, log = () => {}, onHostDeath = () => {} } = options;
    this.#lock = lock;
    this.#log = log;
    this.#onHostDeath = onHostDeath;
    const hostArguments: HostArguments = { dataFolder, lockToken: lock.token, quotas };
    this.#supervisor = new ChildSupervisor({
      name: "engine host",
      module: siblingModule(import.meta.url, "./engine-host"),
      spawnOptions: () => ({ args: [JSON.stringify(hostArguments)] }),
      onEvent: (name, value) => this.#onEvent(name, value),
      onDeath: ({ code, signal }) => this.#onDeath(code, signal),
    });
  }

  /** Process id of the newest host, dead or alive; `undefined` before the first. */
  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  /** Whether calls are answered now. */
  get ready(): boolean {
    return this.#supervisor.ready;
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

  listTenants(): Promise<readonly Tenant[]> {
    return this.#call("listTenants", []);
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

  listDatabases(tenant: string, page: Page): Promise<readonly Database[]> {
    return this.#call("listDatabases", [tenant, page]);
  }

  deleteDatabase(ref: DatabaseRef): Promise<void> {
    return this.#call("deleteDatabase", [ref]);
  }

  createCollection(request: CreateCollection): Promise<Collection> {
    return this.#call("createCollection", [request]);
  }

  getCollection(ref: CollectionRef): Promise<Collection> {
    return this.#call("getCollection", [ref]);
  }

  getCollectionByName(name: CollectionName): Promise<Collection> {
    return this.#call("getCollectionByName", [name]);
  }

  listCollections(ref: DatabaseRef, page: Page): Promise<readonly Collection[]> {
    return this.#call("listCollections", [ref, page]);
  }

  countCollections(ref: DatabaseRef): Promise<number> {
    return this.#call("countCollections", [ref]);
  }

  updateCollection(ref: CollectionRef, change: UpdateCollection): Promise<void> {
    return this.#call("updateCollection", [ref, change]);
  }

  deleteCollection(name: CollectionName): Promise<void> {
    return this.#call("deleteCollection", [name]);
  }

  listKeys(): Promise<readonly StoredKey[]> {
    return this.#call("listKeys", []);
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

  get(
    ref: CollectionRef,
    request: GetRequest,
    cursor: number | null,
    options?: EngineOptions,
  ): Promise<GetPage> {
    return this.#onCollection("get", ref, [request, cursor], options);
  }

  query(
    ref: CollectionRef,
    request: QueryRequest,
    options?: EngineOptions,
  ): Promise<readonly (readonly ResultRecord[])[]> {
    return this.#onCollection("query", ref, [request], options);
  }

  search(
    ref: CollectionRef,
    request: SearchRequest,
    options?: EngineOptions,
  ): Promise<readonly (readonly ResultRecord[])[]> {
    return this.#onCollection("search", ref, [request], options);
  }

  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number> {
    return this.#onCollection("count", ref, [selector], options);
  }

  indexingStatus(ref: CollectionRef): Promise<IndexingStatus> {
    return this.#onCollection("indexingStatus", ref, []);
  }

  /** Ends the host, then gives the data folder back. */
  async close(): Promise<void> {
    await this.#supervisor.close();
    await this.#lock.release();
  }

  #call<M extends HostMethod>(
    method: M,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<LocalEngine[M]> {
    return this.#supervisor.call(method, args, options) as ReturnType<LocalEngine[M]>;
  }

  /** A call that opens the collection, and is to blame if the host does not survive it. */
  #onCollection<M extends HostMethod>(
    method: M,
    ref: CollectionRef,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<LocalEngine[M]> {
    const call = (): Promise<unknown> => this.#supervisor.call(method, [ref, ...args], options);
    return this.#blame.run(ref.id, options.signal, call) as ReturnType<LocalEngine[M]>;
  }

  #onEvent(name: string, value: unknown): void {
    if (name === "log") this.#log(value as EngineLogEntry);
    else if (name === "failed") this.#failure = value as string;
    else if (name === "ready") {
      this.#failure = null;
      // Reported in there; nobody waits for it.
      void this.#revive();
    }
  }

  #onDeath(code: number | null, signal: NodeJS.Signals | null): void {
    this.#onHostDeath();
    this.#log({ level: "error", message: `the engine host ended with ${signal ?? `code ${code}`}` });
    for (const collection of this.#blame.died(signal)) {
      this.#log({ level: "error", message: "crashed the engine twice and is quarantined", collection });
    }
  }

  /** Opens what a death left behind, one by one: suspects first, then collections with writes to fold. */
  async #revive(): Promise<void> {
    try {
      const unfolded = await this.#call("unfoldedCollections", []);
      for (const id of new Set([...this.#blame.suspects, ...unfolded])) await this.#reviveOne(id);
    } catch (error) {
      // The next host begins again.
      this.#log({
        level: "warn",
        message: "reviving collections was cut short",
        error: describeError(error),
      });
    }
  }

  async #reviveOne(id: string): Promise<void> {
    try {
      await this.#blame.run(id, undefined, () => this.#call("revive", [id]));
    } catch (error) {
      if (!this.#supervisor.ready) throw error;
      this.#log({ level: "warn", message: "reviving failed", collection: id, error: describeError(error) });
    }
  }
}
