/**
 * The engine as its gateway sees it: a proxy to the engine host, which is started again when it dies. Calls that a
 * death leaves unanswered, and calls until the next host serves, are 503 with Retry-After.
 */
import { availableParallelism } from "node:os";
import { type CallOptions, type ChildDeath, ChildSupervisor, siblingModule } from "@sheaf/process";
import { type CollectionRef, type ErrorMessage, type SearchRequest, SheafError } from "@sheaf/protocol";
import type { CatalogReport } from "../catalog/catalog-watch.ts";
import type { EngineLog, EngineLogEntry } from "../engine-log.ts";
import type { Engine, EngineOptions, ResultBatch } from "../engine.ts";
import type { LocalEngine } from "../local-engine.ts";
import { hasSeveralLeaves } from "../query/rank/leaves.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { PlacedFile } from "../storage/folder/placed-file.ts";
import { cannotStart } from "./caller-errors.ts";
import type { DataLock } from "./data-lock.ts";
import { endCause, endedAtStart } from "./end-cause.ts";
import { type EngineMethod, EngineProxy } from "./engine-proxy.ts";
import { hostStart } from "./host-arguments.ts";
import { HOST_PROCESS } from "./host-process.ts";
import type { DamageEvent, HostMethod, TouchEvent } from "./host-protocol.ts";
import { HostRecovery, type RecoveringHost } from "./host-recovery.ts";
import type { HostedEngineOptions } from "./hosted-engine-options.ts";

/** More than the longest work in one piece: going through the file of a large collection on a slow disk. */
const HANG_AFTER_MS = 120_000;

const CORES = availableParallelism();

export class HostedEngine extends EngineProxy {
  readonly relays = true;
  #callersWait: () => Promise<unknown> | undefined = () => undefined;
  readonly #supervisor: ChildSupervisor;
  readonly #dataFolder: DataFolder;
  readonly #lock: DataLock;
  /** Open in the host; `null`: it is not open yet, or elsewhere. */
  #catalog: PlacedFile | null = null;
  readonly #log: EngineLog;
  readonly #onHostDeath: () => void;
  readonly #onCatalog: (report: CatalogReport) => void;
  readonly #recovery: HostRecovery;
  /** Why the newest host could not start; `null`: it could. */
  #failure: ErrorMessage | null = null;
  /** The newest host has come so far that it serves. */
  #served = false;
  /** Crashes of hosts that had not come so far, one after the other. */
  #crashesAtStart = 0;
  /** How many of them say something of the catalog: one at the first start, two once a host has opened it. */
  #crashesThatTell = 1;
  /** The newest host is being killed because it hangs. */
  #hung = false;

  constructor(options: HostedEngineOptions, lock: DataLock) {
    super();
    const { dataFolder, log = () => {}, onHostDeath = () => {} } = options;
    this.#dataFolder = new DataFolder(dataFolder);
    this.#lock = lock;
    this.#log = log;
    this.#onHostDeath = onHostDeath;
    this.#onCatalog = options.onCatalog ?? (() => {});
    const { settings, env } = hostStart(options, lock.token);
    const spawnOptions = { ...HOST_PROCESS, env, stderr: "pipe", inherited: [lock.fd] } as const;
    const text = (): string => {
      const { damaged, quarantined } = this.#recovery;
      return JSON.stringify({ ...settings, damaged, quarantined });
    };
    this.#supervisor = new ChildSupervisor({
      name: "engine host",
      module: siblingModule(import.meta.url, "./engine-host"),
      spawnOptions: () => ({ ...spawnOptions, args: [text()] }),
      onEvent: (name, value) => this.#onEvent(name, value),
      onUnclaimed: (value) => this.#closeUnclaimed(value),
      beforeSign: () => this.#callersWait(),
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

  /** Whose calls it hands on, as `PeerService` has it: the host hears of them before it goes on after a standstill. */
  heed(callersWait: () => Promise<unknown> | undefined): void {
    this.#callersWait = callersWait;
  }

  /** Resolves when the first host serves; if it cannot start, everything is given back and the reason thrown. */
  async start(): Promise<void> {
    try {
      await this.#supervisor.start();
      if (this.#dataFolder.hasCatalog)
        this.#catalog = new PlacedFile(this.#dataFolder.catalogFile, "the catalog");
    } catch (error) {
      await this.close();
      if (this.#failure === null) throw error;
      const { code, message } = this.#failure;
      // What is wrong with a setting is told apart.
      throw new SheafError(code === "invalid_argument" ? code : "failed_precondition", message, {
        cause: error,
      });
    }
  }

  override search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch> {
    const takesCores = CORES < 3 && request.searches.some(hasSeveralLeaves);
    return this.onCollection("search", ref, [request], { ...options, takesCores });
  }

  /** As `ChildSupervisor.expectCall`: the host waits awake for the next call, and the gateway for its answer. */
  expectCall(kind: string): void {
    this.#supervisor.expectCall(kind);
  }

  /** Whether the data folder is still where it was; also where just its lock file was removed. May throw where nobody can tell. */
  get hasFolder(): boolean {
    return this.#lock.isInPlace() || this.#catalog?.isInPlace === true;
  }

  /** Ends the host, then gives the data folder back. */
  async close(): Promise<void> {
    const closed = Promise.all([this.#supervisor.close(), this.#recovery.close()]);
    // What it wrote on its way out would make a folder where the lost one was, or go into another one.
    if (this.#hasLostFolder()) this.#supervisor.kill();
    await closed;
    this.#lock.release();
  }

  #hasLostFolder(): boolean {
    try {
      return !this.hasFolder;
    } catch {
      return false;
    }
  }

  protected call<M extends EngineMethod>(
    method: M,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<Engine[M]> {
    return this.#toHost(method, args, options) as ReturnType<Engine[M]>;
  }

  protected onCollection<M extends EngineMethod>(
    method: M,
    ref: CollectionRef,
    args: readonly unknown[],
    options: CallOptions = {},
  ): ReturnType<Engine[M]> {
    const call = (): Promise<unknown> => this.#toHost(method, [ref, ...args], options);
    return this.#recovery.run(ref, options.signal, call) as ReturnType<Engine[M]>;
  }

  /** Where no host can start, to be told to come back is of no use; a database that is away comes back. */
  #toHost(method: HostMethod, args: readonly unknown[], options: CallOptions): Promise<unknown> {
    const cannot = !this.#supervisor.ready && this.#failure !== null && this.#failure.code !== "unavailable";
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
    else if (name === "failed") this.#failure = value as ErrorMessage;
    else if (name === "catalog") this.#onCatalog(value as CatalogReport);
    else if (name === "damage") this.#recovery.hearDamage(value as DamageEvent);
    else if (name === "touch") {
      this.#recovery.touch((value as TouchEvent).store, (value as TouchEvent).touching);
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
        const message = endedAtStart(death.signal, cause);
        this.#failure = { code: "internal", message };
        this.#log({ level: "error", message });
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
      setQuarantined: (collections) => this.#own("setQuarantined", [collections]),
      dirtyCollections: () => this.#own("dirtyCollections", []),
      revive: (id) => this.#own("revive", [id]),
      find: (ref) => this.getCollection(ref),
    };
  }

  /** What the host has beside the engine's methods. */
  #own<M extends HostMethod>(method: M, args: readonly unknown[]): ReturnType<LocalEngine[M]> {
    return this.#toHost(method, args, {}) as ReturnType<LocalEngine[M]>;
  }
}
