/**
 * The seam under the catalog: entries by key, in the order of their bytes, and commits that hold conditions. LMDB is the
 * first implementation, memory the second; `catalog-store.suite.ts` holds all to the same behaviour. What keys and values
 * mean is decided above it, in `catalog-keys.ts` and `catalog-codec.ts`.
 *
 * Made so that a database on another machine fits, which several servers write: reads are promises of what is committed,
 * and two reads may see two states. Whoever decides by what it has read has its commit name that as conditions, and
 * decides anew where one of them no longer holds (`CatalogTransactions`).
 */
import type { DataOrigin } from "../corrupt-data-error.ts";

export interface CatalogEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface CatalogRange {
  /** Included. */
  readonly start: Uint8Array;
  /** Excluded. */
  readonly end: Uint8Array;
}

export interface CatalogPage extends CatalogRange {
  readonly limit: number;
  /** Entries to pass over first. */
  readonly offset?: number;
}

/** Of the state that a commit goes on from: what lies under a key (`null`: nothing), or how many entries a range has. */
export type CatalogCondition =
  | { readonly key: Uint8Array; readonly value: Uint8Array | null }
  | { readonly range: CatalogRange; readonly count: number };

/** `null`: the entry is removed, if there is one. */
export interface CatalogWrite {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/** Not to be changed once it is handed over. There may be hundreds of thousands of each. */
export interface CatalogCommit {
  readonly conditions: Iterable<CatalogCondition>;
  /** All entries in them are removed before anything is written. */
  readonly clears: Iterable<CatalogRange>;
  /** At most one of each key. */
  readonly writes: Iterable<CatalogWrite>;
}

/** Reads of what is committed. None of them writes, and each of them sees one state. */
export interface CatalogView {
  /** `null`: there is no such entry, also of a key that is longer than a store can have. */
  get(key: Uint8Array): Promise<Uint8Array | null>;
  /** One value for each key, in their order. For some hundred keys at most: they are one request. */
  getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]>;
  /** Ascending. */
  entries(page: CatalogPage): Promise<readonly CatalogEntry[]>;
  count(range: CatalogRange): Promise<number>;
  /** How messages name a place in this store. */
  origin(key: Uint8Array): DataOrigin;
}

export interface CatalogStore extends CatalogView {
  /**
   * Whole or not at all, and durable when it is done: every read that begins afterwards sees it, whoever asks. `conflict`:
   * a condition does not hold, and nothing was written. Rejects with 507 where there is no room, and where nobody can tell
   * whether it was done.
   *
   * @param isOutdated Asked before what has certainly not been done is sent, for others may have changed something and changed
   *   it back, which conditions do not notice: `true` is a conflict.
   */
  commit(commit: CatalogCommit, isOutdated?: () => boolean): Promise<"done" | "conflict">;
  /**
   * As long as it is the same number, what was read may be used again; `null`: nothing may be kept now. A commit of this
   * process counts before it resolves, one of another process within a second.
   */
  version(): Promise<number | null>;
  /** Throws 507 unless a change that a tenant asks for has room for so many bytes, beside what is kept free. */
  requireRoom(bytes: number): Promise<void>;
  /** What the entries take where they are kept. */
  size(): Promise<number>;
  close(): Promise<void>;
}
