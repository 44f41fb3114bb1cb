/**
 * Parts of index files that are read when they are first asked for, and how long they stay: all parts of a cache share a
 * bound, and those that were not asked for since the last round make room.
 */
import { SheafError } from "@sheaf/protocol";
import type { ReadOptions } from "./segment-files.ts";

export interface PartSource<T, Bytes extends Uint8Array = Uint8Array> {
  /** What the part takes in memory, about. */
  readonly bytes: number;
  /** `null`: it is not on this machine. */
  tryRead(): Bytes | null;
  read(options: ReadOptions): Promise<Bytes>;
  /** Throws `SegmentDamaged`. */
  parse(bytes: Bytes): T;
}

interface Evictable {
  readonly bytes: number;
  /** Was asked for since it was last looked at. */
  isUsed: boolean;
  evict(): void;
}

export class PartCache {
  readonly #bound: number;
  readonly #parts = new Set<Evictable>();
  #held = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Bytes that are taken. */
  get held(): number {
    return this.#held;
  }

  add(part: Evictable): void {
    this.#held += part.bytes;
    this.#parts.add(part);
    for (const oldest of this.#parts) {
      if (this.#held <= this.#bound) return;
      this.remove(oldest);
      if (oldest.isUsed && oldest !== part) {
        // Another round.
        oldest.isUsed = false;
        this.#held += oldest.bytes;
        this.#parts.add(oldest);
      } else oldest.evict();
    }
  }

  remove(part: Evictable): void {
    if (this.#parts.delete(part)) this.#held -= part.bytes;
  }
}

export class LazyPart<T, Bytes extends Uint8Array = Uint8Array> implements Evictable {
  isUsed = false;
  readonly #cache: PartCache;
  readonly #source: PartSource<T, Bytes>;
  #value: T | undefined = undefined;

  constructor(cache: PartCache, source: PartSource<T, Bytes>) {
    this.#cache = cache;
    this.#source = source;
  }

  get bytes(): number {
    return this.#source.bytes;
  }

  get isLoaded(): boolean {
    return this.#value !== undefined;
  }

  /** Reads it if need be. */
  get(): T {
    this.isUsed = true;
    if (this.#value !== undefined) return this.#value;
    const bytes = this.#source.tryRead();
    if (bytes === null) throw new SheafError("internal", "a part of an index file was not prepared");
    const value = this.#source.parse(bytes);
    this.#value = value;
    this.#cache.add(this);
    return value;
  }

  /** So that `get` has it. What had to be fetched stays: it could not be read again at once. */
  prepare(options: ReadOptions): Promise<void> | undefined {
    if (this.#value !== undefined) return undefined;
    const bytes = this.#source.tryRead();
    if (bytes === null) return this.#fetch(options);
    this.#value = this.#source.parse(bytes);
    this.#cache.add(this);
    return undefined;
  }

  evict(): void {
    this.#value = undefined;
  }

  async #fetch(options: ReadOptions): Promise<void> {
    const bytes = await this.#source.read(options);
    this.#value = this.#source.parse(bytes);
  }
}
