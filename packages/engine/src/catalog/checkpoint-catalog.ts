/**
 * What the catalog has been told of collections' records, and which collections have records that it was not told of yet. Where
 * several servers write, a mark names the one that wrote last, by its cache: only that one opens the collection at its start.
 */
import type { JsonObject } from "@sheaf/protocol";
import type { HeldRecords } from "../engine.ts";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { ALL_DIRTY, dirtyKey, idBytes } from "./catalog-keys.ts";
import { allEntries } from "./catalog-transaction.ts";
import type { DecodeCollection } from "./decoded-collections.ts";
import type { CatalogTransactions } from "./catalog-transactions.ts";
import { hasCollection, readCollection, replaceCollection } from "./collection-entries.ts";
import { formatUuid } from "../storage/format-uuid.ts";

const ID_BYTES = 16;

/** What the index has learnt of a collection's records. */
export interface CollectionProgress {
  readonly logPosition?: number;
  readonly dimension?: number | null;
  /** The schema with new keys; `null`: nothing new. */
  readonly extend?: (schema: JsonObject) => JsonObject | null;
  /** What it holds now. */
  readonly held?: HeldRecords;
  /** Every write is checkpointed: removes the mark of `markDirty`. */
  readonly checkpointed?: boolean;
  /** As `markDirty`. */
  readonly dirty?: boolean;
}

export interface CheckpointOptions {
  readonly decode: DecodeCollection;
  /** Id of this server's cache; left out where no other server writes. */
  readonly cache?: string | undefined;
}

export class CheckpointCatalog {
  readonly #store: CatalogStore;
  readonly #transactions: CatalogTransactions;
  /** Behind the id of the collection in its mark. */
  readonly #cache: Buffer;
  readonly #decode: DecodeCollection;

  constructor(store: CatalogStore, transactions: CatalogTransactions, { decode, cache }: CheckpointOptions) {
    this.#store = store;
    this.#transactions = transactions;
    this.#decode = decode;
    this.#cache = cache === undefined ? Buffer.alloc(0) : idBytes(cache);
  }

  /** Remembers that the collection has writes since its last checkpoint, for a start after a crash. */
  markDirty(id: string): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      if (await hasCollection(transaction, id)) transaction.put(dirtyKey(idBytes(id)), this.#mark(id));
    });
  }

  async isDirty(id: string): Promise<boolean> {
    return (await this.#store.get(dirtyKey(idBytes(id)))) !== null;
  }

  /** Those that this server has marked. */
  async dirtyCollections(): Promise<readonly string[]> {
    const marks = (await allEntries(this.#store, ALL_DIRTY)).map(({ value }) => value);
    const own = marks.filter((mark) => this.#cache.equals(mark.subarray(ID_BYTES)));
    return own.map((mark) => formatUuid(mark.subarray(0, ID_BYTES)));
  }

  /** Records progress and raises `version` when `logPosition` rises; commits nothing if it is known or the collection is gone. */
  advance(id: string, progress: CollectionProgress): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      const entry = await readCollection(transaction, id, this.#decode);
      if (entry === null) return;
      const logPosition = Math.max(entry.logPosition, progress.logPosition ?? 0);
      const isFurther = logPosition > entry.logPosition;
      const schema = progress.extend?.(entry.schema) ?? entry.schema;
      const dimension = progress.dimension ?? entry.dimension;
      const isNews = isFurther || schema !== entry.schema || dimension !== entry.dimension;
      if (isNews || progress.held !== undefined)
        replaceCollection(transaction, {
          ...{ ...entry, schema, dimension, logPosition },
          version: entry.version + (isFurther ? 1 : 0),
          held: progress.held ?? entry.held,
        });
      if (progress.checkpointed === true) transaction.remove(dirtyKey(idBytes(id)));
      else if (progress.dirty === true) transaction.put(dirtyKey(idBytes(id)), this.#mark(id));
    });
  }

  #mark(id: string): Buffer {
    return Buffer.concat([idBytes(id), this.#cache]);
  }
}
