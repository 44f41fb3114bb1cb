/**
 * Keeps the index of an open collection in files, and opens it from them: the segments of the newest manifest, then what
 * the store did since. What opening leaves out, the look at every record, follows behind the calls. A file that is found
 * damaged is set aside, and only what it had is read from the records: at the opening, or at the next one, for which the
 * collection is closed. Whatever else is found to be wrong ends in an index that is made anew of all records.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type CancelSignal,
  Cancellation,
  type IndexPlan,
  SheafError,
  abortable,
  throwIfAborted,
} from "@sheaf/protocol";
import type { CollectionIndex } from "../index/collection-index.ts";
import { type FileDelays, IndexFiles } from "../index/files/index-files.ts";
import type { RestoredIndex, RestoredSegment } from "../index/files/restore-index.ts";
import type { WriteElsewhere } from "../index/files/segment-sealer.ts";
import type { SealRequest } from "../index/indexer.ts";
import type { AwaitedSegment } from "../index/sealing.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { IndexState } from "../index/files/manifest-draft.ts";
import type { KeyKinds, Manifest } from "../storage/files/manifest.ts";
import { SegmentDamaged } from "../storage/files/segment-damaged.ts";
import { errorCode } from "../storage/lmdb/commit-cause.ts";
import type { SegmentFiles } from "../storage/files/segment-files.ts";
import type { RecordStore, StoreChange } from "../storage/record-store.ts";
import { LOGGED_ROWS, type OpeningProgress, secondsSince } from "./opening/opening-progress.ts";
import { replayChanges } from "./opening/replay-changes.ts";
import { DataAbsent } from "../storage/data-absent.ts";
import type { WarmingView } from "../storage/log/cold/warming-view.ts";
import type { PublishedIndex } from "../publication/published-indexes.ts";
import { putLostRows, withLiveRows } from "./opening/restore-lost-rows.ts";
import type { SchemaInference } from "./schema-inference.ts";
import { RecordVerification } from "./opening/verify-records.ts";
import type { DamagedRecords } from "./damage/damaged-records.ts";

/** Where the files of one collection's index are, and how they are written and read. */
export interface KeptIndexFiles {
  readonly files: SegmentFiles;
  /** UUID of the collection's log. */
  readonly lineage: string;
  readonly delays?: FileDelays | undefined;
  /** Has segments written by the indexer process; by this one if left out. */
  readonly writeElsewhere?: WriteElsewhere | undefined;
  /** Where other servers find the index, and this one if it has lost it. */
  readonly published?: PublishedIndex | undefined;
}

/** The open collection, as its keeper sees it. */
export interface KeptCollection {
  readonly store: RecordStore;
  /** Where records may have to be fetched first; `null`: they are here. */
  readonly warming: WarmingView | null;
  readonly index: CollectionIndex;
  /** Has the index changed after what is under way. */
  readonly change: (steps: Generator<void, void>) => Promise<void> | undefined;
  /** Of all records that were ever in the index. */
  readonly kinds: SchemaInference;
  readonly plan: () => IndexPlan;
  /** Sequence number of the newest operation that the index has. */
  readonly readable: () => number;
  /** Where there are some, the index lacks these records. */
  readonly damaged: Pick<DamagedRecords, "size" | "complete">;
  /** The index cannot be used any more: the collection is to be closed and opened again. */
  readonly onBroken: () => void;
  readonly onProblem: (error: unknown) => void;
  readonly log: (message: string) => void;
}

/** What an opening would find now. */
export interface IndexHealth {
  /** Rows that are in no sealed segment. */
  readonly unsealedRows: number;
  /** Operations that it would replay; `null`: it would read all records, for there is no manifest. */
  readonly replayedOperations: number | null;
  /** Of the newest manifest, which this process wrote; `null`: there is none. */
  readonly manifestAgeMs: number | null;
}

/** Too many open files, or no memory for them. */
const SHORTAGES: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

const POLL_MS = 50;
/** An index begins merges of large segments a second after the last write. */
const RESTED_MS = 1_500;

export class IndexKeeper {
  readonly #collection: KeptCollection;
  readonly #source: KeptIndexFiles;
  readonly #files: IndexFiles;
  readonly #closing = new Cancellation();
  #verification: RecordVerification | null = null;
  #verified: Promise<void> = Promise.resolve();
  #broken = false;

  constructor(source: KeptIndexFiles, collection: KeptCollection) {
    const { index, store, onProblem } = collection;
    this.#collection = collection;
    this.#source = source;
    this.#files = new IndexFiles({
      ...source,
      memory: index.memory,
      onProblem,
      state: () => this.#state(),
      readVector: (segment, docId) => index.readVector(segment, docId),
      isReplacedSoon: (segment) => index.isReplacedSoon(segment),
      onCovered: (covers) => store.keepChangesAfter(covers),
      onInstalled: (manifest) => source.published?.publish(manifest),
      onDamaged: (damage) => this.fail(damage),
      onWritten: () => index.wake(),
    });
    if (source.published === undefined) return;
    source.published.onSpent = (names) => this.#files.renew(names);
    source.published.onDamaged = (damage) => this.fail(damage);
  }

  /**
   * Fills the index, which is empty; `false`: it stays empty, and is to be made of the records. 503 where the files may be
   * whole, and the machine cannot open them now.
   */
  async open(progress: OpeningProgress, signal: CancelSignal): Promise<boolean> {
    const { index, store, warming, onProblem } = this.#collection;
    /** Files that were found damaged once they were open. */
    const setAside = new Set<string>();
    await this.#adopt(signal);
    for (;;) {
      const isCold = warming?.isCold === true;
      try {
        const isRestored = await this.#open(progress, signal);
        if (!isRestored) break;
        store.requireWhole(index.size);
        return true;
      } catch (error) {
        if (signal.aborted) throw error;
        if (SHORTAGES.has(errorCode(error))) throw shortage(error);
        const isAbsent = error instanceof DataAbsent;
        if (!isAbsent && error instanceof SheafError && error.code === "unavailable") {
          // Of the store of its files, say: nothing is known of the index.
          index.reset();
          throw error;
        }
        if (isAbsent || (isCold && !(error instanceof SegmentDamaged))) {
          // It may be the store that refuses, or a record that is damaged there: what the index is worth shows once all is here.
          index.reset();
          await abortable(warming!.filled(), signal);
          continue;
        }
        onProblem(error);
        // One that is found again is not to be set aside.
        if (!(error instanceof SegmentDamaged) || setAside.has(error.file)) break;
        setAside.add(error.file);
        index.reset();
        await this.#source.files.quarantine(error.file).catch(onProblem);
      }
    }
    index.reset();
    this.#source.published?.useless();
    await this.#files.discard().catch(onProblem);
    return false;
  }

  /** The records have everything, whatever becomes of it. */
  async #adopt(signal: CancelSignal): Promise<void> {
    try {
      const { warming } = this.#collection;
      await this.#source.published?.adopt(signal, (work) => warming?.alongside(work) ?? false);
    } catch (error) {
      throwIfAborted(signal);
      this.#collection.onProblem(error);
    }
  }

  get health(): IndexHealth {
    const { index, store } = this.#collection;
    const { covers, installedAt } = this.#files;
    return {
      unsealedRows: index.segments.reduce(
        (sum, { segment, liveCount }) => sum + (segment.isSealed ? 0 : liveCount),
        0,
      ),
      replayedOperations: covers === null ? null : store.head.sequence - covers,
      manifestAgeMs: installedAt === null ? null : performance.now() - installedAt,
    };
  }

  /** The index is full, by `open` or of the records, and its files are here. */
  opened(isRestored: boolean): void {
    const { store, index, readable } = this.#collection;
    for (const { segment } of index.segments) if (segment.isSealed) segment.memory.unpin();
    if (isRestored) {
      const isSettled = (): boolean => store.head.sequence === readable();
      this.#verification = new RecordVerification({ store, index, isSettled });
      this.#verified = this.#verify(this.#verification);
    }
    const { installed } = this.#files;
    if (installed !== null) this.#source.published?.publish(installed);
    this.#files.changed();
  }

  /** Has sources written as one segment elsewhere; `null`: the index has to do it. */
  seal(request: SealRequest): AwaitedSegment | null {
    return this.#broken ? null : this.#files.seal(request);
  }

  /** As `FiledSegments`. */
  reopen(segment: SealedSegment, nextId: () => number): AwaitedSegment | null {
    return this.#broken ? null : this.#files.reopen(segment, nextId);
  }

  /** Files of segments are being written. */
  get isWriting(): boolean {
    return this.#files.isWriting;
  }

  /** Closed, it would soon be open again: of its files, for there is a manifest, and nothing is being built, written or published. */
  get isAtRest(): boolean {
    const { isWriting, covers } = this.#files;
    const isBusy = isWriting || this.#source.published?.isPublishing === true;
    return !this.#broken && covers !== null && !isBusy && !this.#collection.index.isBuilding;
  }

  /** Has segments give vectors back that their files have, where the memory is short by now, or load them where it is not. */
  adapt(): void {
    this.#collection.index.wake();
  }

  /**
   * Rows that have died by now leave the files. Returns up to which operation these cover all that there is, infinity where
   * there are none.
   */
  async purge(signal: CancelSignal): Promise<number> {
    const { index, change } = this.#collection;
    await change(index.purge());
    while (index.isPurging && !this.#broken) {
      throwIfAborted(signal);
      throwIfAborted(this.#closing);
      await sleep(POLL_MS, undefined, { ref: false });
    }
    await this.#files.settle();
    return this.#files.covers ?? Infinity;
  }

  /** Has all sealed that is worth it while nobody writes, and published. Rejects where that could not be. */
  async share(signal: CancelSignal): Promise<void> {
    for (let restedAt = performance.now(); performance.now() - restedAt < RESTED_MS;) {
      throwIfAborted(signal);
      throwIfAborted(this.#closing);
      await sleep(POLL_MS, undefined, { ref: false });
      if (this.#broken) throw new SheafError("unavailable", "the index is being made anew");
      if (this.#collection.index.isBuilding) restedAt = performance.now();
    }
    await this.#files.settle();
    await this.#source.published?.settle();
  }

  /** Segments were sealed. */
  sealed(): void {
    this.#files.sealed();
  }

  /** The index has a change. */
  changed(change: StoreChange): void {
    this.#verification?.changed(change);
    this.#files.changed();
  }

  /** Something is wrong with the index or its files. */
  fail(error: unknown): void {
    if (this.#broken || this.#closing.aborted) return;
    this.#broken = true;
    this.#collection.onProblem(error);
    if (error instanceof SegmentDamaged) this.#source.published?.doubt();
    else this.#source.published?.useless();
    this.#files.abandon(error);
    this.#collection.onBroken();
  }

  /** Before the index and the store are closed. */
  async close(): Promise<void> {
    this.#closing.abort(new SheafError("unavailable", "the collection is being closed"));
    await this.#verified;
    await this.#source.published?.close();
    await this.#files.close();
  }

  async #open(progress: OpeningProgress, signal: CancelSignal): Promise<boolean> {
    const { store, index, kinds, plan } = this.#collection;
    const restored = await this.#files.restore({ head: store.head, plan: plan(), signal });
    if (restored === null) return false;
    const { manifest } = restored;
    // Of a view that was made anew only newer operations are known, not which records older ones have changed.
    const isReplayed = store.changesAfter(manifest.covers) !== "trimmed";
    const lost = lostFiles(restored, isReplayed);
    const onRestored = lost === null ? null : progress.restoringLost(lost);
    const live = isReplayed ? restored : { ...restored, isLiveUnknown: true };
    await this.#fetchNeeded(restored, isReplayed, signal);
    index.restore(await this.#withLiveRows(live, signal), manifest.head.nextOffset);
    kinds.add(kindsOf(manifest));
    store.keepChangesAfter(manifest.covers);
    progress.replaying(index.size, store.head.sequence - manifest.covers);
    const target = { index, kinds, progress };
    if (isReplayed && !(await replayChanges(store, manifest.covers, target, signal))) return false;
    if (onRestored !== null) onRestored(await putLostRows(store, target, signal));
    return true;
  }

  /** What cannot wait, or begin again, once it is needed; where files are lost more is, which is found out. */
  async #fetchNeeded(
    { manifest, segments }: RestoredIndex,
    isReplayed: boolean,
    signal: CancelSignal,
  ): Promise<void> {
    try {
      if (!isReplayed) await this.#collection.warming?.prepareAfter(manifest.covers, signal);
      // Whatever changes the index looks rows up.
      await Promise.all(segments.map(async ({ segment }) => segment.prepare({ docs: "lookup" }, { signal })));
    } catch (error) {
      for (const { segment } of segments) segment.close();
      throw error;
    }
  }

  async #withLiveRows(
    { segments, isLiveUnknown }: RestoredIndex,
    signal: CancelSignal,
  ): Promise<readonly RestoredSegment[]> {
    return isLiveUnknown ? withLiveRows(this.#collection.store, segments, signal) : segments;
  }

  async #verify(verification: RecordVerification): Promise<void> {
    const { index, log, damaged } = this.#collection;
    const rows = index.size;
    const startedAt = performance.now();
    const tell = (message: string): void => {
      if (rows >= LOGGED_ROWS && !this.#closing.aborted) log(message);
    };
    tell(`verifying ${rows} records`);
    try {
      await verification.run(this.#closing);
      damaged.complete();
      tell(`verified ${rows} records in ${secondsSince(startedAt)} s`);
    } catch (error) {
      this.fail(error);
    } finally {
      this.#verification = null;
    }
  }

  #state(): IndexState | null {
    const { store, index, kinds, plan, readable, damaged } = this.#collection;
    if (this.#broken || damaged.size > 0) return null;
    return {
      entries: index.segments,
      plan: plan(),
      head: store.head,
      readable: readable(),
      kinds: () => [...kinds.all].map(([key, kinds]): KeyKinds => ({ key, kinds: [...kinds] })),
    };
  }
}

function kindsOf({ kinds }: Manifest): Map<string, Set<KeyKinds["kinds"][number]>> {
  return new Map(kinds.map(({ key, kinds: ofKey }) => [key, new Set(ofKey)]));
}

/** In words; `null`: all files are there. */
function lostFiles({ lost, isLiveUnknown }: RestoredIndex, isReplayed: boolean): string | null {
  const rows = lost.reduce((sum, file) => sum + file.rows, 0);
  const parts = lost.length > 0 ? [`segments: ${lost.length}, rows: ${rows} at most`] : [];
  if (isLiveUnknown) parts.push("the list of dead rows");
  if (!isReplayed) parts.push("the list of later operations");
  return parts.length > 0 ? parts.join("; ") : null;
}

function shortage(cause: unknown): SheafError {
  const message = "the process cannot open more index files now; try again";
  return new SheafError("unavailable", message, { retryAfterSeconds: 5, cause });
}
