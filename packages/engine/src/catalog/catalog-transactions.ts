/**
 * Changes of the catalog, one after the other: each sees what those before it have written. Those that are asked for at
 * once share a commit. Where another server has changed what they went by, all of them are planned again, in order; one
 * that fails then drops out alone. An action may therefore run several times, and must do nothing but read and write its
 * transaction.
 */
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { CatalogOptions } from "./catalog-options.ts";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { CatalogChanges, CatalogTransaction } from "./catalog-transaction.ts";

/** What the actions of one commit may take, but for the last one; the event loop turns in between. */
const GROUP_MS = 20;
/** Another server that changes the catalog all the time is no fault of the caller, so attempts go on for as long. */
const RETRY_MS = 10_000;
/** Before a later attempt, doubled with each and taken a random share of: others that failed with it come at another time. */
const PAUSE_MS = 4;
const MAX_PAUSE_MS = 64;
/** Of an action that fails on what others have changed meanwhile. */
const PLANS = 8;

interface Queued {
  readonly caller: CancelSignal | undefined;
  /** Returns what resolves its caller. */
  readonly run: (transaction: CatalogTransaction) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

interface Planned {
  readonly action: Queued;
  readonly resolve: () => void;
}

export class CatalogTransactions {
  readonly #store: CatalogStore;
  readonly #onConflict: () => void;
  readonly #callersWait: NonNullable<CatalogOptions["callersWait"]>;
  readonly #queue: Queued[] = [];
  /** Settles when the queue is empty; `null` while it is. Never rejects. */
  #draining: Promise<void> | null = null;

  /** @param onConflict Told where what was planned was not committed. */
  constructor(
    store: CatalogStore,
    onConflict: () => void = () => {},
    callersWait: CatalogOptions["callersWait"] = () => undefined,
  ) {
    this.#store = store;
    this.#onConflict = onConflict;
    this.#callersWait = callersWait;
  }

  /**
   * Durable when it resolves; where `action` throws, nothing of it is written. 429 where others are always faster.
   *
   * @param caller Nothing is planned, or planned again, once it is aborted.
   */
  transact<T>(action: (transaction: CatalogTransaction) => Promise<T>, caller?: CancelSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = async (transaction: CatalogTransaction): Promise<() => void> => {
        const value = await action(transaction);
        return () => resolve(value);
      };
      this.#queue.push({ caller, run, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** After the changes that were asked for. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    // Callers whose requests came in one message ask in the same turn.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const startedAt = performance.now();
      await this.#commitGroup();
      // What callers do with a large change is long too, and others have asked meanwhile.
      if (performance.now() - startedAt >= GROUP_MS) await nextTurn();
    }
    this.#draining = null;
  }

  async #commitGroup(): Promise<void> {
    let changes = new CatalogChanges();
    let planned: Planned[] = [];
    for (let spent = 0; spent < GROUP_MS && this.#queue.length > 0;) {
      const startedAt = performance.now();
      changes = await this.#plan(this.#queue.shift()!, changes, planned);
      spent += performance.now() - startedAt;
    }
    try {
      const until = performance.now() + RETRY_MS;
      for (let attempt = 0; !(await this.#isCommitted(changes, planned)); attempt++) {
        this.#onConflict();
        if (performance.now() > until) throw tooBusy();
        await sleep(Math.random() * Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** attempt));
        // What takes long to plan loses to what does not: half of them come later.
        const again = planned.slice(0, Math.ceil(planned.length / 2));
        this.#queue.unshift(...planned.slice(again.length).map(({ action }) => action));
        [changes, planned] = [new CatalogChanges(), []];
        for (const { action } of again) changes = await this.#plan(action, changes, planned);
      }
      for (const { resolve } of planned) resolve();
    } catch (error) {
      this.#onConflict();
      for (const { action } of planned) action.reject(error);
    }
  }

  async #isCommitted(changes: CatalogChanges, planned: readonly Planned[]): Promise<boolean> {
    if (changes.isEmpty) return true;
    // After a standstill they are planned again, which asks who still waits.
    const isOutdated = (): boolean =>
      this.#callersWait() !== undefined || planned.some(({ action }) => action.caller?.aborted === true);
    return (await this.#store.commit(changes.commit, isOutdated)) === "done";
  }

  /** Returns `changes` with those of the action. */
  async #plan(
    action: Queued,
    changes: CatalogChanges,
    planned: Planned[],
    attemptsLeft = PLANS,
  ): Promise<CatalogChanges> {
    const transaction = new CatalogTransaction(this.#store, changes);
    try {
      // What is read from here on is what the commit depends on.
      await this.#callersWait();
      throwIfAborted(action.caller);
      const resolve = await action.run(transaction);
      planned.push({ action, resolve });
      // One alone may be large, and is not copied.
      if (changes.isNew) return transaction.changes;
      changes.add(transaction.changes);
    } catch (error) {
      // Where another server has committed between two reads, what they say together may never have been so.
      if (attemptsLeft > 1 && (await this.#isOutdated(transaction.changes)))
        return this.#plan(action, changes, planned, attemptsLeft - 1);
      action.reject(error);
    }
    return changes;
  }

  /** `false` where the store cannot be asked. */
  #isOutdated(read: CatalogChanges): Promise<boolean> {
    return read.isOutdatedIn(this.#store).catch(() => false);
  }
}

function tooBusy(): SheafError {
  const retry = { retryAfterSeconds: 1 };
  return new SheafError("rate_limited", "the catalog is being changed by others; try again", retry);
}
