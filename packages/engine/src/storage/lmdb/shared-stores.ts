/**
 * LMDB environments that small stores share: a fixed number, over which they are spread by their ids. An environment stays
 * open from its first use on, so a store that is opened and closed again costs no file, no descriptor and no map. Batches of
 * all stores of one environment share commits.
 */
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import type { DiskSpace } from "../folder/disk-space.ts";
import { sharedName } from "../folder/shared-names.ts";
import type { TurnLock } from "../turn-lock.ts";
import type { EntrySource } from "./entry-space.ts";
import type { CompactedFiles } from "./environment-options.ts";
import { EVERY_KEY } from "./key-range.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { SHARE_ID_BYTES, SharedSpace } from "./shared-space.ts";
import { formatUuid } from "../format-uuid.ts";

/** That one commit removes: what is removed behind must not hold up who writes. */
const REMOVED_PER_COMMIT = 1_000;

export interface SharedStoresOptions {
  /** Path of the data folder. */
  readonly path: string;
  readonly disk: DiskSpace;
  readonly largeWrites?: TurnLock;
  /** Nothing can be written. */
  readonly readOnly?: boolean;
  /** Told before LMDB reads an environment for something that is no call on a store of it, and after. */
  readonly onTouch?: ((name: string, touching: boolean) => void) | undefined;
}

export class SharedStores {
  readonly #options: SharedStoresOptions;
  readonly #environments = new Map<string, LmdbEnvironment>();
  /** Id -> stores of it that are open, or are going to be. */
  readonly #open = new Map<string, number>();
  readonly #clearing = new Set<string>();
  /** Environment -> why it must not be read; `null`: for as long as it is checked. */
  #quarantined: ReadonlyMap<string, string | null> = new Map();

  constructor(options: SharedStoresOptions) {
    this.#options = options;
  }

  /** Bytes of the files that are open. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#environments.values()) sum += bytes;
    return sum;
  }

  /**
   * From now on these environments are not read, and no others, and why. Asking for them throws `collection_unavailable`, or
   * `unavailable` for as long as they are checked.
   */
  setQuarantined(reasons: ReadonlyMap<string, string | null>): void {
    this.#quarantined = reasons;
  }

  /** Whether the environment for this id is not to be used now. */
  isKept(id: string): boolean {
    return this.#quarantined.has(sharedName(id));
  }

  /** Says so to whoever watches over the process, for as long as the work takes: it reads an environment, and no call does. */
  async touching<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#options.onTouch?.(name, true);
    try {
      return await work();
    } finally {
      this.#options.onTouch?.(name, false);
    }
  }

  /** `label`: what messages call the store. */
  source(id: string, label: string): EntrySource {
    const share = (environment: LmdbEnvironment): SharedSpace =>
      new SharedSpace(environment, shareId(id), this.reserve(id));
    const name = sharedName(id);
    return {
      name: `${label} in ${name}`,
      isShared: true,
      find: () => {
        const environment = this.#find(name);
        return environment === null ? null : share(environment);
      },
      make: () => share(this.#find(name) ?? this.#make(name)),
    };
  }

  /** Nothing of the store is removed until what it returns is called, once. */
  reserve(id: string): () => void {
    if (this.#clearing.has(id)) throw new Error(`the share of ${id} is being removed`);
    this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
    return () => this.#release(id);
  }

  /** It is open, or is going to be. */
  isReserved(id: string): boolean {
    return this.#open.has(id);
  }

  /** As `reserve`, once nothing of a store that `isLeftBehind` lies there any more. `null`: it is in use, or is not. */
  async reserveEmpty(id: string, isLeftBehind: () => Promise<boolean>): Promise<(() => void) | null> {
    if ((await this.clear(id, isLeftBehind)) !== "cleared") return null;
    return this.#open.has(id) || this.#clearing.has(id) ? null : this.reserve(id);
  }

  /** Removes all entries of a store that is not open, if it `isLeftBehind`: asked once it cannot be opened any more. */
  async clear(
    id: string,
    isLeftBehind: () => Promise<boolean>,
  ): Promise<"cleared" | "in use" | "not left behind"> {
    if (this.#open.has(id) || this.#clearing.has(id)) return "in use";
    if (this.#quarantined.get(sharedName(id)) === null) return "in use";
    this.#clearing.add(id);
    try {
      if (!(await isLeftBehind())) return "not left behind";
      await this.touching(sharedName(id), () => this.#clear(id));
      return "cleared";
    } finally {
      this.#clearing.delete(id);
    }
  }

  async #clear(id: string): Promise<void> {
    const environment = this.#find(sharedName(id));
    if (environment === null) return;
    const start = shareId(id);
    const end = Buffer.concat([start, EVERY_KEY.end]);
    const range = { start, end, limit: REMOVED_PER_COMMIT };
    for (;;) {
      const removed = await environment.transact(() => {
        const keys = environment.keys(range);
        for (const key of keys) environment.remove(key);
        return keys.length;
      });
      if (removed < REMOVED_PER_COMMIT) return;
    }
  }

  /** Ids of all stores that have entries in an environment. It may be written meanwhile. */
  *idsIn(name: string): Generator<string> {
    const environment = this.#find(name);
    if (environment === null) return;
    for (let { start, end } = EVERY_KEY; ;) {
      const [first] = environment.keys({ start, end, limit: 1 });
      if (first === undefined) return;
      const share = Buffer.from(first.subarray(0, SHARE_ID_BYTES));
      yield formatUuid(share);
      start = Buffer.concat([share, EVERY_KEY.end]);
    }
  }

  /** As `LmdbEnvironment.compact`. */
  async compact(name: string, staged: string): Promise<CompactedFiles> {
    const environment = this.#find(name);
    if (environment === null) return { former: 0, copied: 0 };
    return this.touching(name, () => environment.compact(staged));
  }

  /** As long as it is the same number nothing has changed there; 0: there is no such environment. */
  newestTransaction(name: string): number {
    return this.#find(name)?.whole.transaction ?? 0;
  }

  /** Of processes that were killed as they read. */
  forgetDeadReaders(): void {
    for (const environment of this.#environments.values()) environment.forgetDeadReaders();
  }

  /** Once all stores are closed. */
  async close(): Promise<void> {
    const environments = [...this.#environments.values()];
    this.#environments.clear();
    await Promise.all(environments.map((environment) => environment.close()));
  }

  /** `null`: none of its stores was written yet. */
  #find(name: string): LmdbEnvironment | null {
    const reason = this.#quarantined.get(name);
    if (reason === null)
      throw new SheafError("unavailable", "stored data is being checked after a crash", {
        retryAfterSeconds: 1,
      });
    if (reason !== undefined) throw new SheafError("collection_unavailable", reason);
    const known = this.#environments.get(name);
    if (known !== undefined) return known;
    return LmdbEnvironment.exists(join(this.#options.path, name)) ? this.#make(name) : null;
  }

  #make(name: string): LmdbEnvironment {
    const { path, disk, largeWrites: turns, readOnly } = this.#options;
    const environment = new LmdbEnvironment({
      ...{ folder: join(path, name), name, disk, readOnly },
      largeWrites: turns && { turns, owner: "" },
    });
    this.#environments.set(name, environment);
    return environment;
  }

  #release(id: string): void {
    const left = (this.#open.get(id) ?? 1) - 1;
    if (left === 0) this.#open.delete(id);
    else this.#open.set(id, left);
  }
}

/** What stands before each of its keys. */
export function shareId(id: string): Uint8Array {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}
