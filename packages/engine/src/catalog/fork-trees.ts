/**
 * How many forks a collection and its descendants have made together. A fork counts for as long as anything of its
 * tree lives, deleted or not, as existing clients expect.
 */
import { LIMITS, SheafError } from "@sheaf/protocol";
import type { CatalogView } from "../storage/catalog/catalog-store.ts";
import { type ForkTreeEntry, decodeForkTree, encodeForkTree } from "./catalog-codec.ts";
import { forkTreeKey, idBytes } from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";

/** A collection that was never forked has no entry. */
const ALONE: ForkTreeEntry = { edges: 0, members: 1 };

/** Forks made in the tree of the collection with this id, the root. */
export async function forkEdges(view: CatalogView, root: string): Promise<number> {
  return ((await find(view, root)) ?? ALONE).edges;
}

/** Throws 422 where one more fork would be too many. */
export async function requireForkRoom(view: CatalogView, root: string): Promise<void> {
  if ((await forkEdges(view, root)) < LIMITS.forkEdges) return;
  throw new SheafError(
    "unprocessable",
    `Quota exceeded: a collection and its forks may be forked ${LIMITS.forkEdges} times, deleted forks included`,
  );
}

export async function addFork(transaction: CatalogTransaction, root: string): Promise<void> {
  await requireForkRoom(transaction, root);
  const { edges, members } = (await find(transaction, root)) ?? ALONE;
  put(transaction, root, { edges: edges + 1, members: members + 1 });
}

/** A collection of the tree is gone; the last one takes the count with it. */
export async function leaveForkTree(transaction: CatalogTransaction, root: string): Promise<void> {
  const entry = await find(transaction, root);
  if (entry === null) return;
  if (entry.members > 1) put(transaction, root, { ...entry, members: entry.members - 1 });
  else transaction.remove(forkTreeKey(idBytes(root)));
}

async function find(view: CatalogView, root: string): Promise<ForkTreeEntry | null> {
  const key = forkTreeKey(idBytes(root));
  const value = await view.get(key);
  return value === null ? null : decodeForkTree(value, view.origin(key));
}

function put(transaction: CatalogTransaction, root: string, entry: ForkTreeEntry): void {
  transaction.put(forkTreeKey(idBytes(root)), encodeForkTree(entry));
}
