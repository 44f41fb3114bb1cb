/**
 * Keeps what was looked up in the catalog until something is committed there. While a commit is under way nothing is kept
 * and nothing is taken: its writes become visible at a moment that nobody announces. Many who ask at once share a look-up, so
 * that one that takes a request to a database is not made for each of them.
 */
import { heapBytes } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";

/** Of what is kept; an ordinary description of a collection takes some 5 KiB. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Lookup<T> {
  /** The state that it was begun on; `null`: a commit was under way. */
  readonly version: number | null;
  readonly found: Promise<T | null>;
  /** Begins when this one ends. */
  next: Promise<T | null> | null;
}

export class LookupCache<T extends object> {
  readonly #store: Pick<CatalogStore, "version">;
  readonly #found: LRUCache<string, T>;
  readonly #lookups = new Map<string, Lookup<T>>();
  #version = 0;

  constructor(store: Pick<CatalogStore, "version">, maxBytes = MAX_BYTES) {
    this.#store = store;
    this.#found = new LRUCache<string, T>({ maxSize: maxBytes, sizeCalculation: heapBytes });
  }

  /** What `read` finds under the key; `null` is not kept. Not to be changed. */
  async get<Found extends T | null>(key: string, read: () => Promise<Found>): Promise<T | Found> {
    const version = await this.#store.version();
    if (version === null) return this.#shared(key, null, read);
    if (version !== this.#version) this.#found.clear();
    this.#version = version;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = await this.#shared(key, version, read);
    const isCurrent = (await this.#store.version()) === version && this.#version === version;
    if (found !== null && isCurrent) this.#found.set(key, found);
    return found;
  }

  /**
   * One that was begun on the same state is as good as what is kept of it. Else commits may have ended since one was begun, and
   * all who ask while it is under way share the next.
   */
  #shared<Found extends T | null>(
    key: string,
    version: number | null,
    read: () => Promise<Found>,
  ): Promise<Found> {
    const current = this.#lookups.get(key);
    if (current === undefined) return this.#begin(key, version, read);
    // All read the same under one key.
    if (version !== null && current.version === version) return current.found as Promise<Found>;
    const ended = current.found.then(
      () => undefined,
      () => undefined,
    );
    current.next ??= ended.then(() => this.#begin(key, null, read));
    return current.next as Promise<Found>;
  }

  /** Those who share it and the one who began it hear of it in the order in which they asked. */
  #begin<Found extends T | null>(
    key: string,
    version: number | null,
    read: () => Promise<Found>,
  ): Promise<Found> {
    const found = read();
    const lookup = { version, found, next: null };
    this.#lookups.set(key, lookup);
    const end = (): void => {
      if (this.#lookups.get(key) === lookup) this.#lookups.delete(key);
    };
    found.then(end, end);
    return found;
  }
}
