/**
 * The records of a collection that several servers write: the log says what they are, and a store on this machine is a view
 * of it that may be lost. A batch is planned on the view, appended to the log, and only then stored in the view. One thing
 * at a time: a plan never sees half of what others wrote. A view that is of no state of the log is void, and made anew.
 */
import assert from "node:assert";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import { CorruptDataError } from "../corrupt-data-error.ts";
import { ForwardingStore } from "../forwarding-store.ts";
import type { PlanNeeds, StoreChange, StoreView } from "../record-store.ts";
import { type Steps, runInTurns } from "../steps.ts";
import { TurnLock } from "../turn-lock.ts";
import { type Usage, sumOf } from "../usage.ts";
import { answerRecords } from "./asked/answer-records.ts";
import { learnForPlans } from "./asked/learn-for-plans.ts";
import type { RecordsAnswer, RecordsQuestion } from "./asked/records-question.ts";
import { decodeBatch } from "./batch-codec.ts";
import {
  type LogBatch,
  type LogHead,
  type LogSizes,
  LogTrimmed,
  ViewVoid,
  bytesOf,
  isSameHead,
} from "./commit-log.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { WarmingView } from "./cold/warming-view.ts";
import type { LogFollower } from "./log-follower.ts";
import type { AskedRecords, LogView } from "./log-view.ts";
import { LogWriter } from "./log-writer.ts";
import type { LoggedStoreOptions } from "./logged-store-options.ts";
import { usageOf } from "./usage-of.ts";
import { type OwnWrite, type PlannedWrite, madeNotStored, usageOfAll } from "./write-group.ts";

/** Batches and bytes of bodies that share a commit of the view, while it is opened. */
const GROUPED = 64;
const GROUPED_BYTES = 8 * 1024 * 1024;
const NO_STATE = new Uint8Array(0);

export class LoggedRecordStore extends ForwardingStore {
  readonly #options: LoggedStoreOptions;
  readonly #view: LogView;
  /** `null`: all records were here from the start. */
  readonly warming: WarmingView | null;
  readonly #turns = new TurnLock();
  readonly #writer: LogWriter;
  #position: LogHead;
  #follower: LogFollower | null = null;
  #isVoid = false;
  #isBroken = false;
  #sizes: LogSizes = { bytes: 0, checkpointBytes: 0, usage: null };
  /** Of the state that `#sizes` is of. */
  #sizedAt = 0;

  private constructor(options: LoggedStoreOptions, warming: WarmingView | null) {
    const view = warming ?? options.view;
    super(view);
    this.#options = options;
    this.#view = view;
    this.warming = warming;
    this.#position = positionOf(view, options.epoch);
    this.#writer = this.#newWriter();
  }

  /** With all that is in the log. Throws `ViewVoid` where the view has to be removed first. */
  static async open(options: LoggedStoreOptions): Promise<LoggedRecordStore> {
    const { id, epoch, log, files, heads, view, quota, partition, partitions = 1 } = options;
    const part = partition === undefined ? undefined : { partition, partitions };
    const { owner } = quota;
    const head = await heads.head(id);
    if (head === null) await log.create(id, { epoch, state: NO_STATE, owner });
    const isEmpty = view.asked === undefined && view.batch === null && view.head.sequence === 0;
    // One of several partitions that is here as a whole has no index: nobody reads it before all is here.
    const isPerhapsCold = isEmpty && head !== null && (partitions === 1 || part !== undefined);
    const warming = isPerhapsCold ? await WarmingView.open({ ...options, part }, head) : null;
    if (isEmpty && warming === null) await readCheckpoint({ log, files }, id, view, { part });
    const store = new LoggedRecordStore(options, warming);
    await store.refresh().catch(async (error: unknown) => {
      await warming?.abandon();
      throw error;
    });
    const onFailed = (error: unknown): void => {
      if (!(error instanceof ViewVoid)) options.onProblem?.(error);
      store.#void();
    };
    warming?.start(() => store.refresh(), onFailed);
    if (store.#sizes.usage === null && part === undefined && view.asked === undefined)
      await log.count(id, store.#position, owner, await usageOf(view));
    return store;
  }

  /** The state of the log that the view has come to. */
  get position(): LogHead {
    return this.#position;
  }

  /** Id of the batch that a state with this sequence number is of; `null`: the log does not know one. */
  async batchAt(sequence: number): Promise<string | null> {
    const { id, log } = this.#options;
    // Before the first one there is none, and so none of another past.
    if (sequence === 0) return "";
    return sequence === this.#position.sequence ? this.#position.batch : log.batchAt(id, sequence);
  }

  /** `false` while a checkpoint is written, or the records are fetched; closing would break it off. */
  get settled(): boolean {
    return this.#options.checkpoints?.isWriting !== true && !this.isCold;
  }

  /** Its view is void, or not what was told of it: it is to be closed and opened again. */
  get broken(): boolean {
    return this.#isBroken;
  }

  /** Its records are not all on this machine yet. */
  get isCold(): boolean {
    return !this.#isVoid && this.warming?.isCold === true;
  }

  /** As the log counts it; `null`: it does not. */
  get kept(): Usage | null {
    return this.#sizes.usage;
  }

  /** Of one whose records others have. */
  get asked(): AskedRecords | undefined {
    return this.#view.asked;
  }

  /** For a server that has none of the records: at one state, which is the newest or a later one. Throws `DataAbsent`. */
  async answer(question: RecordsQuestion): Promise<RecordsAnswer> {
    return this.#alone(() => runInTurns(answerRecords(this.#view, this.#position.batch, question)));
  }

  /** `null`: it is closed, or of no use any more. */
  get measure(): { readonly logBytes: number; readonly checkpointDueMs: number } | null {
    if (this.#isVoid) return null;
    return { logBytes: this.#sizes.bytes, checkpointDueMs: this.#options.checkpoints?.dueMs ?? 0 };
  }

  /** Has the log trimmed to a checkpoint, if that is due, or `isQuiet` and worth it. Rejects where it could not be. */
  async checkpoint(isQuiet: boolean): Promise<void> {
    await this.warming?.filled();
    await this.#options.checkpoints?.settle(this.#sizes, isQuiet);
  }

  /** One at most. */
  follow(follower: LogFollower): void {
    this.#follower = follower;
  }

  /** Until it has all that was in the log when this was called, or has come to the sequence number `until`. */
  async refresh(until = Infinity): Promise<void> {
    const { id, heads } = this.#options;
    const before = this.#position;
    const head = await heads.head(id);
    // Dropped, or of a database that was set back to before its log was made: whoever opens it again finds out.
    if (head === null) throw this.#void();
    this.#sizes = head;
    this.#sizedAt = head.sequence;
    this.#tellCount();
    if (isSameHead(head, this.#position) && !this.#isVoid) return;
    const follow = (): Promise<void> =>
      this.#alone(async () => {
        // Appends from here have come to it, or beyond, meanwhile.
        const isThere =
          this.#position !== before && this.#position.sequence >= Math.min(head.sequence, until);
        if (!isThere) await this.#pull(undefined, until);
        this.#tellCount();
      });
    await (this.warming === null ? follow() : this.warming.following(follow));
  }

  /**
   * As the seam says, on all servers. An error of the view, after the batch has got into the log, leaves it there: the next
   * `refresh` stores it.
   */
  apply(
    plan: (view: StoreView) => Steps<StoreChange>,
    needs?: () => readonly PlanNeeds[],
    caller?: CancelSignal,
  ): Promise<StoreChange> {
    assert.equal(this.#options.partition, undefined, "a plan needs all records of a collection");
    if (!this.isCold) return this.#writer.apply(plan, needs, caller);
    return this.warming!.whenWarm().then(() => this.#writer.apply(plan, needs, caller));
  }

  #newWriter(): LogWriter {
    const position = (): LogHead => this.#position;
    const isVoid = (): boolean => this.#isVoid;
    return new LogWriter(this.#options, {
      get position() {
        return position();
      },
      get isVoid() {
        return isVoid();
      },
      alone: (work) => this.#alone(work),
      learn: (writes) => this.#learn(writes),
      forget: () => this.asked?.forget(),
      pull: (own) => this.#pull(own),
      store: (planned) => this.#storeOwn(planned),
      gone: () => this.#void(),
      full: () => this.#full(),
      onError: (error) => this.#hear(error),
    });
  }

  async #learn(writes: readonly OwnWrite[]): Promise<number> {
    const { asked } = this;
    if (asked === undefined) return writes.length;
    return learnForPlans(asked, writes, async (until) => {
      if (until > this.#position.sequence) await this.#pull(undefined, until);
    });
  }

  /** They are in the log, one after the other. */
  async #storeOwn(planned: readonly PlannedWrite[]): Promise<void> {
    const { bytes, usage } = this.#sizes;
    this.#sizes = {
      ...this.#sizes,
      bytes: bytes + bytesOf(planned.map(({ batch }) => batch)),
      usage: usage && sumOf(usage, usageOfAll(planned)),
    };
    let { sequence: from } = this.#position;
    if (this.#sizedAt === from) this.#sizedAt = planned.at(-1)!.batch.sequence;
    const storing = planned.map(({ change, batch, values }) => {
      const stored = this.#store(() => ({ ...change, values }), this.#after(batch), from);
      from = batch.sequence;
      return stored;
    });
    const outcomes = await Promise.allSettled(storing);
    for (const [i, { write, change }] of planned.entries()) {
      const outcome = outcomes[i]!;
      if (outcome.status === "fulfilled") write.resolve(change);
      else write.reject(madeNotStored(outcome.reason));
    }
    this.#tellCount();
    this.#options.checkpoints?.consider(this.#sizes);
  }

  /** Where what the log keeps is known of the state that the view has come to. */
  #tellCount(): void {
    const { sequence } = this.#position;
    if (this.#sizedAt === sequence && this.#sizes.usage !== null)
      this.#options.checkpoints?.counted(sequence, this.#sizes.usage.records);
  }

  #full(): SheafError {
    const { checkpoints } = this.#options;
    const message = "the log of the collection has reached its bound";
    if (checkpoints === undefined) return new SheafError("storage_full", message);
    checkpoints.consider(this.#sizes);
    const words = `${message}, and is being trimmed; try again`;
    return new SheafError("unavailable", words, { retryAfterSeconds: 5 });
  }

  /**
   * Stores what the log has beyond the view, up to the own batch if that is there; whether it is. Its writer stores it, and has
   * the index follow it before what comes after it.
   */
  async #pull(own?: LogBatch, until = Infinity): Promise<boolean> {
    const { id, log, partition } = this.#options;
    const found = await log.read(id, this.#position, partition);
    if (found === "trimmed") throw this.#void();
    const grouped: Promise<void>[] = [];
    let [bytes, from] = [0, this.#position.sequence];
    try {
      for await (const batch of found) {
        if (batch.id === own?.id) return await this.#isDurable(own, batch);
        grouped.push(...(await this.#absorb(batch, from)));
        from = batch.sequence;
        if (from >= until) break;
        bytes += bytesOf([batch]);
        if (grouped.length < GROUPED && bytes < GROUPED_BYTES) continue;
        await Promise.all(grouped.splice(0));
        bytes = 0;
      }
    } catch (error) {
      throw error instanceof LogTrimmed ? this.#void() : error;
    } finally {
      await Promise.all(grouped);
    }
    return false;
  }

  /**
   * A primary that was started again shows what its standby may not have; only `find` waits for that, and with it for all that
   * was appended together. Before the view has it: where `find` fails so does the write, and is one of those of others.
   */
  async #isDurable({ id: batch, sequence }: LogBatch, found: LogBatch): Promise<boolean> {
    const { id, log } = this.#options;
    // Nobody has written between: the attempt that is in the log was planned on what this one was.
    assert.equal(found.sequence, sequence, "another plan of the batch is in the log");
    return (await log.find(id, batch)) !== null;
  }

  /** Resolves to what ends once it is stored; where somebody follows, it is stored then. */
  async #absorb(batch: LogBatch, from: number): Promise<Promise<void>[]> {
    const follower = this.#follower;
    const { id, partition, quota } = this.#options;
    await follower?.room?.();
    const change = await runInTurns(decodeBatch(batch, id, partition), { owner: quota.owner });
    if (follower === null) {
      const storing = this.#store(() => change, this.#after(batch), from);
      // Whoever waits for it hears of it; until then it is not unhandled.
      storing.catch(() => undefined);
      return [storing];
    }
    const kept = function* (view: StoreView): Generator<void, StoreChange> {
      yield* follower.before(view, change);
      return change;
    };
    try {
      await this.#store(kept, this.#after(batch), from);
    } catch (error) {
      await follower.after(null);
      throw error;
    }
    await follower.after(change);
    return [];
  }

  #after({ id, sequence }: LogBatch): LogHead {
    return { epoch: this.#position.epoch, sequence, batch: id };
  }

  /** @param from Sequence number of the state before it: nothing is stored after what could not be. */
  async #store(
    change: (view: StoreView) => Steps<StoreChange>,
    position: LogHead,
    from: number,
  ): Promise<void> {
    const plan = (view: StoreView): Steps<StoreChange> => {
      assert.equal(view.head.sequence, from, "a batch is missing before it");
      return change(view);
    };
    try {
      await this.#view.follow(plan, position.batch);
      this.#position = position;
    } catch (error) {
      // Nobody knows whether it is stored, but for what could not be fetched for it first.
      if (!this.isCold) this.#isBroken = true;
      throw error;
    }
  }

  /** Where the log is whole, and another one than this was made of. */
  #void(): ViewVoid {
    this.#isVoid = this.#isBroken = true;
    return new ViewVoid();
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.#turns.enter("");
    try {
      if (this.#isVoid) throw new ViewVoid();
      return await work();
    } catch (error) {
      this.#hear(error);
      throw error;
    } finally {
      leave();
    }
  }

  /** What the log holds is wrong on every server, and no view of it can be right. */
  #hear(error: unknown): void {
    if (error instanceof CorruptDataError) this.#isBroken = true;
  }

  override async close(): Promise<void> {
    await this.#options.checkpoints?.close();
    const leave = await this.#turns.enter("");
    try {
      await this.#view.close();
    } finally {
      this.#isVoid = true;
      leave();
    }
  }
}

/** A view with records that is of no log is of no state of one. */
function positionOf({ head, batch }: LogView, epoch: string): LogHead {
  return { epoch, sequence: head.sequence, batch: batch ?? "" };
}
