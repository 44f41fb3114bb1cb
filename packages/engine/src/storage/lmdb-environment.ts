/**
 * One LMDB environment with binary keys and values in its single unnamed database. What this file holds: an action is
 * a child transaction, so that a throwing one leaves nothing; it resolves only when its commit is on disk; actions
 * that wait for a commit share the next one and resolve in order; a full disk is `storage_full`.
 *
 * Groups are made here, one under way at a time, and not by lmdb-js: with its own batching a failed commit rejects a
 * promise that nobody holds, which ends the process.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type RootDatabase, open } from "lmdb";
import { checkFile } from "./check-file.ts";
import { type DataOrigin, damagedStore } from "./corrupt-data-error.ts";
import { type DiskSpace, storageFull } from "./disk-space.ts";

const ENOSPC = 28;
/** LMDB reports a short write as an I/O error; with no space left that is what it was. */
const EIO = 5;
/**
 * Errors of LMDB that its own pages are the reason of: page not found, corrupted, panic, version mismatch, invalid,
 * cursor full, page full, bad transaction (one that met damage before), problem.
 */
const DAMAGE: ReadonlySet<unknown> = new Set([
  -30_797, -30_796, -30_795, -30_794, -30_793, -30_787, -30_786, -30_782, -30_779,
]);
/** lmdb-js settles the cause of a failed commit just after the failure; it must not be able to hang a caller. */
const CAUSE_WAIT_MS = 1_000;
/** LMDB's own bound at its page size. */
const LONGEST_KEY_BYTES = 1_978;
/** Longest stretch that one group may keep the event loop, but for its last action. */
const GROUP_MS = 20;

export interface EnvironmentOptions {
  readonly folder: string;
  /** Path inside the data folder, for messages. */
  readonly name: string;
  readonly disk: DiskSpace;
  /** Go through all pages before LMDB does; otherwise only where there is reason to. */
  readonly thorough?: boolean;
  /** Nothing can be written; the folder has to be there. */
  readonly readOnly?: boolean;
}

export interface KeyRange {
  /** Included. */
  readonly start: Uint8Array;
  /** Excluded. */
  readonly end: Uint8Array;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** What lmdb-js reads out of LMDB; its own type says `any`. */
interface EnvironmentStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly entryCount: number;
}

interface QueuedAction {
  /** Runs it inside the group's transaction; returns what resolves its caller. */
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

export class LmdbEnvironment {
  readonly #database: RootDatabase<Uint8Array, Uint8Array>;
  readonly #options: EnvironmentOptions;
  readonly #queue: QueuedAction[] = [];
  /** Settles when the queue is empty; `null` while it is. Never rejects. */
  #draining: Promise<void> | null = null;
  #committing = false;
  #commits = 0;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
    const isNew = !LmdbEnvironment.exists(options.folder);
    if (!isNew) checkFile(dataFile(options.folder), options.name, options.thorough === true);
    else {
      options.disk.require(0);
      mkdirSync(options.folder, { recursive: true });
    }
    this.#database = open<Uint8Array, Uint8Array>({
      path: options.folder,
      noSubdir: false,
      encoding: "binary",
      keyEncoding: "binary",
      maxDbs: 1,
      // With the default a resolved commit is visible but not yet on disk.
      overlappingSync: false,
      eventTurnBatching: false,
      readOnly: options.readOnly === true,
    });
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

  /** What the entries take of it; the rest is free for the next writes. */
  get usedBytes(): number {
    const stats = this.#stats();
    const { treeBranchPageCount, treeLeafPageCount, overflowPages, pageSize } = stats;
    return (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize;
  }

  /** Entries there are, as the meta page says. */
  get entryCount(): number {
    return this.#stats().entryCount;
  }

  /** As long as it is the same number nothing has changed here; `null`: a commit is under way. */
  get settledState(): number | null {
    return this.#committing ? null : this.#commits;
  }

  origin(key: Uint8Array): DataOrigin {
    return { store: this.#options.name, key };
  }

  get(key: Uint8Array): Uint8Array | null {
    // Nothing can lie under it, and looking for it would write beyond the room that LMDB keeps for keys.
    if (key.length > LONGEST_KEY_BYTES) return null;
    return this.#guard(() => this.#database.getBinary(key)) ?? null;
  }

  /** What `use` makes of a value, which it must not keep: spares the copy. `null`: there is none. */
  peek<T>(key: Uint8Array, use: (value: Uint8Array) => T): T | null {
    const value = this.#guard(() => this.#database.getBinaryFast(key));
    // lmdb-js reads into a buffer of its own, longer than the value, and sets `length` alone.
    return value === undefined ? null : use(value.subarray(0, value.length));
  }

  entries(range: KeyRange): readonly Entry[] {
    return range.limit === 0 ? [] : [...this.iterate(range)];
  }

  /** To be used up or left within the turn that began it. */
  *iterate(range: KeyRange): Generator<Entry> {
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

  /** Too few where the tree is damaged. */
  count(range: KeyRange): number {
    return this.#guard(() => this.#database.getKeysCount(toOptions(range)));
  }

  /** Runs `action` alone, after everything asked before; inside it `put` and `remove` may be called. */
  transact<T>(action: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): (() => void) => {
        const value = this.#database.childTransaction(action);
        return () => resolve(value);
      };
      this.#queue.push({ run, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Only inside `transact`. The value is copied before this returns. */
  put(key: Uint8Array, value: Uint8Array): void {
    this.#database.putSync(key, value);
  }

  remove(key: Uint8Array): void {
    this.#database.removeSync(key);
  }

  /**
   * Copies the state of one moment into a folder that does not exist yet, and resolves when the copy is on disk.
   * Readers and writers go on meanwhile. Throws `storage_full`; what was copied until then stays behind.
   */
  async copyTo(folder: string): Promise<void> {
    const { disk } = this.#options;
    disk.requireFile(statSync(dataFile(this.#options.folder)).size);
    mkdirSync(folder, { recursive: true });
    try {
      // Compacting: a plain copy holds the lock of the writers until it is done.
      await this.#database.backup(folder, true);
      await syncFile(dataFile(folder));
    } catch (error) {
      throw disk.low() ? storageFull(error) : this.#named(error);
    }
    syncFolders(folder);
  }

  async close(): Promise<void> {
    await this.#draining;
    await this.#database.close();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#draining = null;
  }

  async #commitGroup(): Promise<void> {
    const group: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
    const runAll = (): void => {
      const until = performance.now() + GROUP_MS;
      do {
        const action = this.#queue.shift();
        if (action === undefined) return;
        try {
          group.push({ resolve: action.run(), reject: action.reject });
        } catch (error) {
          action.reject(this.#named(error));
        }
      } while (performance.now() < until);
    };
    this.#committing = true;
    try {
      await this.#database.transaction(runAll);
      this.#settled();
      for (const { resolve } of group) resolve();
    } catch (error) {
      this.#settled();
      // A transaction that could not begin has run nothing, and would not begin for those who wait either.
      const failed = group.length > 0 ? group : this.#queue.splice(0);
      const reason = await this.#explain(error);
      for (const { reject } of failed) reject(reason);
    }
  }

  #settled(): void {
    this.#committing = false;
    this.#commits += 1;
  }

  async #explain(error: unknown): Promise<unknown> {
    const cause = await commitCause(error);
    const code = errorCode(cause);
    if (code === ENOSPC || (code === EIO && this.#options.disk.low())) return storageFull(cause);
    return this.#named(cause);
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
    if (!(error instanceof Error) || !DAMAGE.has(errorCode(error))) return error;
    return damagedStore(this.#options.name, error.message, error);
  }
}

function dataFile(folder: string): string {
  return join(folder, "data.mdb");
}

async function syncFile(path: string): Promise<void> {
  const file = await openFile(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function toOptions({ start, end, limit, offset }: KeyRange): {
  start: Uint8Array;
  end: Uint8Array;
  limit?: number;
  offset?: number;
} {
  return {
    start,
    end,
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  };
}

/** A failed commit hides its cause in a promise that ends the process if nobody handles it. */
async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  const pending = Promise.resolve(error.commitError).then(
    () => error,
    (cause: unknown) => cause,
  );
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => resolve(error), CAUSE_WAIT_MS);
  });
  const cause = await Promise.race([pending, timeout]);
  clearTimeout(timer);
  return cause;
}

function errorCode(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** A new file is only safe once the folders that name it are: its own, `<xx>` and `collections` above it. */
function syncFolders(folder: string): void {
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}
