/**
 * The records of a collection that several servers write: the log says what they are, and a store on this machine is a view
 * of it that may be lost. A batch is planned on the view, appended to the log, and only then stored in the view. One thing
 * at a time: a plan never sees half of what others wrote. A view that is of no state of the log is void, and made anew.
 */
import assert from "node:assert";
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import { CorruptDataError } from "../corrupt-data-error.ts";
import { ForwardingStore } from "../forwarding-store.ts";
import type { RecordStore, StoreChange, StoreView } from "../record-store.ts";
import { type Steps, isInSteps, runInTurns } from "../steps.ts";
import { TurnLock } from "../turn-lock.ts";
import { type Usage, addedRecords, requireFits } from "../usage.ts";
import { decodeBatch, encodeBatch } from "./batch-codec.ts";
import {
  type CommitLog,
  type LogBatch,
  type LogHead,
  type LogOwner,
  type LogSizes,
  LogTrimmed,
  bytesOf,
  isSameHead,
} from "./commit-log.ts";
import { readCheckpoint } from "./checkpoint-log.ts";
import type { HeadReader } from "./head-reader.ts";
import type { LogCheckpoints } from "./log-checkpoints.ts";

/** Each lost to another writer, or not answered. */
const APPEND_ATTEMPTS = 64;
/** After some that were lost, a random share of this: of writers that do the same, one comes first. */
const PAUSE_MS = 16;
const WITHOUT_PAUSE = 4;
/** Batches and bytes of bodies that share a commit of the view, while it is opened. */
const GROUPED = 64;
const GROUPED_BYTES = 8 * 1024 * 1024;
/** In one turn. */
const COUNTED_AT_ONCE = 256;
const NO_STATE = new Uint8Array(0);

/** Hears of the batches that others wrote, in their order, between those of this store. */
export interface LogFollower {
  /** Steps before it is stored, on what is there before it. */
  before(view: StoreView, change: StoreChange): Generator<void, void>;
  /** It is stored; `null`: it is not. */
  after(change: StoreChange | null): Promise<void>;
  /** The view is void, or not what was told of it: the store is to be closed and opened again. */
  onBroken(): void;
}

/** A store on this machine that keeps beside its head which batch of the log that is of. */
export interface LogView extends RecordStore {
  /** `null`: it has come to none yet, or follows no log. */
  readonly batch: string | null;
  /** `apply` of a batch of the log; both are stored or neither is. */
  follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void>;
  /** What operations up to this one changed is not known any more. */
  forgetUpTo(sequence: number): Promise<void>;
  /** Of the value of the record with this offset; 0 where there is none. */
  storedBytes(offset: number): number;
}

export interface LoggedStoreOptions {
  /** Of the collection. */
  readonly id: string;
  /** Of its log, which is made where there is none. */
  readonly epoch: string;
  readonly log: CommitLog;
  readonly heads: HeadReader;
  /** Closed with this. */
  readonly view: LogView;
  /** Whose collection it is, and what all of theirs may keep together. */
  readonly quota: LogOwner;
  /** How often a write is planned anew; the default where it is left out. */
  readonly appendAttempts?: number | undefined;
  /** Left out: the log is never trimmed by this store. */
  readonly checkpoints?: LogCheckpoints | undefined;
}

/** The view is of no state of the log. */
export class ViewVoid extends SheafError {
  constructor() {
    super("unavailable", "the records on this server are being read anew", { retryAfterSeconds: 1 });
    this.name = "ViewVoid";
  }
}

interface OwnBatch {
  readonly id: string;
  readonly change: StoreChange;
}

export class LoggedRecordStore extends ForwardingStore {
  readonly #options: LoggedStoreOptions;
  readonly #view: LogView;
  readonly #turns = new TurnLock();
  #position: LogHead;
  #follower: LogFollower | null = null;
  #isVoid = false;
  #sizes: LogSizes = { bytes: 0, checkpointBytes: 0, usage: null };

  private constructor(options: LoggedStoreOptions) {
    super(options.view);
    const { view, epoch } = options;
    this.#options = options;
    this.#view = view;
    this.#position = positionOf(view, epoch);
  }

  /** With all that is in the log. Throws `ViewVoid` where the view has to be removed first. */
  static async open(options: LoggedStoreOptions): Promise<LoggedRecordStore> {
    const { id, epoch, log, heads, view, quota } = options;
    const { owner } = quota;
    if ((await heads.head(id)) === null) await log.create(id, { epoch, state: NO_STATE, owner });
    if (view.batch === null && view.head.sequence === 0) await readWhole(log, id, view);
    const store = new LoggedRecordStore(options);
    await store.refresh();
    if (store.#sizes.usage === null) await log.count(id, store.#position, owner, await usageOf(view));
    return store;
  }

  /** The state of the log that the view has come to. */
  get position(): LogHead {
    return this.#position;
  }

  /** `false` while a checkpoint is written; closing would break it off. */
  get settled(): boolean {
    return this.#options.checkpoints?.isWriting !== true;
  }

  /** Of the values of its records, as they are counted; `null`: they are not. */
  get keptBytes(): number | null {
    return this.#sizes.usage?.bytes ?? null;
  }

  /** `null`: it is closed, or of no use any more. */
  get measure(): { readonly logBytes: number; readonly checkpointDueMs: number } | null {
    if (this.#isVoid) return null;
    return { logBytes: this.#sizes.bytes, checkpointDueMs: this.#options.checkpoints?.dueMs ?? 0 };
  }

  /** One at most. */
  follow(follower: LogFollower): void {
    this.#follower = follower;
  }

  /** Until it has all that was in the log when this was called. */
  async refresh(): Promise<void> {
    const { id, heads } = this.#options;
    const head = await heads.head(id);
    // Dropped, or of a database that was set back to before its log was made: whoever opens it again finds out.
    if (head === null) throw this.#void();
    this.#sizes = head;
    if (isSameHead(head, this.#position) && !this.#isVoid) return;
    await this.#alone(() => this.#pull());
  }

  /**
   * As the seam says, on all servers. An error of the view, after the batch has got into the log, leaves it there: the next
   * `refresh` stores it.
   */
  apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    return this.#alone(async () => {
      // The same in each attempt: it tells whether one that was not answered is in the log.
      const batch = randomUUID();
      const { appendAttempts = APPEND_ATTEMPTS } = this.#options;
      for (let attempt = 0; attempt < appendAttempts; attempt++) {
        const change = await this.#planned(plan);
        if (change.head.sequence === this.#position.sequence) return requireNothing(change);
        if (await this.#append(batch, change)) {
          this.#options.checkpoints?.consider(this.#sizes);
          return change;
        }
        if (attempt >= WITHOUT_PAUSE) await sleep(Math.random() * PAUSE_MS);
      }
      throw new SheafError("rate_limited", "too many others write this collection", {
        retryAfterSeconds: 1,
      });
    });
  }

  async #planned(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    const steps = plan(this.#view);
    return isInSteps(steps) ? runInTurns(steps) : steps;
  }

  /** `false`: it is to be planned again, on what others have written meanwhile. */
  async #append(batch: string, change: StoreChange): Promise<boolean> {
    const { id, log, quota } = this.#options;
    let bytes = -(await runInTurns(replacedBytes(this.#view, change)));
    const bodies = await runInTurns(encodeBatch(change, { onValue: (more) => (bytes += more) }));
    const usage = { records: addedRecords(change, this.#view.head.nextOffset), bytes };
    const { sequence } = change.head;
    const parts = bodies.map((body) => ({ partition: 0, body }));
    const append = { batches: [{ id: batch, sequence, parts }], state: NO_STATE, usage, quota };
    const outcome = await log.append(id, this.#position, append);
    if (outcome === "gone") throw this.#void();
    if (outcome === "full") throw this.#full();
    if (outcome === "over") {
      requireFits(usage, await log.usageOf(quota.owner), quota.most);
      // Others have made room meanwhile.
      return false;
    }
    if (outcome !== "done") return this.#pull({ id: batch, change });
    const { bytes: logBytes, usage: kept } = this.#sizes;
    this.#sizes = {
      ...this.#sizes,
      bytes: logBytes + bytesOf(append.batches),
      usage: kept && { records: kept.records + usage.records, bytes: kept.bytes + usage.bytes },
    };
    await this.#store(() => change, { ...this.#position, sequence, batch });
    return true;
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
   * Stores what the log has beyond the view, up to the own batch if that is there; whether it is. Its writer has the index
   * follow it before what comes after it.
   */
  async #pull(own?: OwnBatch): Promise<boolean> {
    const { id, log } = this.#options;
    const found = await log.read(id, this.#position);
    if (found === "trimmed") throw this.#void();
    const grouped: Promise<void>[] = [];
    let bytes = 0;
    try {
      for await (const batch of found) {
        if (batch.id === own?.id) return await this.#storeFound(own, batch);
        grouped.push(...(await this.#absorb(batch)));
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
   * A primary that was started again shows what its standby may not have; only `find` waits for that. Before the view has
   * the batch: where `find` fails so does the write, and the batch is one of those that others wrote.
   */
  async #storeFound(own: OwnBatch, batch: LogBatch): Promise<boolean> {
    const { id, log } = this.#options;
    if ((await log.find(id, own.id)) === null) return false;
    // Nobody has written between: the attempt that is in the log was planned on what this one was.
    await this.#store(() => own.change, this.#after(batch));
    return true;
  }

  /** Resolves to what ends once it is stored; where somebody follows, it is stored then. */
  async #absorb(batch: LogBatch): Promise<Promise<void>[]> {
    const follower = this.#follower;
    const change = await runInTurns(decodeBatch(batch, this.#options.id));
    if (follower === null) {
      const storing = this.#store(() => change, this.#after(batch));
      // Whoever waits for it hears of it; until then it is not unhandled.
      storing.catch(() => undefined);
      return [storing];
    }
    const kept = function* (view: StoreView): Generator<void, StoreChange> {
      yield* follower.before(view, change);
      return change;
    };
    try {
      await this.#store(kept, this.#after(batch));
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

  async #store(change: (view: StoreView) => Steps<StoreChange>, position: LogHead): Promise<void> {
    try {
      await this.#view.follow(change, position.batch);
      this.#position = position;
    } catch (error) {
      // Nobody knows whether it is stored.
      this.#follower?.onBroken();
      throw error;
    }
  }

  /** Where the log is whole, and another one than this was made of. */
  #void(): ViewVoid {
    this.#isVoid = true;
    this.#follower?.onBroken();
    return new ViewVoid();
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.#turns.enter("");
    try {
      if (this.#isVoid) throw new ViewVoid();
      return await work();
    } catch (error) {
      // What the log holds is wrong on every server, and no view of it can be right.
      if (error instanceof CorruptDataError) this.#follower?.onBroken();
      throw error;
    } finally {
      leave();
    }
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

/** A view that has nothing begins with what the log begins with. */
async function readWhole(log: CommitLog, id: string, view: LogView): Promise<void> {
  try {
    if ((await readCheckpoint(log, id, view)) === "trimmed") throw new ViewVoid();
  } catch (error) {
    throw error instanceof LogTrimmed ? new ViewVoid() : error;
  }
}

/** A view with records that is of no log is of no state of one. */
function positionOf({ head, batch }: LogView, epoch: string): LogHead {
  return { epoch, sequence: head.sequence, batch: batch ?? "" };
}

/** Of the values that a change takes away or puts others in the place of. */
function* replacedBytes(view: LogView, { puts, removes }: StoreChange): Generator<void, number> {
  let bytes = 0;
  for (const { offset } of [...removes, ...puts]) {
    bytes += view.storedBytes(offset);
    yield;
  }
  return bytes;
}

/** Goes through all records. */
async function usageOf(view: LogView): Promise<Usage> {
  let [records, bytes, from] = [0, 0, 0];
  for (let isMore = true; isMore;) {
    isMore = false;
    for (const { offset } of view.scan(from)) {
      records += 1;
      bytes += view.storedBytes(offset);
      from = offset + 1;
      isMore = true;
      if (records % COUNTED_AT_ONCE === 0) break;
    }
    await nextTurn();
  }
  return { records, bytes };
}

/** Only operations get into the log. */
function requireNothing(change: StoreChange): StoreChange {
  assert(change.puts.length + change.removes.length === 0, "a change without an operation");
  return change;
}
