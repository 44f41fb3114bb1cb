/**
 * Which collections have a share of an environment in common with others, and whose shares are left behind: of a collection
 * that was dropped or moved, or that was to have one. A mark is in the same commit as what leaves the share
 * behind, and goes once its entries have gone, so nothing has to be searched for what a crash left.
 */
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { decodeCollection } from "./catalog-codec.ts";
import { ALL_COLLECTIONS, ALL_SHARE_MARKS, EVERYTHING, idBytes, shareMarkKey } from "./catalog-keys.ts";
import { type CatalogTransaction, allEntries, behind, pagesOf } from "./catalog-transaction.ts";
import type { CatalogTransactions } from "./catalog-transactions.ts";
import { putCollection, readCollection } from "./collection-entries.ts";
import { markShare } from "./share-marks.ts";
import { formatUuid } from "../storage/format-uuid.ts";

export class ShareCatalog {
  readonly #store: CatalogStore;
  readonly #transactions: CatalogTransactions;

  constructor(store: CatalogStore, transactions: CatalogTransactions) {
    this.#store = store;
    this.#transactions = transactions;
  }

  /** Ids of some of the shares that are left behind, those that follow `after`; none: there are no more. */
  async leftBehind(after: string | null, limit: number): Promise<readonly string[]> {
    const start = after === null ? ALL_SHARE_MARKS.start : behind(shareMarkKey(idBytes(after)));
    const marks = await this.#store.entries({ start, end: ALL_SHARE_MARKS.end, limit });
    return marks.map(({ value }) => formatUuid(value));
  }

  /** Nothing leads to the share any more. */
  async isLeftBehind(id: string): Promise<boolean> {
    if ((await this.#store.get(shareMarkKey(idBytes(id)))) === null) return false;
    return (await readCollection(this.#store, id))?.shared !== true;
  }

  /** Entries are put into a share of a collection that the catalog will name; what a crash leaves of it is left behind. */
  announce(id: string): Promise<void> {
    return this.#transactions.transact(async (transaction) => markShare(transaction, id));
  }

  /** The entries of these shares are gone. */
  unmark(ids: readonly string[]): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      for (const id of ids) transaction.remove(shareMarkKey(idBytes(id)));
    });
  }

  /** From now on the collection has an environment of its own, which must be there already. `false`: it was dropped. */
  leave(id: string): Promise<boolean> {
    return this.#transactions.transact(async (transaction) => {
      const entry = await readCollection(transaction, id);
      if (entry === null) return false;
      putCollection(transaction, { ...entry, shared: false });
      markShare(transaction, id);
      return true;
    });
  }

  /** From now on the collection has a share, which was announced and holds so many bytes. `false`: it was dropped. */
  join(id: string, bytes: number): Promise<boolean> {
    return this.#transactions.transact(async (transaction) => {
      const entry = await readCollection(transaction, id);
      if (entry === null) return false;
      putCollection(transaction, { ...entry, shared: true, held: entry.held && { ...entry.held, bytes } });
      transaction.remove(shareMarkKey(idBytes(id)));
      return true;
    });
  }
}

/** All entries of the catalog but the counter; shares that this leaves behind are marked, and those that are stay marked. */
export async function clearEverything(transaction: CatalogTransaction): Promise<void> {
  const left = (await allEntries(transaction, ALL_SHARE_MARKS)).map(({ value }) => formatUuid(value));
  for await (const page of pagesOf(transaction, ALL_COLLECTIONS)) {
    for (const { key, value } of page) {
      const { id, shared } = decodeCollection(value, transaction.origin(key));
      if (shared) left.push(id);
    }
  }
  transaction.clear(EVERYTHING);
  for (const id of left) markShare(transaction, id);
}
