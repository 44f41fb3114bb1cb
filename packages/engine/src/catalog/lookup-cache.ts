/**
 * Keeps what was looked up in an environment until something is committed there. While a commit is under way nothing
 * is kept and nothing is taken: its writes become visible at a moment that nobody announces.
 */
import { heapBytes } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";

/** Of what is kept; an ordinary description of a collection takes some 5 KiB. */
const MAX_BYTES = 64 * 1024 * 1024;

export class LookupCache<T extends object> {
  readonly #environment: LmdbEnvironment;
  readonly #found: LRUCache<string, T>;
  #state = 0;

  constructor(environment: LmdbEnvironment, maxBytes = MAX_BYTES) {
    this.#environment = environment;
    this.#found = new LRUCache<string, T>({ maxSize: maxBytes, sizeCalculation: heapBytes });
  }

  /** What `read` finds under the key; `null` is not kept. Not to be changed. */
  get<Found extends T | null>(key: string, read: () => Found): T | Found {
    const state = this.#environment.settledState;
    if (state === null) return read();
    if (state !== this.#state) this.#found.clear();
    this.#state = state;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = read();
    if (found !== null) this.#found.set(key, found);
    return found;
  }
}
