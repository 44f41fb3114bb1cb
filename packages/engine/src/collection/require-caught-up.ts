/**
 * Whether a store has everything that the catalog has counted. The catalog is always behind, so a store that is behind
 * it has lost writes: its files are gone, cut to nothing, or those of an earlier day.
 */
import type { Collection } from "@sheaf/protocol";
import { damagedStore } from "../storage/corrupt-data-error.ts";
import type { StoreHead } from "../storage/record-store.ts";

/** Throws `collection_unavailable` naming `store`. */
export function requireCaughtUp(
  head: StoreHead,
  { logPosition, dimension }: Pick<Collection, "logPosition" | "dimension">,
  store: string,
): void {
  if (head.sequence < logPosition) {
    throw damagedStore(store, `holds ${head.sequence} operations of at least ${logPosition}`);
  }
  if (dimension !== null && head.dimension !== dimension) {
    const found = head.dimension === null ? "no embeddings" : `embeddings of dimension ${head.dimension}`;
    throw damagedStore(store, `holds ${found}, the catalog knows of dimension ${dimension}`);
  }
}
