/**
 * What a record store keeps its entries in: an LMDB environment of its own, or a share of one that it has in common with
 * other stores. Keys are those of the record store in both. What the members mean is said at `LmdbEnvironment`.
 */
import type { DataOrigin } from "../corrupt-data-error.ts";
import type { Entry } from "../entries.ts";
import type { Steps } from "../steps.ts";
import type { EnvironmentCounts } from "./environment-counts.ts";
import type { KeyRange } from "./key-range.ts";

export interface EntrySpace {
  /** What the action under way has added, for the counts in the head; `null`: LMDB itself counts. */
  readonly tally: EntryTally | null;
  /** What LMDB counts, where the space is a whole environment. */
  readonly whole: EnvironmentCounts | null;
  origin(key: Uint8Array): DataOrigin;
  get(key: Uint8Array): Uint8Array | null;
  peek(key: Uint8Array): Uint8Array | null;
  entries(range: KeyRange): readonly Entry[];
  iterate(range: KeyRange): IterableIterator<Entry>;
  count(range: Pick<KeyRange, "start" | "end">): number;
  transact<T>(action: () => Steps<T>): Promise<T>;
  put(key: Uint8Array, value: Uint8Array, isOwned?: boolean): void;
  remove(key: Uint8Array): void;
  claim(bytes: number): void;
  /** Into an environment of its own, which does not exist yet. */
  copyTo(folder: string): Promise<void>;
  forgetDeadReaders(): void;
  close(): Promise<void>;
}

/** Where the entries of one record store are, whether there are any or not. */
export interface EntrySource {
  /** Of the store, for messages. */
  readonly name: string;
  /** It has a share of an environment. */
  readonly isShared: boolean;
  /** `null`: nothing was written there yet. Throws `collection_unavailable` where it is damaged. */
  find(): EntrySpace | null;
  /** Makes it if it is not there. Throws `storage_full`. */
  make(): EntrySpace;
}

/** Counts what the writes of one action add to the entries of a store. */
export class EntryTally {
  #entries = 0;
  #bytes = 0;

  get entries(): number {
    return this.#entries;
  }

  /** Of keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  reset(): void {
    this.#entries = 0;
    this.#bytes = 0;
  }

  /** An entry is written over one with a value of so many bytes. `null`: there is, or was, none. */
  add(keyBytes: number, before: number | null, after: number | null): void {
    this.#entries += Number(after !== null) - Number(before !== null);
    this.#bytes += (after === null ? 0 : keyBytes + after) - (before === null ? 0 : keyBytes + before);
  }
}
