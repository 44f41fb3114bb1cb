/**
 * How many collections there are, in an entry of its own: metrics ask for it all the time, and counting goes through all of
 * them. It changes in the commit that makes or removes one. Earlier builds do not keep it, so a start puts it right.
 */
import type { CatalogView } from "../storage/catalog/catalog-store.ts";
import { decodeCounter, encodeCounter } from "./catalog-codec.ts";
import { COLLECTION_COUNT_KEY } from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";

export async function collectionCount(view: CatalogView): Promise<number> {
  const value = await view.get(COLLECTION_COUNT_KEY);
  return value === null ? 0 : decodeCounter(value, view.origin(COLLECTION_COUNT_KEY));
}

/** `more` than before. */
export async function addToCollectionCount(transaction: CatalogTransaction, more: number): Promise<void> {
  setCollectionCount(transaction, Math.max(0, (await collectionCount(transaction)) + more));
}

export function setCollectionCount(transaction: CatalogTransaction, count: number): void {
  transaction.put(COLLECTION_COUNT_KEY, encodeCounter(count));
}
