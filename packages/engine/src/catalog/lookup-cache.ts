/**
 * Keeps what was looked up in an environment until something is committed there. While a commit is under way nothing
 * is kept and nothing is taken: its writes become visible at a moment that nobody announces.
 */
import type { LmdbEnvironment } from "../storage/lmdb-environment.ts";

/** Beyond it all are forgotten, which costs one lookup each. */
const MAX_ENTRIES = 10_000;

export class LookupCache<T extends object> {
  readonly #environment: LmdbEnvironment;
  readonly #found = new Map<string, T>();
  #state = 0;

  constructor(environment: LmdbEnvironment) {
    this.#environment = environment;
  }

  /** What `read` finds under the key; `null` is not kept. Not to be changed. */
  get<Found extends T | null>(key: string, read: () => Found): T | Found {
    const state = this.#environment.settledState;
    if (state === null) return read();
    if (state !== this.#state || this.#found.size >= MAX_ENTRIES) this.#found.clear();
    this.#state = state;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = read();
    if (found !== null) this.#found.set(key, found);
    return found;
  }
}
