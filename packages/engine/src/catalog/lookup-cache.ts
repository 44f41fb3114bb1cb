/**
 * Keeps what was looked up in the catalog until something is committed there. While a commit is under way nothing is kept
 * and nothing is taken: its writes become visible at a moment that nobody announces.
 */
import { heapBytes } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";

/** Of what is kept; an ordinary description of a collection takes some 5 KiB. */
const MAX_BYTES = 64 * 1024 * 1024;

export class LookupCache<T extends object> {
  readonly #store: Pick<CatalogStore, "version">;
  readonly #found: LRUCache<string, T>;
  #version = 0;

  constructor(store: Pick<CatalogStore, "version">, maxBytes = MAX_BYTES) {
    this.#store = store;
    this.#found = new LRUCache<string, T>({ maxSize: maxBytes, sizeCalculation: heapBytes });
  }

  /** What `read` finds under the key; `null` is not kept. Not to be changed. */
  async get<Found extends T | null>(key: string, read: () => Promise<Found>): Promise<T | Found> {
    const version = await this.#store.version();
    if (version === null) return read();
    if (version !== this.#version) this.#found.clear();
    this.#version = version;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = await read();
    const isCurrent = (await this.#store.version()) === version && this.#version === version;
    if (found !== null && isCurrent) this.#found.set(key, found);
    return found;
  }
}
