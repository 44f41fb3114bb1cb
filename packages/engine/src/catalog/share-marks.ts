/** A mark for a share that nothing leads to any more. */
import { idBytes, shareMarkKey } from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";

export function markShare(transaction: CatalogTransaction, id: string): void {
  transaction.put(shareMarkKey(idBytes(id)), idBytes(id));
}
