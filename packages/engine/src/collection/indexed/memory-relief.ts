/**
 * Gives memory of indexes back where too much is taken, whoever took it: collections that rest are closed, the least
 * recently used first, for they open again from their files; then segments of the others give vectors back. A collection
 * rests once nobody has used it for two seconds: of those that are searched in turns none is closed and opened again all the
 * time, whether they fit together or not. Where it is far too much, a quarter of a second is enough. Once there is room again,
 * and has been for a while, those that are open load vectors again.
 */
import type { IndexMemory } from "../../storage/files/index-memory.ts";

export interface RelievingCollections {
  /** Closes those that were not used for so long, until so many bytes come back. Says how many are lacking. */
  close(bytes: number, restedMs: number): number;
  /** Has one of the others give vectors back. */
  makeRoom(): void;
  /** Has all of them load vectors, while there is room. */
  load(): void;
}

/** To be opened again takes tens of milliseconds, and the first searches after that as long. */
const RESTED_MS = 2_000;
/** A search of each of very many goes on within it, not more. */
const RESTED_IF_FAR_MS = 250;
/** Between two looks, while it is short. */
const LOOK_MS = 250;
/** What is written comes and goes: vectors would be loaded and given back as often. */
const LOAD_MS = 30_000;

export class MemoryRelief {
  readonly #memory: IndexMemory;
  readonly #collections: RelievingCollections;
  readonly #loadMs: number;
  #timer: NodeJS.Timeout | undefined;
  #loading: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `loadMs`: for tests. */
  constructor(memory: IndexMemory, collections: RelievingCollections, loadMs = LOAD_MS) {
    this.#memory = memory;
    this.#collections = collections;
    this.#loadMs = loadMs;
  }

  /** To be called when something may have taken memory: looks soon, and again until it is not short any more. */
  look(): void {
    if (this.#timer !== undefined || this.#isClosed || !this.#memory.isShort) return;
    clearTimeout(this.#loading);
    this.#lookSoon();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#loading);
  }

  #relieve(): void {
    this.#timer = undefined;
    const { isShort, isFarShort, shortage } = this.#memory;
    if (!isShort) {
      this.#loading = setTimeout(() => this.#collections.load(), this.#loadMs).unref();
      return;
    }
    const lacking = this.#collections.close(shortage, isFarShort ? RESTED_IF_FAR_MS : RESTED_MS);
    if (lacking > 0) this.#collections.makeRoom();
    this.#lookSoon();
  }

  #lookSoon(): void {
    this.#timer = setTimeout(() => this.#relieve(), LOOK_MS).unref();
  }
}
