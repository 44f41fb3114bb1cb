/**
 * LMDB keeps the pages that are free in a tree of its own, by transaction. A compacting copy has none, but goes on with
 * the numbers of transactions. The first commit there that frees some hundreds of pages then ends the process: while it
 * makes the tree, it looks into it for room for the long list that it is about to put there (`mdb_page_alloc` of
 * lmdb-js 3.5.6, "key.mv_size > 0"). A commit that frees a few pages makes the tree, and is safe.
 */
import type { RootDatabase } from "lmdb";

/** What lmdb-js reads out of LMDB; its own type says `any`. */
export interface EnvironmentStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly lastTxnId: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly entryCount: number;
  readonly free: { readonly entryCount: number };
}

/** Whether a large commit would end the process: so until a small one. Up to the second transaction LMDB does not look. */
export function lacksFreeList({ entryCount, free, lastTxnId }: EnvironmentStats): boolean {
  return entryCount > 0 && free.entryCount === 0 && lastTxnId > 1;
}

/** Entries among which a short one is looked for; the head of a collection is the first of its store. */
const LOOKED_AT = 16;
/** A long value has pages of its own, which would be freed as well. */
const SHORT_BYTES = 1_024;

/** Commits a short entry that is there once more, which frees the pages from the root to it. */
export async function makeFreeList(
  database: Pick<RootDatabase<Uint8Array, Uint8Array>, "getRange" | "transaction" | "putSync">,
): Promise<void> {
  for (const { key, value } of database.getRange({ limit: LOOKED_AT })) {
    if (value.length > SHORT_BYTES) continue;
    await database.transaction(() => database.putSync(key, value));
    return;
  }
}
