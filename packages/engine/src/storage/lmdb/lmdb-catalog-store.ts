/**
 * The catalog in an LMDB environment of its own. This process is the only one that writes there, so whatever is committed
 * is known here at once.
 */
import { damagedStore, type DataOrigin } from "../corrupt-data-error.ts";
import type {
  CatalogCommit,
  CatalogCondition,
  CatalogEntry,
  CatalogPage,
  CatalogRange,
  CatalogStore,
} from "../catalog/catalog-store.ts";
import type { DiskSpace } from "../folder/disk-space.ts";
import type { EntryCheck } from "./check-file.ts";
import { EVERY_KEY } from "./key-range.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";

/** What is done between two looks at the clock. */
const PER_STEP = 16;

export interface LmdbCatalogOptions {
  readonly folder: string;
  readonly disk: DiskSpace;
  /** Go through all pages first, and throw `collection_unavailable` where one of them is damaged; each entry is given to it. */
  readonly thorough?: EntryCheck;
  /** Nothing can be written; the folder has to be there. */
  readonly readOnly?: boolean;
}

export class LmdbCatalogStore implements CatalogStore {
  readonly #environment: LmdbEnvironment;

  constructor(options: LmdbCatalogOptions) {
    this.#environment = new LmdbEnvironment({ ...options, name: "catalog", usesReserve: true });
  }

  /** Throws `collection_unavailable` unless every entry can be reached. */
  requireWhole(): void {
    const { entryCount } = this.#environment.whole;
    const found = this.#environment.count(EVERY_KEY);
    if (found !== entryCount)
      throw damagedStore("catalog", `${found} of its ${entryCount} entries can be reached`);
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    return this.#environment.get(key);
  }

  async getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    return keys.map((key) => this.#environment.get(key));
  }

  async entries(page: CatalogPage): Promise<readonly CatalogEntry[]> {
    return this.#environment.entries(page);
  }

  async count(range: CatalogRange): Promise<number> {
    return this.#environment.count(range);
  }

  origin(key: Uint8Array): DataOrigin {
    return this.#environment.origin(key);
  }

  commit(commit: CatalogCommit): Promise<"done" | "conflict"> {
    return this.#environment.transact(() => this.#apply(commit));
  }

  async version(): Promise<number | null> {
    return this.#environment.settledState;
  }

  async requireRoom(bytes: number): Promise<void> {
    this.#environment.disk.require(bytes);
  }

  async size(): Promise<number> {
    return this.#environment.bytes;
  }

  /** As `LmdbEnvironment.copyTo`. */
  copyTo(folder: string): Promise<void> {
    return this.#environment.copyTo(folder);
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  *#apply({ conditions, clears, writes }: CatalogCommit): Generator<void, "done" | "conflict"> {
    let done = 0;
    for (const condition of conditions) {
      if (!this.#holds(condition)) return "conflict";
      if (++done % PER_STEP === 0) yield;
    }
    for (const range of clears) {
      for (const { key } of this.#environment.entries(range)) this.#environment.remove(key);
    }
    for (const { key, value } of writes) {
      if (value === null) this.#environment.remove(key);
      else this.#environment.put(key, value, true);
      if (++done % PER_STEP === 0) yield;
    }
    return "done";
  }

  #holds(condition: CatalogCondition): boolean {
    if ("range" in condition) return this.#environment.count(condition.range) === condition.count;
    const found = this.#environment.peek(condition.key);
    if (found === null || condition.value === null) return found === condition.value;
    return Buffer.compare(found, condition.value) === 0;
  }
}
