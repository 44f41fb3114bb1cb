/**
 * What requests leave behind beside their answers: when a key was last used, and how many tokens a tenant has had
 * embedded today (UTC). Kept here and handed to the engine now and then, so that no request waits for a disk; a crash
 * loses what the last minute added.
 */
import type { Activity } from "@sheaf/engine";
import type { EngineSource } from "../request/engine-source.ts";

export interface ActivityLedgerOptions {
  /** `null`: a server that keeps nothing; then a restart forgets. */
  readonly engine: EngineSource | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onProblem: (error: unknown) => void;
}

interface Spent {
  readonly day: string;
  readonly tokens: number;
}

const FLUSH_AFTER_MS = 60_000;
/** Keys whose use is not stored yet: more are stored at once, and where that fails, not remembered. */
const MANY_UNSAVED = 10_000;
const MOST_UNSAVED = 2 * MANY_UNSAVED;
/** Keys of one call: so many do not hold up others. */
const KEYS_PER_CALL = 500;
const DAY_MS = 24 * 3_600_000;

export class ActivityLedger {
  readonly #options: ActivityLedgerOptions;
  /** By key; of those that the engine does not know yet. */
  #lastUsed = new Map<string, number>();
  /** Of those that it is being told. */
  #saving: ReadonlyMap<string, number> = new Map();
  /** One at a time. Never rejects. */
  #flushed: Promise<void> = Promise.resolve();
  readonly #spent = new Map<string, Spent>();
  readonly #unsavedTenants = new Set<string>();
  #loaded: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: ActivityLedgerOptions) {
    this.#options = options;
  }

  keyUsed(id: string): void {
    if (this.#lastUsed.size >= MOST_UNSAVED && !this.#lastUsed.has(id)) return;
    this.#lastUsed.set(id, this.#options.now());
    if (this.#lastUsed.size === MANY_UNSAVED) void this.flush();
    else this.#arm();
  }

  /** `null`: the engine knows. */
  lastUsed(id: string): number | null {
    return this.#lastUsed.get(id) ?? this.#saving.get(id) ?? null;
  }

  /** Resolves with 0, or, nothing counted, with the seconds until a tenant over `atMost` may go on: the day's end. */
  async spendTokens(tenant: string, count: number, atMost: number): Promise<number> {
    this.#loaded ??= this.#load();
    await this.#loaded;
    const now = this.#options.now();
    const day = dayOf(now);
    const spent = this.#spent.get(tenant);
    const tokens = (spent?.day === day ? spent.tokens : 0) + count;
    if (tokens > atMost) return Math.ceil((DAY_MS - (now % DAY_MS)) / 1_000);
    this.#spent.set(tenant, { day, tokens });
    this.#unsavedTenants.add(tenant);
    this.#arm();
    return 0;
  }

  /** Tokens of the tenant's texts today (UTC). */
  async spentToday(tenant: string): Promise<number> {
    this.#loaded ??= this.#load();
    await this.#loaded;
    const spent = this.#spent.get(tenant);
    return spent?.day === dayOf(this.#options.now()) ? spent.tokens : 0;
  }

  /** Hands over what is new; what cannot be is tried again later. */
  flush(): Promise<void> {
    this.#flushed = this.#flushed.then(() => this.#flush());
    return this.#flushed;
  }

  async #flush(): Promise<void> {
    const { engine, onProblem } = this.#options;
    const keys = this.#lastUsed;
    const tenants = [...this.#unsavedTenants];
    if (engine === null || keys.size + tenants.length === 0) return;
    this.#saving = keys;
    this.#lastUsed = new Map();
    this.#unsavedTenants.clear();
    try {
      if (tenants.length > 0) await engine().recordActivity(this.#activity([], tenants));
      const uses = [...keys];
      for (let from = 0; from < uses.length; from += KEYS_PER_CALL) {
        await engine().recordActivity(this.#activity(uses.slice(from, from + KEYS_PER_CALL), []));
      }
    } catch (error) {
      this.#lastUsed = new Map([...keys, ...this.#lastUsed]);
      for (const tenant of tenants) this.#unsavedTenants.add(tenant);
      onProblem(error);
      this.#arm();
    }
    this.#saving = new Map();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.flush();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #activity(uses: readonly (readonly [string, number])[], tenants: readonly string[]): Activity {
    return {
      lastUsed: uses.map(([id, at]) => ({ id, at })),
      tokens: tenants.flatMap((tenant) => {
        const spent = this.#spent.get(tenant);
        return spent === undefined ? [] : [{ tenant, ...spent }];
      }),
    };
  }

  async #load(): Promise<void> {
    try {
      for (const { tenant, ...spent } of (await this.#options.engine?.().listTokenUsage()) ?? []) {
        this.#spent.set(tenant, spent);
      }
    } catch (error) {
      this.#loaded = null;
      throw error;
    }
  }

  #arm(): void {
    if (this.#options.engine === null) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      // Reported in there; nobody waits for it.
      void this.flush();
    }, FLUSH_AFTER_MS).unref();
  }
}

/** `2030-01-31`, UTC. */
function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
