/**
 * Collections that are kept from the engine host. A host that crashes, other than for lack of memory, makes suspects of
 * the collections that it had under way. Their files are checked one after the other, each alone in a process of its own,
 * and their calls wait meanwhile. A collection whose files are damaged is quarantined; every other one goes on, whatever
 * happened to the host. One that is quarantined is checked again when it is asked for, at a bounded pace, and serves again
 * as soon as its files are sound.
 */
import { setTimeout as pause } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import type { QuarantinedCollection } from "../collection/collection-opener.ts";
import { unreadable } from "../collection/damage/damaged-collections.ts";

export interface QuarantineOptions {
  /** How the files of a collection are damaged; `null`: they are not. May reject: then nothing changes. */
  readonly check: (id: string) => Promise<string | null>;
  /** A collection was quarantined, or no longer is. */
  readonly onChange: (collection: string, reason: string | null) => void;
  readonly now?: () => number;
}

/** How long a call waits for a check before it is refused: less than the two seconds that any answer may take. */
const WAIT_MS = 1_500;
/** Between two checks of one quarantined collection at least this, and this many times what the last one took. */
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

  get quarantined(): readonly QuarantinedCollection[] {
    return [...this.#held].flatMap(([id, { reason }]) => (reason === null ? [] : [{ id, reason }]));
  }

  /** The host has crashed while it had these collections under way. Resolves with those that are damaged. */
  async suspect(ids: readonly string[]): Promise<readonly string[]> {
    await Promise.all(ids.map((id) => this.#checked(id)));
    return ids.filter((id) => this.#held.has(id));
  }

  /** `null`: a call on the collection may run. Else it may once this resolves, and is refused if it rejects. */
  admission(id: string): Promise<void> | null {
    if (this.#held.size === 0) return null;
    const held = this.#held.get(id);
    return held === undefined ? null : this.#admit(id, held);
  }

  async #admit(id: string, held: Held): Promise<void> {
    if (held.checking === null && this.#now() >= held.nextCheckAt) void this.#check(id, held);
    if (held.checking !== null) {
      const waited = new AbortController();
      await Promise.race([
        held.checking,
        pause(WAIT_MS, undefined, { signal: waited.signal }).catch(() => {}),
      ]);
      waited.abort();
    }
    if (this.#held.get(id) !== held) return;
    if (held.reason !== null) throw unreadable(id);
    throw new SheafError("unavailable", `the files of collection [${id}] are being checked after a crash`, {
      retryAfterSeconds: 1,
    });
  }

  #checked(id: string): Promise<void> {
    const held = this.#held.get(id) ?? { reason: null, checking: null, nextCheckAt: 0 };
    this.#held.set(id, held);
    return held.checking ?? this.#check(id, held);
  }

  #check(id: string, held: Held): Promise<void> {
    const check = async (): Promise<void> => {
      const startedAt = this.#now();
      const reason = await this.#options.check(id).catch(() => held.reason);
      const checkedAt = this.#now();
      const restMs = Math.max(RECHECK_MS, RECHECK_PAUSE_PER_CHECK * (checkedAt - startedAt));
      const before = held.reason;
      Object.assign(held, { reason, checking: null, nextCheckAt: checkedAt + restMs });
      if (reason === null) this.#held.delete(id);
      if (reason !== before) this.#options.onChange(id, reason);
    };
    held.checking = this.#line.then(check);
    this.#line = held.checking;
    return held.checking;
  }
}
