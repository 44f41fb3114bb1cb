/**
 * One LMDB environment with binary keys and values in its single unnamed database. What this file holds: an action
 * that throws leaves nothing; it resolves only when its commit is on disk; actions that wait for a commit share the
 * next one and resolve in order; a full disk is `storage_full`.
 *
 * Groups are made here, one under way at a time, and not by lmdb-js: with its own batching a failed commit rejects a
 * promise that nobody holds, which ends the process. What a group writes is gathered in memory first, then described to a
 * thread of lmdb-js, which puts the pages together and commits them: put from here, a commit takes twice as long of this thread.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { beginSlice, isSliceOver } from "@sheaf/process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkFile } from "./check-file.ts";
import { TouchedKeys, copyEntries, copyKeys } from "./copy-entries.ts";
import { commitCause, isDamage, isDiskFull } from "./commit-cause.ts";
import { DescribedCommit } from "./described-commit.ts";
import { type DataOrigin, damagedStore } from "../corrupt-data-error.ts";
import { type DiskClaim, type DiskSpace, storageFull } from "../folder/disk-space.ts";
import { CommitSize } from "../commit-size.ts";
import type { EntrySpace } from "./entry-space.ts";
import { EnvironmentCounts } from "./environment-counts.ts";
import type { CompactedFiles, EnvironmentOptions } from "./environment-options.ts";
import { type EnvironmentStats, lacksFreeList, makeFreeList } from "./free-list.ts";
import { type KeyRange, toOptions } from "./key-range.ts";
import { type Steps, isInSteps, runInTurns, startSteps } from "../steps.ts";
import { type Entry, type EntryWrite, overlaid } from "../entries.ts";
import {
  type BinaryDatabase,
  forgetDatabase,
  greatestKey,
  openDatabase,
  openInPlace,
} from "./open-database.ts";
import { PendingWrites, stretch } from "./pending-writes.ts";
import { syncFile, syncFolders } from "../folder/sync-files.ts";

/** LMDB's own bound at its page size. */
const LONGEST_KEY_BYTES = 1_978;
/** What the actions of one group may take, but for its last one; the event loop turns in between. */
const GROUP_MS = 20;
/** Fewer entries are not worth a look at where the tree ends. */
const LEAST_APPENDED = 16;

interface QueuedAction {
  /** Runs it on what the group has so far; returns what resolves its caller. */
  readonly run: () => (() => void) | Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

interface CommittedAction {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class LmdbEnvironment implements EntrySpace {
  /** LMDB counts. */
  readonly tally = null;
  readonly whole = new EnvironmentCounts(() => this.#stats());
  #database: BinaryDatabase;
  readonly #options: EnvironmentOptions;
  #description: DescribedCommit;
  readonly #queue: QueuedAction[] = [];
  /** To be done between two commits. They never reject. */
  readonly #between: (() => Promise<void>)[] = [];
  /** Keys that were written since a copy was begun; `null`: none is being made. */
  #touched: TouchedKeys | null = null;
  readonly #pending = new PendingWrites();
  readonly #claims: DiskClaim[] = [];
  /** An action is under way. */
  #running = false;
  #hasFreeList = false;
  readonly #size: CommitSize;
  /** Settles when the queue is empty; `null` while it is. Never rejects. */
  #draining: Promise<void> | null = null;
  #committing = false;
  #commits = 0;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
    this.#size = new CommitSize(options.largeWrites?.turns, options.largeWrites?.owner);
    const isNew = !LmdbEnvironment.exists(options.folder);
    if (!isNew) checkFile(dataFile(options.folder), options.name, options.thorough ?? false);
    else {
      if (options.usesReserve === true) options.disk.requireCatalog();
      else options.disk.require(0);
      mkdirSync(options.folder, { recursive: true });
    }
    this.#database = openDatabase(options.folder, options.readOnly);
    this.#description = new DescribedCommit(this.#database, options);
    if (isNew) syncFolders(options.folder);
  }

  static exists(folder: string): boolean {
    return existsSync(dataFile(folder));
  }

  get disk(): DiskSpace {
    return this.#options.disk;
  }

  /** Size of the file. */
  get bytes(): number {
    const { pageSize, lastPageNumber } = this.#stats();
    return (lastPageNumber + 1) * pageSize;
  }

  /** As long as it is the same number nothing has changed here; `null`: a commit is under way. */
  get settledState(): number | null {
    return this.#committing ? null : this.#commits;
  }

  origin(key: Uint8Array): DataOrigin {
    return { store: this.#options.name, key };
  }

  /** In `transact`, this and all that reads below see what the group has written so far. */
  get(key: Uint8Array): Uint8Array | null {
    // Nothing can lie under it, and looking for it would write beyond the room that LMDB keeps for keys.
    if (key.length > LONGEST_KEY_BYTES) return null;
    const written = this.#written(key);
    if (written !== undefined) return written.value?.slice() ?? null;
    return this.#guard(() => this.#database.getBinary(key)) ?? null;
  }

  /** `get` without a copy: what it returns is another value after the next read. */
  peek(key: Uint8Array): Uint8Array | null {
    if (key.length > LONGEST_KEY_BYTES) return null;
    const written = this.#written(key);
    if (written !== undefined) return written.value;
    try {
      const value = this.#database.getBinaryFast(key);
      if (this.#running) this.#size.add(value?.length ?? 0);
      // lmdb-js reads into a buffer of its own, longer than the value, and sets `length` alone.
      return value === undefined ? null : value.subarray(0, value.length);
    } catch (error) {
      throw this.#named(error);
    }
  }

  entries(range: KeyRange): readonly Entry[] {
    return range.limit === 0 ? [] : [...this.iterate(range)];
  }

  /** To be used up or left within the turn that began it, and before the next change. */
  iterate(range: KeyRange): IterableIterator<Entry> {
    const isOverlaid = this.#running && range.isCommitted !== true;
    const written = isOverlaid ? this.#pending.within(range.start, range.end) : [];
    if (written.length === 0) return this.#committed(range);
    const { limit = Infinity, offset = 0, ...bounds } = range;
    return stretch(overlaid(this.#committed(bounds), written), offset, limit);
  }

  /** Of what is committed, the keys alone. */
  keys(range: KeyRange): readonly Uint8Array[] {
    return this.#guard(() => [...this.#database.getKeys(toOptions(range))]);
  }

  /** Too few where the tree is damaged. */
  count(range: Pick<KeyRange, "start" | "end">): number {
    const committed = this.#guard(() => this.#database.getKeysCount(toOptions(range)));
    if (!this.#running) return committed;
    const exists = (key: Uint8Array): boolean => this.#guard(() => this.#database.doesExist(key));
    return committed + this.#pending.growth(range, exists);
  }

  /**
   * Runs `action` alone, after everything asked before; inside it `put` and `remove` may be called. Where it gives steps,
   * the event loop turns in between: readers then see what is committed, and no other action comes in.
   */
  transact<T>(action: () => Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): (() => void) | Promise<() => void> => {
        const before = this.#pending.size;
        const value = this.#pending.run(() => {
          const steps = action();
          return isInSteps(steps) ? startSteps(steps) : steps;
        });
        if (!isInSteps(value)) return () => resolve(value);
        return this.#runSteps(value, before).then((result) => () => resolve(result));
      };
      this.#queue.push({ run, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Only inside `transact`. The key must stay as it is, and a value that is `isOwned`; any other is copied. */
  put(key: Uint8Array, value: Uint8Array, isOwned = false): void {
    if (key.length > LONGEST_KEY_BYTES) throw new RangeError(`a key of ${key.length} bytes`);
    this.#size.add(value.length);
    this.#pending.put(key, value, isOwned);
  }

  /** Only inside `transact`: throws `storage_full` unless so many bytes more have room, which is kept for this commit. */
  claim(bytes: number): void {
    this.#claims.push(this.#options.disk.claim(bytes));
  }

  /** Only inside `transact`. */
  remove(key: Uint8Array): void {
    if (key.length <= LONGEST_KEY_BYTES) this.#pending.remove(key);
  }

  /**
   * Copies the state of one moment into a folder that does not exist yet, and resolves when the copy is on disk.
   * Readers and writers go on meanwhile. Throws `storage_full`; what was copied until then stays behind.
   */
  async copyTo(folder: string): Promise<void> {
    const { disk } = this.#options;
    const claim = disk.claimFile(statSync(dataFile(this.#options.folder)).size);
    try {
      mkdirSync(folder, { recursive: true });
      // Compacting: a plain copy holds the lock of the writers until it is done.
      await this.#database.backup(folder, true);
      await syncFile(dataFile(folder));
    } catch (error) {
      throw disk.problem() !== null ? storageFull("", error) : this.#named(error);
    } finally {
      claim.release();
    }
    syncFolders(folder);
  }

  /**
   * Puts a copy that has nothing of removed entries in the place of its file. `staged`: a folder that does not exist yet, on
   * the same file system. Reads and commits go on; while what was committed meanwhile is copied too, commits wait. What they
   * remove may leave something behind. Whatever is killed, the former file is there or the copy. Throws `storage_full`.
   */
  async compact(staged: string): Promise<CompactedFiles> {
    const touched = (this.#touched = new TouchedKeys());
    const { name, disk, folder } = this.#options;
    const copy = new LmdbEnvironment({ folder: staged, name, disk });
    let isOpen = true;
    try {
      await copyEntries(this, copy);
      return await this.#betweenCommits(async () => {
        await copyKeys(this, copy, touched.all());
        isOpen = false;
        await copy.close();
        const former = this.whole.transaction;
        const database = this.#database;
        this.#database = await openInPlace(staged, folder);
        this.#description = new DescribedCommit(this.#database, this.#options);
        this.#hasFreeList = false;
        await database.close();
        forgetDatabase(folder, database);
        return { former, copied: this.whole.transaction };
      });
    } finally {
      this.#touched = null;
      if (isOpen) await copy.close();
    }
  }

  #betweenCommits<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      this.#draining ??= this.#drain();
    });
  }

  /** Of processes that were killed as they read: what they had been reading is kept until then. */
  forgetDeadReaders(): void {
    this.#database.readerCheck();
  }

  async close(): Promise<void> {
    await this.#draining;
    await this.#database.close();
    forgetDatabase(this.#options.folder, this.#database);
  }

  async #drain(): Promise<void> {
    // Callers whose requests came in one message ask in the same turn.
    await Promise.resolve();
    while (this.#queue.length + this.#between.length > 0) {
      for (const work of this.#between.splice(0)) await work();
      const isLong = await this.#commitGroup();
      // What callers do with a large write is long too. Whoever else has asked meanwhile comes before the next one:
      // the first turn handles what the loop has seen, the second what has arrived since.
      if (isLong) for (let turn = 0; turn < 2; turn++) await nextTurn();
    }
    this.#draining = null;
  }

  /** Whether its actions took long. */
  async #commitGroup(): Promise<boolean> {
    this.#committing = true;
    const startedAt = performance.now();
    const group = await this.#runGroup();
    const isLong = performance.now() - startedAt >= GROUP_MS;
    try {
      if (this.#pending.size > 0) await this.#commit();
      this.#settled();
      for (const { resolve } of group) resolve();
    } catch (error) {
      this.#settled();
      const reason = await this.#explain(error);
      for (const { reject } of group) reject(reason);
    }
    return isLong;
  }

  /** No commit is under way, so what is committed is what the former group left. */
  async #runGroup(): Promise<CommittedAction[]> {
    const group: CommittedAction[] = [];
    for (let spent = 0; spent < GROUP_MS && this.#queue.length > 0;) {
      if (isSliceOver()) await this.#size.pause();
      beginSlice();
      const action = this.#queue.shift()!;
      const startedAt = performance.now();
      this.#running = true;
      try {
        const ran = action.run();
        group.push({ resolve: ran instanceof Promise ? await ran : ran, reject: action.reject });
      } catch (error) {
        action.reject(this.#named(error));
      }
      this.#running = false;
      spent += performance.now() - startedAt;
    }
    return group;
  }

  async #runSteps<T>(steps: Generator<void, T>, before: number): Promise<T> {
    try {
      return await runInTurns(steps, {
        onRunning: (isRunning) => (this.#running = isRunning),
        pause: () => this.#size.pause(),
      });
    } catch (error) {
      this.#pending.undoTo(before);
      throw error;
    }
  }

  /** Everything pending in one transaction, committed and synced on a thread of lmdb-js. */
  async #commit(): Promise<void> {
    if (!this.#hasFreeList && lacksFreeList(this.#stats())) await makeFreeList(this.#database);
    this.#hasFreeList = true;
    const { size } = this.#pending;
    const last = size < LEAST_APPENDED ? null : greatestKey(this.#database);
    await this.#description.commit(
      (target) => this.#pending.writeTo(target, last),
      () => this.#size.pause(),
    );
  }

  #written(key: Uint8Array): EntryWrite | undefined {
    return this.#running ? this.#pending.find(key) : undefined;
  }

  *#committed(range: KeyRange): Generator<Entry> {
    const entries = this.#guard(() => this.#database.getRange(toOptions(range))[Symbol.iterator]());
    try {
      for (;;) {
        const next = this.#guard(() => entries.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      entries.return?.();
    }
  }

  #settled(): void {
    this.#touched?.add(this.#pending.keys());
    this.#pending.clear();
    for (const claim of this.#claims.splice(0)) claim.release();
    this.#size.reset();
    this.#committing = false;
    this.#commits += 1;
  }

  async #explain(error: unknown): Promise<unknown> {
    const cause = await commitCause(error);
    return isDiskFull(cause, this.#options.disk) ? storageFull("", cause) : this.#named(cause);
  }

  #stats(): EnvironmentStats {
    return this.#guard(() => this.#database.getStats()) as EnvironmentStats;
  }

  #guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.#named(error);
    }
  }

  /** What LMDB finds wrong with its own pages says nothing of where they are. */
  #named(error: unknown): unknown {
    return isDamage(error) ? damagedStore(this.#options.name, error.message, error) : error;
  }
}

function dataFile(folder: string): string {
  return join(folder, "data.mdb");
}
