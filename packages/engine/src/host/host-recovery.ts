/**
 * What the gateway does about an engine host that ends: it finds out which tenant the end is attributed to and which
 * stores are damaged, and opens again what the host left behind. Every call that opens a collection goes through
 * `run`, so that it is known what was in flight (decision 9).
 */
import type { ChildDeath } from "@sheaf/process";
import { type CancelSignal, type CollectionRef, SheafError } from "@sheaf/protocol";
import type { QuarantinedStore } from "../collection/collection-opener.ts";
import { type EngineLog, describeError } from "../engine-log.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { isSharedName, sharedName } from "../storage/folder/shared-names.ts";
import { type CallInFlight, CallsInFlight } from "./calls-in-flight.ts";
import { CrashAttribution } from "./crash-attribution.ts";
import type { DamageEvent } from "./host-protocol.ts";
import { endCause } from "./end-cause.ts";
import { Quarantine } from "./quarantine.ts";
import { StoreChecker } from "./store-checker.ts";

const MAX_DAMAGED = 1_000;
const MAX_QUARANTINED = 100;

/** What a recovery asks of the host that runs now. */
export interface RecoveringHost {
  readonly ready: boolean;
  setQuarantined(stores: readonly QuarantinedStore[]): Promise<void>;
  dirtyCollections(): Promise<readonly string[]>;
  /** Opens the collection, which makes the missing checkpoint. */
  revive(id: string): Promise<void>;
  /** Throws 404 where the catalog does not know it. */
  find(ref: CollectionRef): Promise<unknown>;
}

export interface HostRecoveryOptions {
  readonly dataFolder: string;
  readonly log: EngineLog;
  readonly host: RecoveringHost;
}

export class HostRecovery {
  readonly #folder: DataFolder;
  readonly #log: EngineLog;
  readonly #host: RecoveringHost;
  readonly #calls = new CallsInFlight();
  readonly #attribution = new CrashAttribution();
  readonly #checker: StoreChecker;
  readonly #quarantine: Quarantine;
  /** Collections whose opening was under way when a host ended by itself; the next call on one opens it again. */
  readonly #endedWhileReviving = new Set<string>();
  #reviving: string | null = null;
  readonly #damaged = new Set<string>();

  constructor({ dataFolder, log, host }: HostRecoveryOptions) {
    this.#folder = new DataFolder(dataFolder);
    this.#log = log;
    this.#host = host;
    this.#checker = new StoreChecker(dataFolder, log);
    this.#quarantine = new Quarantine({
      storeOf: (id) => this.#storeOf(id),
      check: (store) => this.#checker.check(store),
      onVerdict: (store, reason, before) => this.#hearVerdict(store, reason, before),
    });
  }

  /** Collections that hosts found damaged, and not whole since; at most as many as the next host's arguments hold. */
  get damaged(): readonly string[] {
    return [...this.#damaged].slice(0, MAX_DAMAGED);
  }

  /** What the next host must not open; at most as much as its arguments hold, and it hears of the rest once it is ready. */
  get quarantined(): readonly QuarantinedStore[] {
    return this.#kept.slice(0, MAX_QUARANTINED);
  }

  /** Calls of a collection that is checked wait here; what a host does by itself in a shared file does not. */
  get #kept(): readonly QuarantinedStore[] {
    return this.#quarantine.kept.filter(({ store, reason }) => reason !== null || isSharedName(store));
  }

  hearDamage({ collection, isDamaged }: DamageEvent): void {
    if (isDamaged) this.#damaged.add(collection);
    else this.#damaged.delete(collection);
  }

  /** Runs a call that opens the collection; one that is kept from the host is refused. */
  run<T>(ref: CollectionRef, signal: CancelSignal | undefined, call: () => Promise<T>): Promise<T> {
    const refusal = this.#attribution.refusal(ref.tenant);
    if (refusal !== null) return Promise.reject(refusal);
    const { id: collection, tenant } = ref;
    return this.#run({ collection, tenant, since: performance.now() }, signal, call, ref);
  }

  /** The host begins, or ends, to read a store that no call is on. */
  touch(store: string, touching: boolean): void {
    this.#calls.touch(store, touching);
  }

  /** @param hung It was killed because its event loop did not turn. */
  hostEnded(death: Omit<ChildDeath, "inFlight">, hung: boolean): void {
    const cause = endCause(death, hung);
    const { calls, touched } = this.#calls.ended();
    const how = death.signal ?? `code ${death.code}`;
    const why = cause === "kill" ? "" : `: ${cause}`;
    this.#log({ level: "error", message: `the engine host ended with ${how}${why}` });
    if (cause === "kill") return;
    if (this.#reviving !== null) this.#endedWhileReviving.add(this.#reviving);
    if (cause === "crash") void this.#explainCrash(calls, touched);
    else this.#attribute(calls);
  }

  /** Tells a new host all that it must not open, and opens what the last one has left dirty, one by one. */
  async hostReady(): Promise<void> {
    try {
      // Also where nothing is: what it was started with may be known to be sound by now.
      await this.#host.setQuarantined(this.#kept);
      for (const id of await this.#host.dirtyCollections()) {
        if (!this.#endedWhileReviving.has(id)) await this.#revive(id);
      }
    } catch (error) {
      // The next host begins again.
      const message = "reviving collections was cut short";
      this.#log({ level: "warn", message, error: describeError(error) });
    }
  }

  close(): Promise<void> {
    return this.#checker.close();
  }

  /** Damage explains a crash; of one without it the calls are the reason. */
  async #explainCrash(calls: readonly CallInFlight[], touched: readonly string[]): Promise<void> {
    const stores = new Set(touched.map((store) => this.#storeOf(store)));
    const bytes = new Map([...stores].map((store) => [store, this.#folder.storeBytes(store)]));
    const bySize = [...stores].sort((a, b) => (bytes.get(a) ?? 0) - (bytes.get(b) ?? 0));
    const damaged = await this.#quarantine.suspect(bySize);
    if (damaged.length === 0) this.#attribute(calls);
  }

  #attribute(calls: readonly CallInFlight[]): void {
    const tenant = this.#attribution.ended(calls);
    if (tenant === null) return;
    this.#log({ level: "warn", message: "the end of the engine host is attributed to a tenant", tenant });
  }

  /** Without a turn of its own where nothing is held: searches that take half a millisecond come through here. */
  #run<T>(
    call: CallInFlight,
    signal: CancelSignal | undefined,
    work: () => Promise<T>,
    ref?: CollectionRef,
  ): Promise<T> {
    const admission = this.#quarantine.admission(call.collection);
    if (admission === null) return this.#calls.track(call, signal, work);
    const admitted =
      ref === undefined ? admission : admission.catch((refusal: unknown) => this.#refuse(ref, refusal));
    return admitted.then(() => this.#calls.track(call, signal, work));
  }

  /** A collection that is gone is 404, whatever is wrong with the file that it had a share of. */
  async #refuse(ref: CollectionRef, refusal: unknown): Promise<never> {
    try {
      await this.#host.find(ref);
    } catch (error) {
      if (error instanceof SheafError && error.status === 404) throw error;
    }
    throw refusal;
  }

  async #revive(id: string): Promise<void> {
    try {
      await this.#run({ collection: id, tenant: null, since: performance.now() }, undefined, () => {
        this.#reviving = id;
        return this.#host.revive(id);
      });
    } catch (error) {
      if (!this.#host.ready) throw error;
      this.#log({ level: "warn", message: "reviving failed", collection: id, error: describeError(error) });
    } finally {
      this.#reviving = null;
    }
  }

  /** A collection without a file of its own may have a share of one, and fares as all of that does. */
  #storeOf(store: string): string {
    return isSharedName(store) || this.#folder.storeBytes(store) > 0 ? store : sharedName(store);
  }

  #hearVerdict(store: string, reason: string | null, before: string | null): void {
    if (reason !== before) this.#logVerdict(store, reason);
    else if (!isSharedName(store)) return;
    // A host that is not there hears of all of them when it is.
    if (this.#host.ready) this.#host.setQuarantined(this.#kept).catch(() => {});
  }

  #logVerdict(store: string, reason: string | null): void {
    const of = isSharedName(store) ? {} : { collection: store };
    if (reason !== null) {
      const out = isSharedName(store) ? "all collections of a file are out of service" : "out of service";
      this.#log({ level: "error", message: `${out}: ${reason}`, ...of });
    } else this.#log({ level: "info", message: `serves again: no damage is left in ${store}`, ...of });
  }
}
