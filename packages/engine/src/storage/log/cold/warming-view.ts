/**
 * A view of a log that answers reads before its records are on this disk: from the object store at first, while a view on the
 * disk is filled from there and from the log, then from that. Both are of the same state when one takes the place of the
 * other, so whoever reads does not notice.
 */
import { type CancelSignal, Cancellation, SheafError, abortable, throwIfAborted } from "@sheaf/protocol";
import { DataAbsent, type PerhapsAbsent } from "../../data-absent.ts";
import { SegmentDamaged } from "../../files/segment-damaged.ts";
import { ForwardingStore } from "../../forwarding-store.ts";
import type { StoreChange, StoreView } from "../../record-store.ts";
import { type Steps, runInTurns } from "../../steps.ts";
import { TurnLock } from "../../turn-lock.ts";
import { within } from "../../within.ts";
import { decodeBatch } from "../batch-codec.ts";
import { isRecordFile } from "../checkpoint-files.ts";
import type { CheckpointPlaces } from "../checkpoint-log.ts";
import { type FoundHead, type LogSizes, LogTrimmed, ViewVoid } from "../commit-log.ts";
import type { LogView } from "../log-view.ts";
import type { ViewedPart } from "../partition-of.ts";
import { readCheckpoint } from "../read-checkpoint.ts";
import { ColdView, readBytesOf } from "./cold-view.ts";

/** All of it, or the share of a partition, is read before the first answer, and is in memory. */
const MOST_LOG_BYTES = 128 * 1024 * 1024;
/** Their directory is in memory. */
const MOST_RECORDS = 4_000_000;
/** What one of them has fetched may make room for another one's before it is used. */
const MOST_ATTEMPTS = 8;
/** A call waits as long for the records as it waits for an opening. */
const WAIT_MS = 10_000;
/** After the opening, and after the last read that had to fetch: the search that a collection was opened for is answered before. */
const FILL_AFTER_MS = 2_000;
/** After the first of these reads, whatever is read. */
const FILL_AT_LAST_MS = 10_000;

export interface WarmingPlaces extends CheckpointPlaces {
  readonly id: string;
  readonly epoch: string;
  /** On this disk, with nothing in it. */
  readonly view: LogView;
  /** Whose records alone the view has. */
  readonly part?: ViewedPart | undefined;
  /** As of `LoggedStoreOptions`. */
  readonly claimCold?: ((checkpointBytes: number) => (() => void) | null) | undefined;
}

export class WarmingView extends ForwardingStore implements LogView, PerhapsAbsent {
  readonly #places: WarmingPlaces;
  readonly #turns = new TurnLock();
  readonly #closing = new Cancellation();
  /** `null`: it is warm. */
  #cold: ColdView | null;
  #view: LogView;
  /** Settles with the filling; rejects where the view cannot be filled. */
  #filling: Promise<void> = Promise.resolve();
  #begin: () => void = () => {};
  readonly #begun = new Promise<void>((resolve) => (this.#begin = resolve));
  #hasBegun = false;
  #beginning: NodeJS.Timeout | undefined;
  #atLast: NodeJS.Timeout | undefined;
  /** Under way that had to fetch. */
  #reads = 0;
  /** What else has to be here. */
  readonly #others: Promise<void>[] = [];
  #isClosed = false;
  /** Of the view in the store, once it is warm. */
  #left: Promise<void> = Promise.resolve();

  readonly #leave: () => void;

  private constructor(places: WarmingPlaces, cold: ColdView, leave: () => void) {
    super(cold);
    this.#places = places;
    this.#leave = leave;
    this.#cold = cold;
    this.#view = cold;
    // Filling finds out whether it still is, and has the collection opened again.
    cold.onDamaged = () => this.#beginNow();
  }

  /** `null`: the view is to be filled first, for lack of a file, or since that takes no longer. */
  static async open(places: WarmingPlaces, sizes: FoundHead & LogSizes): Promise<WarmingView | null> {
    const { partitions = 1 } = places.part ?? {};
    if (sizes.usage === null || sizes.bytes / partitions > MOST_LOG_BYTES) return null;
    const leave = places.claimCold?.(sizes.checkpointBytes) ?? null;
    if (leave === null) return null;
    let cold: ColdView | null = null;
    try {
      cold = await openCold(places);
      return cold && new WarmingView(places, cold, leave);
    } finally {
      if (cold === null) leave();
    }
  }

  /** Of no use: the view on the disk is left as it is. */
  async abandon(): Promise<void> {
    this.#leave();
    await this.#cold?.close();
  }

  /** Will fill the view on the disk; told if that cannot be done. `refresh`: has this view follow the log to its end. */
  start(refresh: () => Promise<void>, onFailed: (error: unknown) => void): void {
    this.#filling = this.#fill(refresh);
    this.#filling.catch((error: unknown) => {
      if (!this.#isClosed) onFailed(error);
    });
  }

  /** Has something else done beside the filling, which ends with both. `false`: it is too late for that. */
  alongside(work: (signal: CancelSignal) => Promise<void>): boolean {
    if (this.#hasBegun) return false;
    const done = this.#begun.then(() => work(this.#closing));
    done.catch(() => undefined);
    this.#others.push(done);
    return true;
  }

  get isCold(): boolean {
    return this.#cold !== null;
  }

  /** 503 where it takes long, or fails. */
  async whenWarm(): Promise<void> {
    if (this.#cold === null) return;
    this.#beginNow();
    await waitFor(this.#filling);
  }

  /** The collection is open: `done` is called once it is warm, if ever. */
  onWarm(done: () => void): void {
    if (this.#cold === null) return done();
    this.#beginSoon();
    this.#filling.then(
      () => this.#cold === null && done(),
      () => {},
    );
  }

  reading(): () => void {
    this.#reads++;
    clearTimeout(this.#beginning);
    return () => {
      this.#reads--;
      this.#beginSoon();
      if (!this.#hasBegun) this.#atLast ??= setTimeout(() => this.#beginNow(), FILL_AT_LAST_MS).unref();
    };
  }

  /** However long it takes. */
  filled(): Promise<void> {
    this.#beginNow();
    return this.#filling;
  }

  /** Until the records with these offsets can be read; `undefined`: they can. */
  prepare(offsets: readonly number[]): Promise<void> | undefined {
    return this.#cold?.prepare(offsets);
  }

  /** Until records can be read that were written after this operation. */
  async prepareAfter(sequence: number, signal: CancelSignal): Promise<void> {
    if (this.#cold === null) return;
    const offsets = this.#cold.offsetsAfter(sequence);
    await abortable(offsets === null ? this.filled() : this.#cold.prepare(offsets), signal);
  }

  get batch(): string | null {
    return this.#view.batch;
  }

  apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    return this.#view.apply(plan);
  }

  storedBytes(offset: number): number {
    return this.#view.storedBytes(offset);
  }

  forgetUpTo(sequence: number): Promise<void> {
    return this.#view.forgetUpTo(sequence);
  }

  /**
   * `work` that has this follow its log. What a change replaces is kept for reads that are open, so it may have to be fetched
   * first: nothing is held meanwhile that others wait for, and `work` begins again. 503 where that takes long.
   */
  async following(work: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof DataAbsent) || error.fetch === null || attempt === MOST_ATTEMPTS) throw error;
        await abortable(waitFor(error.fetch()), this.#closing);
      }
    }
  }

  /** Throws `DataAbsent` as `following` expects it. */
  follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void> {
    if (this.#cold === null) return this.#view.follow(plan, batch);
    return this.#alone(() => this.#view.follow(plan, batch));
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort(new SheafError("unavailable", "the collection is being closed"));
    this.#beginNow();
    await this.#filling.catch(() => undefined);
    await Promise.all([this.#left, this.#cold?.close(), this.#places.view.close()]);
    this.#cold = null;
  }

  #beginSoon(): void {
    clearTimeout(this.#beginning);
    if (this.#hasBegun || this.#reads > 0) return;
    this.#beginning = setTimeout(() => this.#beginNow(), FILL_AFTER_MS).unref();
  }

  #beginNow(): void {
    this.#hasBegun = true;
    clearTimeout(this.#beginning);
    clearTimeout(this.#atLast);
    this.#begin();
  }

  async #fill(refresh: () => Promise<void>): Promise<void> {
    await this.#begun;
    try {
      await this.#fillView();
      await Promise.all(this.#others);
      // It was made of a newer checkpoint.
      if (this.#places.view.head.sequence > this.head.sequence) await abortable(refresh(), this.#closing);
      await this.#alone(() => this.#change());
    } catch (error) {
      this.#closing.abort(error);
      throw error;
    } finally {
      await Promise.allSettled(this.#others);
      this.#leave();
    }
  }

  async #fillView(): Promise<void> {
    const { id, view, part } = this.#places;
    throwIfAborted(this.#closing);
    await readCheckpoint(this.#places, id, view, { part, signal: this.#closing });
    // Most of the log, beside what comes meanwhile.
    await this.#catchUp(this.#closing);
  }

  /** The view on the disk takes the place of the other one. */
  async #change(): Promise<void> {
    const { view } = this.#places;
    await this.#catchUp(this.#closing);
    if (view.batch !== this.#view.batch) throw new ViewVoid();
    const cold = this.#cold!;
    if (cold.keptAfter !== null) view.keepChangesAfter(cold.keptAfter);
    this.#view = view;
    this.#cold = null;
    this.standBefore(view);
    // Not waited for here: reads under way in the store may take long.
    this.#left = cold.close().catch(() => undefined);
  }

  /** Stores what the log has up to the state that is read. */
  async #catchUp(signal: CancelSignal): Promise<void> {
    const { id, epoch, log, view, part } = this.#places;
    const { sequence } = this.head;
    if (view.head.sequence >= sequence) return;
    const after = { epoch, sequence: view.head.sequence, batch: view.batch ?? "" };
    const batches = await log.read(id, after, part?.partition);
    if (batches === "trimmed") throw new ViewVoid();
    try {
      for await (const batch of batches) {
        if (batch.sequence > sequence) return;
        throwIfAborted(signal);
        const change = await runInTurns(decodeBatch(batch, id, part?.partition));
        await view.follow(() => change, batch.id);
      }
    } catch (error) {
      throw error instanceof LogTrimmed ? new ViewVoid() : error;
    }
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.#turns.enter("");
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/** `null`: it cannot be read so. */
async function openCold({ id, log, files, part }: WarmingPlaces): Promise<ColdView | null> {
  const checkpoint = files && (await log.checkpoint(id));
  if (!checkpoint || !isRecordFile(checkpoint.place)) return null;
  const file = await files.open(checkpoint.place, { part }).catch((error: unknown) => unlessDamaged(error));
  if (file === null) return null;
  // The directory of a file that is not cut does not say whose partition a record is of.
  const isOwn = part === undefined || file.isOfPart;
  if (isOwn && file.records <= MOST_RECORDS && file.head.sequence === checkpoint.sequence)
    return ColdView.open(file, checkpoint, readBytesOf(part?.partitions));
  await file.close();
  return null;
}

/** Whoever fills the view finds out, and says so. */
function unlessDamaged(error: unknown): null {
  if (error instanceof SegmentDamaged) return null;
  throw error;
}

/** 503 where it takes longer than a call waits. */
async function waitFor(work: Promise<void>): Promise<void> {
  if (await within(work, WAIT_MS)) return;
  const words = "the records of the collection are being read; try again";
  throw new SheafError("unavailable", words, { retryAfterSeconds: 5 });
}
