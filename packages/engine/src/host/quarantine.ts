/**
 * Stores that are kept from the engine host: files of collections, and those that collections share. A host that crashes,
 * other than for lack of memory, makes suspects of the stores that it had under way. They are checked one after the other,
 * each alone in a process of its own, and calls on their collections wait meanwhile. A store that is damaged is quarantined;
 * every other one goes on, whatever happened to the host. One that is quarantined is checked again when it is asked for, at a
 * bounded pace, and serves again as soon as it is sound.
 */
import { setTimeout as pause } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import type { QuarantinedStore } from "../collection/collection-opener.ts";
import { unreadable } from "../collection/damage/damaged-collections.ts";

export interface QuarantineOptions {
  /** Where the records of a collection are. */
  readonly storeOf: (id: string) => string;
  /** How a store is damaged; `null`: it is not. May reject: then nothing changes. */
  readonly check: (store: string) => Promise<string | null>;
  /** A check has ended: a store is quarantined, or not. `before`: what the one before has said, if that kept it. */
  readonly onVerdict: (store: string, reason: string | null, before: string | null) => void;
  readonly now?: () => number;
}

/** How long a call waits for a check before it is refused: less than the two seconds that any answer may take. */
const WAIT_MS = 1_500;
/** Between two checks of one quarantined store at least this, and this many times what the last one took. */
const RECHECK_MS = 2_000;
const RECHECK_PAUSE_PER_CHECK = 3;

interface Held {
  /** `null`: suspected, and not checked yet. */
  reason: string | null;
  /** Settles with the verdict, never rejects; `null`: no check is under way. */
  checking: Promise<void> | null;
  /** No check begins before. */
  nextCheckAt: number;
}

export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #now: () => number;
  readonly #held = new Map<string, Held>();
  /** The last check in line. Never rejects. */
  #line: Promise<void> = Promise.resolve();

  constructor(options: QuarantineOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** With those that are suspected, without a reason. */
  get kept(): readonly QuarantinedStore[] {
    return [...this.#held].map(([store, { reason }]) => ({ store, reason }));
  }

  /** The host has crashed while it had these stores under way. Resolves with those that are damaged. */
  async suspect(stores: readonly string[]): Promise<readonly string[]> {
    await Promise.all(stores.map((store) => this.#checked(store)));
    return stores.filter((store) => this.#held.has(store));
  }

  /** `null`: a call on the collection may run. Else it may once this resolves, and is refused if it rejects. */
  admission(id: string): Promise<void> | null {
    if (this.#held.size === 0) return null;
    const store = this.#options.storeOf(id);
    const held = this.#held.get(store);
    return held === undefined ? null : this.#admit(id, store, held);
  }

  async #admit(id: string, store: string, held: Held): Promise<void> {
    if (held.checking === null && this.#now() >= held.nextCheckAt) void this.#check(store, held);
    if (held.checking !== null) {
      const waited = new AbortController();
      await Promise.race([
        held.checking,
        pause(WAIT_MS, undefined, { signal: waited.signal }).catch(() => {}),
      ]);
      waited.abort();
    }
    if (this.#held.get(store) !== held) return;
    if (held.reason !== null) throw unreadable(id);
    throw new SheafError("unavailable", `the files of collection [${id}] are being checked after a crash`, {
      retryAfterSeconds: 1,
    });
  }

  #checked(store: string): Promise<void> {
    const held = this.#held.get(store) ?? { reason: null, checking: null, nextCheckAt: 0 };
    this.#held.set(store, held);
    return held.checking ?? this.#check(store, held);
  }

  #check(store: string, held: Held): Promise<void> {
    const check = async (): Promise<void> => {
      const startedAt = this.#now();
      const reason = await this.#options.check(store).catch(() => held.reason);
      const checkedAt = this.#now();
      const restMs = Math.max(RECHECK_MS, RECHECK_PAUSE_PER_CHECK * (checkedAt - startedAt));
      const before = held.reason;
      Object.assign(held, { reason, checking: null, nextCheckAt: checkedAt + restMs });
      if (reason === null) this.#held.delete(store);
      this.#options.onVerdict(store, reason, before);
    };
    held.checking = this.#line.then(check);
    this.#line = held.checking;
    return held.checking;
  }
}
