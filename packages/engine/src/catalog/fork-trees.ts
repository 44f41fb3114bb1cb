/**
 * How many forks a collection and its descendants have made together. A fork counts for as long as anything of its
 * tree lives, deleted or not, as existing clients expect. To be called inside a transaction, but for `edges`.
 */
import { LIMITS, SheafError } from "@sheaf/protocol";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { type ForkTreeEntry, decodeForkTree, encodeForkTree } from "./catalog-codec.ts";
import { forkTreeKey, idBytes } from "./catalog-keys.ts";

/** A collection that was never forked has no entry. */
const ALONE: ForkTreeEntry = { edges: 0, members: 1 };

export class ForkTrees {
  readonly #environment: LmdbEnvironment;

  constructor(environment: LmdbEnvironment) {
    this.#environment = environment;
  }

  /** Forks made in the tree of the collection with this id, the root. */
  edges(root: string): number {
    return (this.#find(root) ?? ALONE).edges;
  }

  /** Throws 422 where one more fork would be too many. */
  requireRoom(root: string): void {
    if (this.edges(root) < LIMITS.forkEdges) return;
    throw new SheafError(
      "unprocessable",
      `Quota exceeded: a collection and its forks may be forked ${LIMITS.forkEdges} times, deleted forks included`,
    );
  }

  add(root: string): void {
    this.requireRoom(root);
    const { edges, members } = this.#find(root) ?? ALONE;
    this.#put(root, { edges: edges + 1, members: members + 1 });
  }

  /** A collection of the tree is gone; the last one takes the count with it. */
  leave(root: string): void {
    const entry = this.#find(root);
    if (entry === null) return;
    if (entry.members > 1) this.#put(root, { ...entry, members: entry.members - 1 });
    else this.#environment.remove(forkTreeKey(idBytes(root)));
  }

  #find(root: string): ForkTreeEntry | null {
    const key = forkTreeKey(idBytes(root));
    const value = this.#environment.get(key);
    return value === null ? null : decodeForkTree(value, this.#environment.origin(key));
  }

  #put(root: string, entry: ForkTreeEntry): void {
    this.#environment.put(forkTreeKey(idBytes(root)), encodeForkTree(entry));
  }
}
