/**
 * What writes need to know of their collection, so that a write costs one call of the engine and not two: its schema's
 * functions, its models and, once it has one, its dimension. Whatever may change them passes `watch` and has what it may
 * change forgotten, even where its outcome is unknown because the engine died over it. What other servers change has all
 * forgotten once the engine reports it, and nothing is kept for longer than a second then. Keys that metadata has taught
 * the schema since may be missing.
 */
import type { Engine } from "@sheaf/engine";
import { type Collection, type CollectionRef, heapBytes } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";
import { intercept } from "../request/intercept.ts";
import type { EngineSource } from "../request/engine-source.ts";

/** Calls that leave functions, models and the existence of every collection as they are. */
const HARMLESS: ReadonlySet<string> = new Set<keyof Engine>([
  "getTenant",
  "listTenants",
  "resolveTenant",
  "getDatabase",
  "listDatabases",
  "getCollection",
  "getCollectionByName",
  "listCollections",
  "countCollections",
  "collectionUsage",
  "forkCount",
  "listKeys",
  "recordActivity",
  "listTokenUsage",
  "statistics",
  "write",
  "writeAsGiven",
  "delete",
  "readToken",
  "commit",
  "get",
  "query",
  "search",
  "nextBatch",
  "closeRead",
  "count",
  "facets",
  "indexingStatus",
  "beginPartition",
  "askPartition",
  "deleteSelected",
  "backupProgress",
  "makeBackup",
  // What they make is not known yet.
  "createTenant",
  "updateTenant",
  "createDatabase",
  "createCollection",
  "forkCollection",
  "createKey",
  "rotateKey",
  "deleteKey",
]);
/** Calls that change what their first argument names, and no other collection. */
const OF_ONE: ReadonlySet<string> = new Set<keyof Engine>([
  "updateCollection",
  "rememberModels",
  "acceptModels",
]);
/** Of what is known; an ordinary collection takes some 5 KiB. */
const MAX_BYTES = 32 * 1024 * 1024;

const SHARED_MS = 1_000;

interface Known {
  readonly ref: CollectionRef;
  readonly collection: Collection;
}

export class CollectionPlans {
  readonly #engine: EngineSource;
  /** By id, each with where it was asked for. */
  readonly #known: LRUCache<string, Known>;
  /** How often all were forgotten: what was asked for before must not be kept after. */
  #forgotten = 0;

  /** @param isShared Other servers change collections, too. */
  constructor(engine: EngineSource, isShared = false, maxBytes = MAX_BYTES) {
    this.#engine = engine;
    const ttl = isShared ? { ttl: SHARED_MS } : {};
    this.#known = new LRUCache<string, Known>({ maxSize: maxBytes, sizeCalculation: heapBytes, ...ttl });
  }

  /** `of` would not ask the engine. */
  knows(ref: CollectionRef): boolean {
    return this.#find(ref) !== null;
  }

  /** Throws what the engine throws, 404 say. */
  async of(ref: CollectionRef): Promise<Collection> {
    const known = this.#find(ref);
    if (known !== null) return known;
    const forgotten = this.#forgotten;
    const collection = await this.#engine().getCollection(ref);
    if (forgotten !== this.#forgotten || collection.dimension === null) return collection;
    this.#known.set(ref.id, { ref, collection });
    return collection;
  }

  /** The engine, with what a call may change forgotten before and after it. */
  watch(engine: Engine): Engine {
    return intercept(engine, (name, method) => {
      if (HARMLESS.has(name)) return method;
      const isOfOne = OF_ONE.has(name);
      return (...args) =>
        this.#changing(isOfOne ? (args[0] as CollectionRef).id : null, () => method(...args));
    });
  }

  #find({ id, tenant, database }: CollectionRef): Collection | null {
    const known = this.#known.get(id);
    return known?.ref.tenant === tenant && known.ref.database === database ? known.collection : null;
  }

  async #changing(id: string | null, call: () => unknown): Promise<unknown> {
    this.forget(id);
    try {
      return await call();
    } finally {
      this.forget(id);
    }
  }

  /** Without an id, all. */
  forget(id: string | null = null): void {
    this.#forgotten++;
    if (id === null) this.#known.clear();
    else this.#known.delete(id);
  }
}
