/** A catalog in memory. Several catalogs may share one, as several servers share a database. */
import type { DataOrigin } from "../corrupt-data-error.ts";
import type {
  CatalogCommit,
  CatalogCondition,
  CatalogEntry,
  CatalogPage,
  CatalogRange,
  CatalogStore,
} from "./catalog-store.ts";

export class MemoryCatalogStore implements CatalogStore {
  /** Ascending. */
  readonly #entries: CatalogEntry[] = [];
  #commits = 0;

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    return this.#find(key);
  }

  async getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    return keys.map((key) => this.#find(key));
  }

  async entries({ limit, offset = 0, ...range }: CatalogPage): Promise<readonly CatalogEntry[]> {
    const [from, to] = this.#bounds(range);
    return this.#entries.slice(from + offset, Math.min(to, from + offset + limit));
  }

  async count(range: CatalogRange): Promise<number> {
    const [from, to] = this.#bounds(range);
    return to - from;
  }

  origin(key: Uint8Array): DataOrigin {
    return { store: "catalog", key };
  }

  async commit(
    { conditions, clears, writes }: CatalogCommit,
    isOutdated: () => boolean = () => false,
  ): Promise<"done" | "conflict"> {
    if (isOutdated()) return "conflict";
    for (const condition of conditions) if (!this.#holds(condition)) return "conflict";
    for (const range of clears) {
      const [from, to] = this.#bounds(range);
      this.#entries.splice(from, to - from);
    }
    for (const { key, value } of writes) {
      const at = this.#place(key);
      const isThere = this.#isAt(at, key);
      if (value === null) this.#entries.splice(at, Number(isThere));
      else this.#entries.splice(at, Number(isThere), { key: Buffer.from(key), value: Buffer.from(value) });
    }
    this.#commits += 1;
    return "done";
  }

  async version(): Promise<number> {
    return this.#commits;
  }

  async requireRoom(): Promise<void> {}

  async size(): Promise<number> {
    return this.#entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  }

  async close(): Promise<void> {}

  #holds(condition: CatalogCondition): boolean {
    if ("range" in condition) {
      const [from, to] = this.#bounds(condition.range);
      return to - from === condition.count;
    }
    return isSame(this.#find(condition.key), condition.value);
  }

  #find(key: Uint8Array): Uint8Array | null {
    const at = this.#place(key);
    return this.#isAt(at, key) ? Buffer.from(this.#entries[at]!.value) : null;
  }

  #isAt(at: number, key: Uint8Array): boolean {
    const entry = this.#entries[at];
    return entry !== undefined && Buffer.compare(entry.key, key) === 0;
  }

  #bounds({ start, end }: CatalogRange): readonly [number, number] {
    const from = this.#place(start);
    return [from, Math.max(from, this.#place(end))];
  }

  /** Where the key stands, or would. */
  #place(key: Uint8Array): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(this.#entries[middle]!.key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isSame(found: Uint8Array | null, expected: Uint8Array | null): boolean {
  if (found === null || expected === null) return found === expected;
  return Buffer.compare(found, expected) === 0;
}
