/**
 * The writes of one server to one log. What is asked for while an append is under way shares the next one; where others were
 * faster the whole group is planned again, in its order, under the same ids, but for those whose callers are gone.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type CancelSignal, SheafError, abortError } from "@sheaf/protocol";
import type { PlanNeeds, StoreChange, StoreView } from "../record-store.ts";
import type { Steps } from "../steps.ts";
import { excess } from "../usage.ts";
import { TooMuchLearnt } from "./asked/learnt-records.ts";
import { type LogBatch, type LogHead, isSameHead } from "./commit-log.ts";
import type { LoggedStoreOptions } from "./logged-store-options.ts";
import { type OwnWrite, type PlannedWrite, countFitting, planGroup, usageOfAll } from "./write-group.ts";

/** Each lost to another writer, or not answered. */
const APPEND_ATTEMPTS = 64;
/** After some that were lost, a random share of this: of writers that do the same, one comes first. */
const PAUSE_MS = 16;
const WITHOUT_PAUSE = 4;
/** Writes that share an append. */
const MOST_WRITES = 64;
const NO_STATE = new Uint8Array(0);

/** What a writer needs of the store whose view its writes are planned on. */
export interface WriterStore {
  /** The state of the log that the view has come to. */
  readonly position: LogHead;
  /** It is of no state of the log. */
  readonly isVoid: boolean;
  /** One thing at a time. */
  alone(work: () => Promise<void>): Promise<void>;
  /** Has what these look at be known; of how many of the first it is. */
  learn(writes: readonly OwnWrite[]): Promise<number>;
  /** None of these is planned again. */
  forget(): void;
  /** Has the view follow the log, up to the own batch if that is there; whether it is. */
  pull(own: LogBatch): Promise<boolean>;
  /** What the log has now, and who wrote it is told. */
  store(planned: readonly PlannedWrite[]): Promise<void>;
  /** What a caller is told where there is no such log any more. */
  gone(): SheafError;
  /** The same where it has reached its bound. */
  full(): SheafError;
  onError(error: unknown): void;
}

interface WriteGroup {
  /** Those that were not told what has become of them. */
  readonly writes: OwnWrite[];
  /** An append on this state was not answered, and may be made yet: only the same writes may be planned on it. */
  isUnknown: boolean;
}

export class LogWriter {
  readonly #options: LoggedStoreOptions;
  readonly #store: WriterStore;
  readonly #queue: OwnWrite[] = [];
  #isWriting = false;

  constructor(options: LoggedStoreOptions, store: WriterStore) {
    this.#options = options;
    this.#store = store;
  }

  /** As `RecordStore` has it. */
  apply(
    plan: (view: StoreView) => Steps<StoreChange>,
    needs?: () => readonly PlanNeeds[],
    caller?: CancelSignal,
  ): Promise<StoreChange> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => {
        this.#store.onError(error);
        reject(error);
      };
      this.#queue.push({ id: randomUUID(), plan, needs, caller, resolve, reject: failed });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** Until there is nothing to write. Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      try {
        await this.#store.alone(() => this.#writeGroup());
      } catch (error) {
        if (this.#store.isVoid) for (const { reject } of this.#queue.splice(0)) reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #writeGroup(): Promise<void> {
    const group: WriteGroup = { writes: this.#queue.splice(0, MOST_WRITES), isUnknown: false };
    const { appendAttempts = APPEND_ATTEMPTS } = this.#options;
    try {
      await this.#letGo(group);
      // Not again with a later attempt: what was learnt follows the log, and the own batches may be in that.
      await this.#learn(group);
      for (let attempt = 0; attempt < appendAttempts; attempt++) {
        if (attempt > WITHOUT_PAUSE) await sleep(Math.random() * PAUSE_MS);
        if (await this.#attempt(group)) return;
      }
      throw new SheafError("rate_limited", "too many others write this collection", { retryAfterSeconds: 1 });
    } catch (error) {
      const told = group.isUnknown ? perhapsMade(error) : error;
      for (const { reject } of group.writes) reject(told);
      throw error;
    } finally {
      this.#store.forget();
    }
  }

  /**
   * Ends those whose callers are gone: they were told that it may not be done, and another server may have written since what they
   * sent then. What may be made yet stays as it is, and comes before anything that others write.
   */
  async #letGo(group: WriteGroup): Promise<void> {
    if (group.isUnknown) return;
    const sign = this.#options.callersWait?.();
    if (sign !== undefined) await sign;
    for (const { caller, reject } of group.writes) if (caller?.aborted === true) reject(abortError(caller));
    const left = group.writes.filter(({ caller }) => caller?.aborted !== true);
    group.writes.splice(0, Infinity, ...left);
  }

  async #learn(group: WriteGroup): Promise<void> {
    if (group.writes.length === 0) return;
    let learnt = 0;
    try {
      learnt = await this.#store.learn(group.writes);
    } catch (error) {
      // The first alone is too much.
      if (!(error instanceof TooMuchLearnt)) throw error;
      group.writes.shift()!.reject(error);
    }
    this.#giveBack(group, learnt);
  }

  /** `false`: what is left of the group is to be planned again. */
  async #attempt(group: WriteGroup): Promise<boolean> {
    const { id, log, view, quota, partitions } = this.#options;
    await this.#letGo(group);
    const { planned, tell, count } = await planGroup(view, group.writes, partitions);
    this.#giveBack(group, count);
    if (planned.length > 0) {
      const batches = planned.map(({ batch }) => batch);
      const append = { batches, state: NO_STATE, usage: usageOfAll(planned), quota };
      const outcome = await log.append(id, this.#store.position, append);
      if (outcome === "gone") throw this.#store.gone();
      if (outcome === "full" || outcome === "over") return this.#shrink(group, planned, outcome);
      if (outcome !== "done" && !(await this.#isFound(group, outcome, batches[0]!))) return false;
      await this.#store.store(planned);
    }
    for (const settle of tell) settle();
    return true;
  }

  /** Whether an append that found something changed, or was not answered, has been made. */
  async #isFound(group: WriteGroup, outcome: "moved" | "unknown", own: LogBatch): Promise<boolean> {
    const { position } = this.#store;
    group.isUnknown ||= outcome === "unknown";
    const isFound = await this.#store.pull(own);
    // One that is made late finds another head now.
    if (!isSameHead(position, this.#store.position)) group.isUnknown = false;
    return isFound;
  }

  /** To those that fit together; the first is refused where it does not fit alone. As `#attempt`. */
  async #shrink(
    group: WriteGroup,
    planned: readonly PlannedWrite[],
    outcome: "full" | "over",
  ): Promise<boolean> {
    if (group.isUnknown) throw new SheafError("unavailable", `a later attempt was refused: ${outcome}`);
    const { log, quota } = this.#options;
    const { write, usage } = planned[0]!;
    let fitting = 1;
    let refusal = outcome === "full" && planned.length === 1 ? this.#store.full() : null;
    if (outcome === "over") {
      const kept = await log.usageOf(quota.owner);
      fitting = countFitting(planned, kept, quota.most);
      refusal = excess(usage, kept, quota.most);
    }
    if (refusal === null) {
      this.#giveBack(group, group.writes.indexOf(planned[fitting - 1]!.write) + 1);
      return false;
    }
    write.reject(refusal);
    group.writes.splice(group.writes.indexOf(write), 1);
    this.#giveBack(group, 0);
    return true;
  }

  /** All but the first are of the next group. */
  #giveBack({ writes }: WriteGroup, count: number): void {
    this.#queue.unshift(...writes.splice(count));
  }
}

function perhapsMade(error: unknown): SheafError {
  const words = "the database did not answer in time; the write may or may not have been made";
  return new SheafError("unavailable", words, { cause: error, retryAfterSeconds: 1 });
}
