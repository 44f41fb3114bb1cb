/**
 * Moves small collections that have environments of their own into shared ones, behind the calls: those of a folder that an
 * earlier version has made, those that were restored from a backup, and those that have become small. It goes by the folders of
 * `collections/`, and collections that share environments have none there, so a start with many of them costs nothing.
 *
 * A collection is moved while nobody uses it, and closed for that; whoever asks for it meanwhile waits. Its share is announced
 * before the first entry is copied and named by the catalog once all of them are on disk, and the files of its own go last. So
 * whatever is killed, the catalog names a store that is whole, and what is left of the other is removed: a share by its mark,
 * files here or when the collection is opened.
 */
import { existsSync, readdirSync, rmSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { takeSlice } from "@sheaf/process";
import { isGone } from "../../catalog/collection-entries.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CollectionEntry } from "../../catalog/catalog-codec.ts";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { SharedStores } from "../../storage/lmdb/shared-stores.ts";
import type { CollectionForker } from "../collection-forker.ts";
import type { CollectionOpener } from "../collection-opener.ts";
import type { CollectionPool } from "../collection-pool.ts";
import type { DeleteBehind } from "../removal/delete-behind.ts";
import { UpkeepRounds } from "../../upkeep-rounds.ts";
import { SHARE_LIMITS, type ShareLimits } from "../store-mover.ts";
import type { TenantBudgets } from "../tenant-quotas.ts";

/** Of what a collection may hold in a share: one that is moved there does not leave it again with the next write. */
const MOST_HELD = 1 / 2;
/** Of a file beside keys and values: pages that are not full, and free ones. */
const FILE_OVERHEAD = 2 ** 18;
/** They share commits, and who wants to fork waits for them. */
const AT_ONCE = 8;
/** Where the limits do not say. A start has better things to do. */
const FIRST_MS = 10_000;
/** Until collections that were in use are looked at again, times the first. */
const LATER = 6;
/** Until all are looked at again, times the first: an hour. Some are written for the first time, or get small. */
const SELDOM = 360;

export interface ShareJoinerOptions {
  readonly catalog: Catalog;
  readonly folder: DataFolder;
  readonly shares: Pick<SharedStores, "reserveEmpty">;
  readonly pool: Pick<CollectionPool, "isIdle" | "whileClosed">;
  readonly opener: Pick<CollectionOpener, "copyToShare">;
  readonly forker: Pick<CollectionForker, "alone">;
  readonly deleteBehind: Pick<DeleteBehind, "isHeld" | "start">;
  readonly budgets: Pick<TenantBudgets, "moved">;
  /** `null`: nothing is moved. */
  readonly limits: ShareLimits | null | undefined;
  /** The collection stays where it is, and is looked at again. */
  readonly onProblem: (error: unknown, collection: string) => void;
}

/** `later`: it is in use. */
type Outcome = "done" | "later";

export class ShareJoiner {
  readonly #options: ShareJoinerOptions;
  readonly #limits: ShareLimits;
  readonly #rounds: UpkeepRounds;

  constructor(options: ShareJoinerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? SHARE_LIMITS;
    const firstMs = options.limits === null ? Infinity : (this.#limits.joinAfterMs ?? FIRST_MS);
    this.#rounds = new UpkeepRounds(
      firstMs,
      async () => firstMs * ((await this.#lookAtAll()) === "later" ? LATER : SELDOM),
    );
  }

  /** After what is under way. */
  close(): Promise<void> {
    return this.#rounds.close();
  }

  async #lookAtAll(): Promise<Outcome> {
    const outcomes = new Set<Outcome>();
    let batch: string[] = [];
    const look = async (): Promise<void> => {
      const ids = batch;
      batch = [];
      for (const outcome of await this.#lookAt(ids)) outcomes.add(outcome);
    };
    for (const id of this.#options.folder.collectionIds()) {
      if (this.#rounds.closing.aborted) return "done";
      // They may be many, and all of them large.
      await takeSlice("");
      const bytes = this.#options.folder.collectionBytes(id);
      if (bytes === 0 || bytes > this.#limits.bytes + FILE_OVERHEAD) continue;
      if (batch.push(id) === AT_ONCE) await look();
    }
    await look();
    return outcomes.has("later") ? "later" : "done";
  }

  /** A backup goes by the files as they are, and begins between two of these. */
  async #lookAt(ids: readonly string[]): Promise<readonly Outcome[]> {
    const { forker, deleteBehind } = this.#options;
    if (ids.length === 0) return [];
    return forker.alone(async () => {
      if (deleteBehind.isHeld) return ["later"];
      return Promise.all(ids.map((id) => this.#look(id)));
    });
  }

  async #look(id: string): Promise<Outcome> {
    const { catalog, pool, onProblem } = this.#options;
    try {
      const { shared, held } = await catalog.entry(id);
      if (!shared && held !== null && held.records > this.#limits.records * MOST_HELD) return "done";
      if (!pool.isIdle(id)) return "later";
      return await pool.whileClosed(id, async () =>
        (await catalog.entry(id)).shared ? this.#removeFiles(id) : this.#join(id),
      );
    } catch (error) {
      if (!isGone(error)) onProblem(error, id);
      return "done";
    }
  }

  async #join(id: string): Promise<Outcome> {
    const { catalog, shares, deleteBehind, budgets } = this.#options;
    const entry = await catalog.entry(id);
    const release = await shares.reserveEmpty(id, async () => !(await catalog.entry(id)).shared);
    if (release === null) return "later";
    try {
      if (!(await this.#copy(entry))) return "done";
    } finally {
      release();
      // Of what was announced and is not named there may be entries.
      deleteBehind.start();
    }
    this.#removeFiles(id);
    await budgets.moved(id, entry.tenant);
    return "done";
  }

  /** `false`: it is not small, or was dropped. */
  async #copy(entry: CollectionEntry): Promise<boolean> {
    const { catalog, opener } = this.#options;
    const most = { records: this.#limits.records * MOST_HELD, bytes: this.#limits.bytes * MOST_HELD };
    await catalog.shares.announce(entry.id);
    const counts = await opener.copyToShare(entry, most);
    return counts !== null && (await catalog.shares.join(entry.id, counts.bytes));
  }

  /** Of an environment that the catalog does not name. */
  #removeFiles(id: string): Outcome {
    const { folder } = this.#options;
    for (const path of [
      folder.collectionFile(id),
      join(folder.collection(id), "lock.mdb"),
      folder.purgeMark(id),
    ])
      rmSync(path, { force: true });
    // Beside them there may be files of the index.
    for (const path of [folder.collection(id), dirname(folder.collection(id))])
      if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path);
    return "done";
  }
}
