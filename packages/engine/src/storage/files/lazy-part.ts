/** Parts of index files: read when they are first asked for, and kept until others need their room. */
import { abortable } from "@sheaf/protocol";
import { DataAbsent } from "../data-absent.ts";
import type { Evictable, SegmentMemory } from "./index-memory.ts";
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

export class LazyPart<T, Bytes extends Uint8Array = Uint8Array> implements Evictable {
  isUsed = false;
  readonly #memory: SegmentMemory;
  readonly #source: PartSource<T, Bytes>;
  #value: T | undefined = undefined;
  #fetching: Promise<void> | null = null;

  constructor(memory: SegmentMemory, source: PartSource<T, Bytes>) {
    this.#memory = memory;
    this.#source = source;
  }

  get bytes(): number {
    return this.#source.bytes;
  }

  /** It was in memory before it was in a file. */
  adopt(value: T): void {
    this.#value = value;
    this.#memory.adopt(this);
  }

  get isLoaded(): boolean {
    return this.#value !== undefined;
  }

  /** Reads it if need be. Throws `DataAbsent` where it has to be fetched. */
  get(): T {
    this.isUsed = true;
    if (this.#value !== undefined) return this.#value;
    const bytes = this.#source.tryRead();
    if (bytes === null) throw new DataAbsent(() => this.#fetch({}));
    const value = this.#source.parse(bytes);
    this.#value = value;
    this.#memory.keep(this);
    return value;
  }

  /** So that `get` has it. What had to be fetched stays until the file is here. */
  prepare(options: ReadOptions): Promise<void> | undefined {
    if (this.#value !== undefined) return undefined;
    const bytes = this.#source.tryRead();
    if (bytes === null) return this.#fetch(options);
    this.#value = this.#source.parse(bytes);
    this.#memory.keep(this);
    return undefined;
  }

  evict(): void {
    this.#value = undefined;
    this.#memory.forget(this);
  }

  /** For all who wait for it: one that is cancelled does not end it. */
  #fetch({ signal }: ReadOptions): Promise<void> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = null));
    return abortable(this.#fetching, signal);
  }

  async #fetchNow(): Promise<void> {
    const bytes = await this.#source.read({});
    // It may have been read here meanwhile.
    if (this.#value !== undefined) return;
    this.#value = this.#source.parse(bytes);
    this.#memory.pin(this);
  }
}
