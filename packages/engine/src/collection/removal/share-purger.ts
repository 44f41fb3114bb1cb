/**
 * Removes for good what was deleted in collections that share environments. As in an environment of its own, this takes two
 * purges: each compacts the environment, which has the bytes of records leave, and the second forgets the ids of what was
 * removed before the first. Collections stay in use meanwhile; the few of them in which records were removed are closed for a
 * moment. Only what is written while the environment is copied has it copied again while its writers wait.
 */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { takeSlice } from "@sheaf/process";
import type { Cancellation } from "@sheaf/protocol";
import { isGone } from "../../catalog/collection-entries.ts";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { SharedStores } from "../../storage/lmdb/shared-stores.ts";
import type { StoreHead } from "../../storage/record-store.ts";
import { sharedNames } from "../../storage/folder/shared-names.ts";
import type { CollectionForker } from "../collection-forker.ts";
import type { CollectionOpener } from "../collection-opener.ts";
import type { CollectionPool } from "../collection-pool.ts";
import type { DeleteBehind } from "./delete-behind.ts";
import { purgeIndex } from "./purge-index.ts";
import { hasOnlyAdded, readPurgeMark, writePurgeMark } from "./purge-mark.ts";
import { DUE } from "./purge-times.ts";

export interface SharePurgerOptions {
  readonly folder: DataFolder;
  readonly shares: Pick<SharedStores, "compact" | "idsIn" | "newestTransaction" | "touching">;
  readonly pool: Pick<CollectionPool, "use" | "whileClosed">;
  readonly opener: Pick<CollectionOpener, "openStoreAt" | "forget">;
  readonly forker: Pick<CollectionForker, "alone">;
  readonly deleteBehind: Pick<DeleteBehind, "isHeld">;
  /** Until bytes of deleted records are gone; infinite: they may stay. */
  readonly afterMs: number;
  readonly onProblem: (error: unknown, collection: string) => void;
}

type CompactedFiles = Awaited<ReturnType<SharedStores["compact"]>>;

const NOT_KNOWN = -1;

/** Of the last purge of an environment. */
interface ShareMark {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Number of the newest transaction there, all of which it has seen; `NOT_KNOWN`: it was never purged, or written to meanwhile. */
  readonly transaction: number;
  /** Collections whose removed records still have their ids there -> operations that the next purge forgets. */
  readonly removed: Readonly<Record<string, number>>;
}

export class SharePurger {
  readonly #options: SharePurgerOptions;

  constructor(options: SharePurgerOptions) {
    this.#options = options;
  }

  /** Purges the environments that are due. */
  async look(closing: Cancellation): Promise<void> {
    for (const name of sharedNames()) {
      if (closing.aborted) return;
      try {
        await this.#look(name, closing);
      } catch (error) {
        if (!closing.aborted) this.#options.onProblem(error, "");
      }
    }
  }

  async #look(name: string, closing: Cancellation): Promise<void> {
    const { shares, afterMs } = this.#options;
    const before = this.#readMark(name);
    if (before === null || Date.now() - before.at < afterMs * DUE) return;
    await shares.touching(name, () => this.#purge(name, before, closing));
  }

  async #purge(name: string, before: ShareMark, closing: Cancellation): Promise<void> {
    const { shares } = this.#options;
    const at = Date.now();
    const isSame = shares.newestTransaction(name) === before.transaction;
    if (isSame && Object.keys(before.removed).length === 0) return this.#writeMark(name, { ...before, at });
    for (const [id, sequence] of Object.entries(before.removed)) await this.#forget(id, sequence, closing);
    const seen = shares.newestTransaction(name);
    const { removed, isWhole } = await this.#purgeIndexes(name, closing);
    const files = closing.aborted ? null : await this.#compact(name);
    if (files === null) return;
    // What was written meanwhile is a matter of the next purge: it may have removed something.
    const transaction = isWhole && files.former === seen ? files.copied : NOT_KNOWN;
    this.#writeMark(name, { at, transaction, removed });
  }

  async #forget(id: string, upTo: number, closing: Cancellation): Promise<void> {
    const { pool, opener, folder } = this.#options;
    try {
      const forgotten = Math.min(upTo, await purgeIndex(id, { folder, pool }, closing));
      await pool.whileClosed(id, () => opener.forget(id, forgotten));
    } catch (error) {
      // Dropped meanwhile, or damaged: then it is looked at with the next purge.
      if (!isGone(error) && !closing.aborted) this.#options.onProblem(error, id);
    }
  }

  /**
   * Rows that died leave the files of the indexes. `removed`: collections in which records were removed whose ids are still
   * there; `isWhole`: no index has to be tried again.
   */
  async #purgeIndexes(
    name: string,
    closing: Cancellation,
  ): Promise<{ readonly removed: ShareMark["removed"]; readonly isWhole: boolean }> {
    const { shares, onProblem } = this.#options;
    const removed: Record<string, number> = {};
    let isWhole = true;
    for (const id of shares.idsIn(name)) {
      await takeSlice("");
      if (closing.aborted) break;
      const state = await this.#state(id);
      if (state === null) continue;
      if (state.hasRemoved) removed[id] = state.head.sequence;
      try {
        await this.#purgeIndex(id, state.head, closing);
      } catch (error) {
        if (closing.aborted || isGone(error)) continue;
        isWhole = false;
        onProblem(error, id);
      }
    }
    return { removed, isWhole };
  }

  /** Replaced records leave no trace but dead rows: the state of the last purge of these files is kept beside them. */
  async #purgeIndex(id: string, { sequence, nextOffset }: StoreHead, closing: Cancellation): Promise<void> {
    const { folder, pool } = this.#options;
    const mark = { at: Date.now(), sequence, nextOffset, forgotten: 0 };
    if (!existsSync(folder.collectionIndex(id)) || hasOnlyAdded(readPurgeMark(folder, id), mark)) return;
    await purgeIndex(id, { folder, pool }, closing);
    writePurgeMark(folder, id, mark);
  }

  /** `null`: it cannot be told. */
  async #state(id: string): Promise<{ readonly head: StoreHead; readonly hasRemoved: boolean } | null> {
    try {
      const store = this.#options.opener.openStoreAt({ id, shared: true });
      try {
        const { head } = store;
        for (const _ of store.removedAfter(0)) return { head, hasRemoved: true };
        return { head, hasRemoved: false };
      } finally {
        await store.close();
      }
    } catch {
      // Damaged, or being cleared.
      return null;
    }
  }

  /** `null`: a backup is being made, which goes by the files as they are. */
  #compact(name: string): Promise<CompactedFiles | null> {
    const { folder, shares, forker, deleteBehind } = this.#options;
    return forker.alone(async () => {
      if (deleteBehind.isHeld) return null;
      const staged = folder.newTrash();
      try {
        return await shares.compact(name, staged);
      } finally {
        await rm(staged, { recursive: true, force: true });
      }
    });
  }

  /** `null`: there is no such environment. */
  #readMark(name: string): ShareMark | null {
    const made = statSync(join(this.#options.folder.path, name, "data.mdb"), { throwIfNoEntry: false });
    if (made === undefined) return null;
    try {
      const value: unknown = JSON.parse(readFileSync(this.#markFile(name), "utf8"));
      if (isMark(value)) return value;
    } catch {
      // Not there, or not written to its end: the age of the file counts, for nothing in it can be older.
    }
    return { at: made.birthtimeMs, transaction: NOT_KNOWN, removed: {} };
  }

  #writeMark(name: string, mark: ShareMark): void {
    const path = this.#markFile(name);
    writeFileSync(`${path}.new`, JSON.stringify(mark));
    renameSync(`${path}.new`, path);
  }

  #markFile(name: string): string {
    return join(this.#options.folder.path, name, "purged.json");
  }
}

function isMark(value: unknown): value is ShareMark {
  if (typeof value !== "object" || value === null) return false;
  const { at, transaction, removed } = value as Partial<Record<keyof ShareMark, unknown>>;
  const isCounted = Number.isFinite(at) && Number.isFinite(transaction);
  return (
    isCounted &&
    typeof removed === "object" &&
    removed !== null &&
    Object.values(removed).every(Number.isFinite)
  );
}
