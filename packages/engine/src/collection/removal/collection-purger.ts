/**
 * Removes for good what was deleted or replaced: rows that died leave the index files, and the store is copied without its
 * free pages. Goes through the collections again and again, one at a time, and then through the environments that small ones share.
 *
 * What is deleted is gone after two purges: the first removes the bytes of records, the second the ids of removed ones, which
 * conditional commits look at until then. A purge is due an eighth of the time after the one before, waits for a moment in
 * which nobody uses the collection, and for at most a quarter of the time. So both are over well before the time is. The
 * store is copied while it is in use; the collection is closed for a moment, in which the copy takes its place.
 */
import { rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cancellation } from "@sheaf/protocol";
import { isGone } from "../../catalog/collection-entries.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { StoreHead } from "../../storage/record-store.ts";
import { replaceStore } from "../../storage/folder/replace-store.ts";
import { UpkeepRounds } from "../../upkeep-rounds.ts";
import type { CollectionForker } from "../collection-forker.ts";
import type { CollectionOpener } from "../collection-opener.ts";
import type { CollectionPool } from "../collection-pool.ts";
import { purgeIndex, removeQuarantined } from "./purge-index.ts";
import { type PurgeMark, hasOnlyAdded, readPurgeMark, writePurgeMark } from "./purge-mark.ts";
import { DUE, WITHOUT_WAITING } from "./purge-times.ts";
import { SharePurger, type SharePurgerOptions } from "./share-purger.ts";

/** Share of the time. */
const BETWEEN_LOOKS = 1 / 64;
const LONGEST_MS = 3_600_000;

export interface CollectionPurgerOptions extends Omit<SharePurgerOptions, "pool" | "opener" | "forker"> {
  readonly catalog: Catalog;
  readonly pool: CollectionPool;
  readonly opener: Pick<CollectionOpener, "openStore" | "openStoreAt" | "forget" | "compactStore">;
  readonly forker: Pick<CollectionForker, "alone" | "copy">;
}

export class CollectionPurger {
  readonly #options: CollectionPurgerOptions;
  readonly #sharePurger: SharePurger;
  readonly #rounds: UpkeepRounds;

  constructor(options: CollectionPurgerOptions) {
    this.#options = options;
    this.#sharePurger = new SharePurger(options);
    const pauseMs =
      options.afterMs === Infinity ? Infinity : Math.min(LONGEST_MS, options.afterMs * BETWEEN_LOOKS);
    this.#rounds = new UpkeepRounds(pauseMs, async () => {
      await this.#lookAtAll();
      return pauseMs;
    });
  }

  /** After the purge under way. */
  close(): Promise<void> {
    return this.#rounds.close();
  }

  get #closing(): Cancellation {
    return this.#rounds.closing;
  }

  async #lookAtAll(): Promise<void> {
    for (const id of await this.#options.catalog.collectionIds(null)) {
      if (this.#closing.aborted) return;
      await this.#look(id);
    }
    await this.#sharePurger.look(this.#closing);
  }

  async #look(id: string): Promise<void> {
    const { folder, pool, afterMs, onProblem } = this.#options;
    // Collections may be many.
    await nextTurn();
    // What cannot be removed there must not keep the rest from being purged.
    await removeQuarantined(folder.collectionIndex(id), afterMs * WITHOUT_WAITING).catch((error: unknown) =>
      onProblem(error, id),
    );
    try {
      if (folder.collectionBytes(id) === 0) return;
      const mark = readPurgeMark(folder, id);
      const age = Date.now() - mark.at;
      if (age < afterMs * DUE || (age < afterMs * WITHOUT_WAITING && !pool.isIdle(id))) return;
      await this.#purge(id, mark);
    } catch (error) {
      if (!this.#closing.aborted && !isGone(error)) onProblem(error, id);
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
    const forgotten = Math.min(before.sequence, await purgeIndex(id, { folder, pool }, this.#closing));
    if (forgotten > before.forgotten) await pool.whileClosed(id, () => opener.forget(id, forgotten));
    const isLate = at - before.at >= afterMs * WITHOUT_WAITING;
    const done = (): void => writePurgeMark(folder, id, { ...mark, forgotten });
    await forker.alone(() => this.#compact(id, isLate, done));
  }

  /** What is written while the store is copied is not in the copy: then it is left as it is, or closed and copied again. */
  async #compact(id: string, isLate: boolean, done: () => void): Promise<void> {
    const { catalog, folder, pool, opener, forker } = this.#options;
    // It may have moved into a share meanwhile.
    if ((await catalog.entry(id)).shared) return;
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
}
