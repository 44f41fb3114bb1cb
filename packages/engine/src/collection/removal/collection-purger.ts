/**
 * Removes for good what was deleted or replaced: rows that died leave the index files, and the store is copied without its
 * free pages. Goes through the collections again and again, one at a time.
 *
 * What is deleted is gone after two purges: the first removes the bytes of records, the second the ids of removed ones, which
 * conditional commits look at until then. A purge is due an eighth of the time after the one before, waits for a moment in
 * which nobody uses the collection, and for at most a quarter of the time. So both are over well before the time is. The
 * store is copied while it is in use; the collection is closed for a moment, in which the copy takes its place.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { Cancellation, SheafError } from "@sheaf/protocol";
import type { Catalog } from "../../catalog/catalog.ts";
import type { StoreHead } from "../../storage/record-store.ts";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import { replaceStore } from "../../storage/folder/replace-store.ts";
import type { CollectionForker } from "../collection-forker.ts";
import type { CollectionOpener } from "../collection-opener.ts";
import type { CollectionPool } from "../collection-pool.ts";
import { type PurgeMark, hasOnlyAdded, readPurgeMark, writePurgeMark } from "./purge-mark.ts";

/** Shares of the time. */
const DUE = 1 / 8;
const WITHOUT_WAITING = 1 / 4;
const BETWEEN_LOOKS = 1 / 64;
const LONGEST_MS = 3_600_000;

export interface CollectionPurgerOptions {
  readonly catalog: Catalog;
  readonly folder: DataFolder;
  readonly pool: CollectionPool;
  readonly opener: Pick<CollectionOpener, "openStore" | "forget" | "compactStore">;
  readonly forker: Pick<CollectionForker, "alone" | "copy">;
  /** Until bytes of deleted records are gone; infinite: they may stay. */
  readonly afterMs: number;
  readonly onProblem: (error: unknown, collection: string) => void;
}

export class CollectionPurger {
  readonly #options: CollectionPurgerOptions;
  readonly #closing = new Cancellation();
  readonly #stopped = new AbortController();
  readonly #working: Promise<void>;

  constructor(options: CollectionPurgerOptions) {
    this.#options = options;
    this.#working = options.afterMs === Infinity ? Promise.resolve() : this.#run();
  }

  /** After the purge under way. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the engine is being closed"));
    this.#stopped.abort();
    await this.#working;
  }

  async #run(): Promise<void> {
    const pause = Math.min(LONGEST_MS, this.#options.afterMs * BETWEEN_LOOKS);
    while (await this.#pause(pause)) {
      for (const id of await this.#options.catalog.collectionIds(null)) {
        if (this.#closing.aborted) return;
        await this.#look(id);
      }
    }
  }

  /** `false`: it is being closed. */
  async #pause(milliseconds: number): Promise<boolean> {
    await sleep(milliseconds, undefined, { ref: false, signal: this.#stopped.signal }).catch(() => {});
    return !this.#closing.aborted;
  }

  async #look(id: string): Promise<void> {
    const { folder, pool, afterMs, onProblem } = this.#options;
    // Collections may be many.
    await nextTurn();
    try {
      if (folder.collectionBytes(id) === 0) return;
      const mark = readPurgeMark(folder, id);
      const age = Date.now() - mark.at;
      if (age < afterMs * DUE || (age < afterMs * WITHOUT_WAITING && !pool.isIdle(id))) return;
      await this.#purge(id, mark);
    } catch (error) {
      const isGone = error instanceof SheafError && error.code === "not_found";
      if (!this.#closing.aborted && !isGone) onProblem(error, id);
    }
  }

  /** Records that are deleted meanwhile are a matter of the next purge. */
  async #purge(id: string, before: PurgeMark): Promise<void> {
    const { catalog, folder, pool, opener, forker, afterMs } = this.#options;
    const isForgotten = before.forgotten === before.sequence;
    if (isForgotten && (await catalog.entry(id)).logPosition === before.sequence) return;
    const at = Date.now();
    const { sequence, nextOffset } = await this.#head(id);
    const mark = { at, sequence, nextOffset };
    if (isForgotten && hasOnlyAdded(before, mark))
      return writePurgeMark(folder, id, { ...mark, forgotten: sequence });
    await this.#removeQuarantined(id);
    const forgotten = Math.min(before.sequence, await this.#purgeIndex(id));
    if (forgotten > before.forgotten) await pool.whileClosed(id, () => opener.forget(id, forgotten));
    const isLate = at - before.at >= afterMs * WITHOUT_WAITING;
    const done = (): void => writePurgeMark(folder, id, { ...mark, forgotten });
    await forker.alone(() => this.#compact(id, isLate, done));
  }

  /** What is written while the store is copied is not in the copy: then it is left as it is, or closed and copied again. */
  async #compact(id: string, isLate: boolean, done: () => void): Promise<void> {
    const { folder, pool, opener, forker } = this.#options;
    const copy = folder.newTrash();
    try {
      const { sequence } = await this.#head(id);
      await forker.copy(id, copy, this.#closing);
      await pool.whileClosed(id, async () => {
        const isWhole = (await this.#head(id)).sequence === sequence;
        if (isWhole) replaceStore(copy, folder.collection(id));
        else if (isLate) await opener.compactStore(id);
        else return;
        done();
      });
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }

  async #head(id: string): Promise<StoreHead> {
    const open = this.#options.pool.peek(id);
    if (open !== null) return open.head;
    const store = await this.#options.opener.openStore(id);
    try {
      return store.head;
    } finally {
      await store.close();
    }
  }

  /** Returns up to which operation an opening needs no changes. */
  async #purgeIndex(id: string): Promise<number> {
    const { folder, pool } = this.#options;
    if (!existsSync(folder.collectionIndex(id))) return Infinity;
    return pool.use(
      id,
      this.#closing,
      async ({ keeper }, signal) => (await keeper?.purge(signal)) ?? Infinity,
    );
  }

  /** Files that were damaged, in which nothing dies any more. */
  async #removeQuarantined(id: string): Promise<void> {
    const { folder, afterMs } = this.#options;
    const path = join(folder.collectionIndex(id), "quarantine");
    for (const name of await readdir(path).catch(() => [])) {
      const { ctimeMs } = await stat(join(path, name));
      if (Date.now() - ctimeMs >= afterMs * WITHOUT_WAITING) await rm(join(path, name));
    }
  }
}
