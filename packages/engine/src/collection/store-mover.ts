/**
 * Moves the records of a collection that is not small any more from its share of an environment into one of its own, between
 * two writes. The copy is on disk, and open, before the catalog names it; the same commit marks what stays in the share, which
 * is removed behind. Whatever is killed, the catalog names a store that is whole. Sequence numbers and epoch stay, and with
 * them read tokens; reads under way go on in the copy.
 */
import { existsSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import { placeStore } from "../storage/folder/replace-store.ts";
import type { EntrySource } from "../storage/lmdb/entry-space.ts";
import { NO_ENTRIES } from "../storage/values/value-codec.ts";
import type { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import type { TenantBudget } from "./tenant-quotas.ts";

/** What a collection may hold in a shared environment. */
export interface ShareLimits {
  readonly records: number;
  /** Of keys and values. */
  readonly bytes: number;
  /** Milliseconds from a start until small collections move into shares; the default where it is left out. */
  readonly joinAfterMs?: number;
}

export const SHARE_LIMITS: ShareLimits = Object.freeze({ records: 2_000, bytes: 4 * 2 ** 20 });
/** After one that failed, for lack of room say, or that does not fit the quota. */
const RETRY_MS = 60_000;

export interface StoreMoverOptions {
  readonly id: string;
  readonly store: LmdbRecordStore;
  readonly limits: ShareLimits;
  readonly folder: DataFolder;
  /** The collection's environment of its own. */
  readonly own: () => EntrySource;
  /** Has the catalog name it; `false`: the collection was dropped. */
  readonly leave: () => Promise<boolean>;
  /** Entries of an environment of its own take whole pages, which is more. */
  readonly budget: TenantBudget | null;
  /** The share is left behind. */
  readonly onLeft: () => void;
}

export class StoreMover {
  readonly #options: StoreMoverOptions;
  #notBefore = 0;

  constructor(options: StoreMoverOptions) {
    this.#options = options;
    // Left by a process that was killed before the catalog named it.
    this.#removeCopy();
  }

  /** It has not moved yet. */
  get isShared(): boolean {
    return this.#options.store.isShared;
  }

  /** With so many more records and bytes it holds more than it may. */
  isDue(records = 0, bytes = 0): boolean {
    const { store, limits } = this.#options;
    if (!store.isShared || performance.now() < this.#notBefore) return false;
    const counts = store.counts ?? NO_ENTRIES;
    return counts.records + records > limits.records || counts.bytes + bytes > limits.bytes;
  }

  /** No batch may be under way, and none may begin. */
  async move(): Promise<void> {
    const { id, store, folder, own, leave, budget, onLeft } = this.#options;
    if (!this.isShared) return;
    const staged = folder.newTrash();
    try {
      await store.copyTo(staged);
      placeStore(staged, folder.collection(id));
      const isThere = await store.moveTo(own(), (bytes) => budget?.move(id, bytes, leave) ?? leave());
      if (isThere) onLeft();
    } finally {
      if (this.isShared) {
        this.#notBefore = performance.now() + RETRY_MS;
        this.#removeCopy();
      }
      await rm(staged, { recursive: true, force: true });
    }
  }

  #removeCopy(): void {
    const { folder, id } = this.#options;
    if (!existsSync(folder.collectionFile(id))) return;
    for (const name of ["data.mdb", "lock.mdb"]) rmSync(join(folder.collection(id), name), { force: true });
  }
}
