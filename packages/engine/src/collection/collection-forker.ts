/**
 * Forks collections: the files of the index are linked and the store is copied under the new id first, and the catalog
 * learns of it last, so that a crash in between leaves files that nobody knows and that the next start sweeps away. One
 * copy at a time, tenants in turn: more would only fight for the disk.
 */
import { randomUUID } from "node:crypto";
import {
  type CancelSignal,
  type Collection,
  type CollectionRef,
  SheafError,
  throwIfAborted,
} from "@sheaf/protocol";
import type { Archive } from "../archive/archive.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { type DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import type { CollectionOpener, StorePlace } from "./collection-opener.ts";
import type { CollectionLogs } from "./logged/collection-logs.ts";
import { type Lineage, lineageOf } from "./lineage.ts";
import { whenWarm } from "./logged/when-warm.ts";
import type { CollectionPool } from "./collection-pool.ts";
import { forkIndexFiles } from "./fork-index-files.ts";
import { copyPurgeMark } from "./removal/purge-mark.ts";
import { sharedName } from "../storage/folder/shared-names.ts";
import type { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { newStoreId } from "../storage/new-store-id.ts";
import { TurnLock } from "../storage/turn-lock.ts";
import { requireCaughtUp } from "./require-caught-up.ts";
import type { StoreHead } from "../storage/record-store.ts";

export interface CollectionForkerOptions {
  readonly catalog: Catalog;
  readonly folder: DataFolder;
  readonly archive: Archive | null;
  readonly pool: CollectionPool;
  readonly opener: Pick<CollectionOpener, "openStore" | "openStoreAt" | "filesOf" | "damaged">;
  readonly shares: Pick<SharedStores, "isKept" | "reserve" | "source" | "touching">;
  readonly logs: CollectionLogs | null;
  /** There may be a share that nothing leads to. */
  readonly onLeft: () => void;
  readonly onProblem: (error: unknown, collection: string) => void;
}

export class CollectionForker {
  readonly #options: CollectionForkerOptions;
  readonly #turns = new TurnLock();
  /** What was asked for and has not ended. They never reject. */
  readonly #asked = new Set<Promise<unknown>>();

  constructor(options: CollectionForkerOptions) {
    this.#options = options;
  }

  /** 404, 409 and 422 as `Catalog.createFork` throws them, 507 on a full disk; then nothing is left behind. */
  fork(ref: CollectionRef, name: string, signal: CancelSignal | undefined): Promise<Collection> {
    return this.#ask(async () => {
      await this.#whenWarm(ref, name, signal);
      return this.#inTurn(ref.tenant, () => this.#fork(ref, name, signal));
    });
  }

  /** While no store is copied. Owners take turns. */
  alone<T>(work: () => Promise<T>, owner = ""): Promise<T> {
    return this.#ask(() => this.#inTurn(owner, work));
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    const asked = work();
    const ended = asked.catch(() => undefined);
    this.#asked.add(ended);
    void ended.then(() => this.#asked.delete(ended));
    return asked;
  }

  /** Others do not wait for records and files that are not here yet. */
  async #whenWarm(ref: CollectionRef, name: string, signal: CancelSignal | undefined): Promise<void> {
    const { catalog, logs, pool } = this.#options;
    if (logs === null) return;
    throwIfAborted(signal);
    await catalog.checkFork(ref, name);
    await pool.use(ref.id, signal, async (open) => whenWarm(open.logged));
  }

  async #inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.#turns.enter(owner);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Copies a store into a folder that does not exist yet, without its free pages. Readers and writers go on meanwhile.
   * An open source is copied through the handle it is open with: opening it a second time would wait, on this very
   * thread, for a writer that waits for this thread. A source that is not open has no writer, and is not opened
   * for good (that builds its index) only to be copied.
   */
  async copy(from: string, to: string, signal: CancelSignal | undefined): Promise<void> {
    const { opener, pool } = this.#options;
    if (pool.peek(from) !== null) {
      await pool.use(from, signal, (collection) => collection.copyTo(to));
      return;
    }
    const source = await opener.openStore(from);
    try {
      await source.copyTo(to);
    } finally {
      await source.close();
    }
  }

  /** After the forks asked for. */
  async close(): Promise<void> {
    await Promise.all(this.#asked);
  }

  async #fork(ref: CollectionRef, name: string, signal: CancelSignal | undefined): Promise<Collection> {
    const { catalog, folder, shares, logs, onLeft } = this.#options;
    throwIfAborted(signal);
    await catalog.checkFork(ref, name);
    const source = await catalog.collection(ref);
    const id = newStoreId((other) => shares.isKept(other));
    const epoch = randomUUID();
    // Until the catalog names it, a share of it would count as left behind.
    const release = shares.reserve(id);
    try {
      const newest = logs === null ? null : await this.#refresh(ref, signal);
      await this.#takeFiles(ref, { id, epoch, schema: source.schema }, signal);
      // Where others have the records, they read them of the fork's log.
      const shared = newest === null && (await this.#copyStore(source.id, id, signal));
      const head = newest ?? (await this.#head({ id, shared }));
      if (logs === null) requireCaughtUp(head, source, collectionName(source.id));
      await this.#archive({ id, shared });
      const { sequence, dimension } = head;
      // It may have more than the copied view, which reads the rest when it is opened.
      const lineage = lineageOf({ id, epoch, schema: source.schema });
      await logs?.fork(source.id, { id, epoch: lineage, tenant: ref.tenant });
      throwIfAborted(signal);
      const fork = { id, epoch, name, shared, dimension, logPosition: sequence };
      return await catalog.createFork(ref, fork, signal);
    } catch (error) {
      await folder.discardCollection(id);
      // The catalog may have it, or get it yet, where its commit was not answered.
      const isUnknown = error instanceof SheafError && error.code === "unavailable";
      if (!isUnknown) await logs?.drop(id).catch((problem: unknown) => this.#options.onProblem(problem, id));
      throw this.#options.opener.damaged.refusal(error, ref.id);
    } finally {
      release();
      onLeft();
    }
  }

  /** Has it follow what other servers have written. Gives its head where there is no view of its records on this disk. */
  #refresh(ref: CollectionRef, signal: CancelSignal | undefined): Promise<StoreHead | null> {
    return this.#options.pool.use(ref.id, signal, async (open) => {
      await open.refresh();
      return open.logged?.asked === undefined ? null : open.head;
    });
  }

  /** What goes wrong with them is no failure of the fork. */
  async #takeFiles(ref: CollectionRef, fork: Lineage, signal: CancelSignal | undefined): Promise<void> {
    const { catalog, opener, folder, onProblem } = this.#options;
    const [from, to] = [opener.filesOf(ref.id), opener.filesOf(fork.id)];
    if (from === null || to === null) return;
    const lineages = {
      lineage: lineageOf({ ...fork, id: ref.id, epoch: await catalog.epoch(ref) }),
      forkLineage: lineageOf(fork),
    };
    try {
      if (await forkIndexFiles({ from, to, ...lineages }, signal)) return;
    } catch (error) {
      throwIfAborted(signal);
      onProblem(error, ref.id);
    }
    await folder.discardCollection(fork.id);
  }

  /** Of a small collection into a share of its own. Returns whether it did that. */
  async #copyStore(from: string, to: string, signal: CancelSignal | undefined): Promise<boolean> {
    const { catalog, folder, opener, shares } = this.#options;
    const source = await catalog.entry(from);
    if (!source.shared) {
      await this.copy(from, folder.collection(to), signal);
      copyPurgeMark(folder, from, to);
      return false;
    }
    await catalog.shares.announce(to);
    // It may be open already, or about to leave its share: that stays as it is until this store is closed.
    const store = opener.openStoreAt(source);
    try {
      const target = shares.source(to, collectionName(to));
      await shares.touching(sharedName(to), () => store.copyToShare(target));
    } finally {
      await store.close();
    }
    return true;
  }

  /** Its records are in the archive before the catalog names it. */
  async #archive(place: StorePlace): Promise<void> {
    const { archive, opener } = this.#options;
    if (archive === null) return;
    const copy = opener.openStoreAt(place);
    try {
      await archive.image(place.id, copy);
    } finally {
      await copy.close();
    }
  }

  async #head(place: StorePlace): Promise<StoreHead> {
    const copy = this.#options.opener.openStoreAt(place);
    try {
      return copy.head;
    } finally {
      await copy.close();
    }
  }
}
