/** How many partitions collections have, which never changes, so that it is asked for once. */
import { type Collection, type CollectionRef, partitionsOf } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";

/** A number each. */
const MOST_KNOWN = 50_000;

export class PartitionCounts {
  readonly #ask: (ref: CollectionRef) => Promise<Collection>;
  /** By id. */
  readonly #known = new LRUCache<string, number>({ max: MOST_KNOWN });

  constructor(ask: (ref: CollectionRef) => Promise<Collection>) {
    this.#ask = ask;
  }

  /** What has been said of a collection. */
  learn({ id, schema }: Pick<Collection, "id" | "schema">): number {
    const partitions = partitionsOf(schema);
    this.#known.set(id, partitions);
    return partitions;
  }

  /** Rejects where nobody can say. */
  of(ref: CollectionRef): number | Promise<number> {
    return this.#known.get(ref.id) ?? this.#ask(ref).then((collection) => this.learn(collection));
  }
}
