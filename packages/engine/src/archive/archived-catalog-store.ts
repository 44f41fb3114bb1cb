/** A catalog store whose commits are in the archive before they are done. */
import type {
  CatalogCommit,
  CatalogEntry,
  CatalogPage,
  CatalogRange,
  CatalogStore,
} from "../storage/catalog/catalog-store.ts";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";
import { ARCHIVE_POSITION_KEY } from "../catalog/catalog-keys.ts";
import type { Archive } from "./archive.ts";
import { decodePosition, encodePosition } from "./archive-entries.ts";

export class ArchivedCatalogStore implements CatalogStore {
  readonly #store: CatalogStore;
  readonly #archive: Archive;
  /** Commits take turns: of one alone it may be unknown what became of it. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(store: CatalogStore, archive: Archive) {
    this.#store = store;
    this.#archive = archive;
  }

  /** Voids the last entry where a process was killed before it had done it, and begins a new chain where more are missing. */
  static async over(store: CatalogStore, archive: Archive): Promise<ArchivedCatalogStore> {
    const known = await store.get(ARCHIVE_POSITION_KEY);
    archive.compareCatalog(known === null ? 0 : decodePosition(Buffer.from(known)));
    return new ArchivedCatalogStore(store, archive);
  }

  get(key: Uint8Array): Promise<Uint8Array | null> {
    return this.#store.get(key);
  }

  getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    return this.#store.getAll(keys);
  }

  entries(page: CatalogPage): Promise<readonly CatalogEntry[]> {
    return this.#store.entries(page);
  }

  count(range: CatalogRange): Promise<number> {
    return this.#store.count(range);
  }

  origin(key: Uint8Array): DataOrigin {
    return this.#store.origin(key);
  }

  commit(commit: CatalogCommit): Promise<"done" | "conflict"> {
    const run = this.#last.then(() =>
      this.#archive.commitCatalog(commit, ({ writes, ...archived }, position) => {
        const mark = { key: ARCHIVE_POSITION_KEY, value: encodePosition(position)[0]! };
        return this.#store.commit({ ...archived, writes: [...writes, mark] });
      }),
    );
    this.#last = run.catch(() => undefined);
    return run;
  }

  version(): Promise<number | null> {
    return this.#store.version();
  }

  requireRoom(bytes: number): Promise<void> {
    return this.#store.requireRoom(bytes);
  }

  size(): Promise<number> {
    return this.#store.size();
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#store.close();
  }
}
