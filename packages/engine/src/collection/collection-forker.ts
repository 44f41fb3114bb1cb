/**
 * Forks collections: the store is copied under the new id first and the catalog learns of it last, so that a crash in
 * between leaves files that nobody knows and that the next start sweeps away. One copy at a time: more would only
 * fight for the disk.
 */
import { randomUUID } from "node:crypto";
import type { Collection, CollectionRef } from "@sheaf/protocol";
import type { Catalog } from "../catalog/catalog.ts";
import { throwIfAborted } from "../index/abort.ts";
import type { DataFolder } from "../storage/data-folder.ts";
import type { LmdbRecordStore } from "../storage/lmdb-record-store.ts";
import type { StoreHead } from "../storage/record-store.ts";

export interface CollectionForkerOptions {
  readonly catalog: Catalog;
  readonly folder: DataFolder;
  /** Beside whoever else has it open: a copy only reads, and what it opens for the source is the same environment. */
  readonly openStore: (id: string) => LmdbRecordStore;
}

export class CollectionForker {
  readonly #options: CollectionForkerOptions;
  /** Settles when the last fork asked for has ended. Never rejects. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: CollectionForkerOptions) {
    this.#options = options;
  }

  /** 404, 409 and 422 as `Catalog.createFork` throws them, 507 on a full disk; then nothing is left behind. */
  fork(ref: CollectionRef, name: string, signal: AbortSignal | undefined): Promise<Collection> {
    const turn = this.#line.then(() => this.#fork(ref, name, signal));
    this.#line = turn.catch(() => undefined);
    return turn;
  }

  /** After the forks asked for. */
  async close(): Promise<void> {
    await this.#line;
  }

  async #fork(ref: CollectionRef, name: string, signal: AbortSignal | undefined): Promise<Collection> {
    const { catalog, folder } = this.#options;
    throwIfAborted(signal);
    catalog.checkFork(ref, name);
    const id = randomUUID();
    try {
      const { sequence, dimension } = await this.#copy(catalog.collection(ref).id, id);
      throwIfAborted(signal);
      return await catalog.createFork(ref, { id, name, dimension, logPosition: sequence });
    } catch (error) {
      await folder.discardCollection(id);
      throw error;
    }
  }

  /** Copies the records and returns what the copy holds. */
  async #copy(from: string, to: string): Promise<StoreHead> {
    const { folder, openStore } = this.#options;
    const source = openStore(from);
    try {
      await source.copyTo(folder.collection(to));
    } finally {
      await source.close();
    }
    const copy = openStore(to);
    try {
      return copy.head;
    } finally {
      await copy.close();
    }
  }
}
