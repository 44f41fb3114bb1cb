import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { describe, expect, it, vi } from "vitest";
import { MemoryCatalogStore } from "../storage/catalog/memory-catalog-store.ts";
import { Catalog } from "./catalog.ts";
import { COLLECTION_COUNT_KEY } from "./catalog-keys.ts";

const HOME = { tenant: DEFAULT_TENANT, database: "large" };
const COLLECTIONS = 1_500;

describe("a catalog of thousands of collections", () => {
  it("lets the event loop turn while it removes them, and gives lists in batches", async () => {
    const catalog = await Catalog.open(new MemoryCatalogStore());
    await catalog.createDatabase(HOME);
    const rest = { metadata: null, configuration: {}, schema: {}, getOrCreate: false };
    await Promise.all(
      Array.from({ length: COLLECTIONS }, (_, i) =>
        catalog.createCollection({ ...HOME, name: `c${i}`, ...rest }),
      ),
    );
    const names: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const page = { limit: null, offset: 0, ...(after === "" ? {} : { after }) };
      const { items, next } = await catalog.collections(HOME, page);
      expect(items.length).toBeLessThanOrEqual(512);
      for (const { name } of items) names.push(name);
      after = next;
    }
    expect(names).toEqual(Array.from({ length: COLLECTIONS }, (_, i) => `c${i}`));
    let turns = 0;
    const removed = catalog.deleteTenant(DEFAULT_TENANT).finally(() => (turns = -turns));
    while (turns >= 0) {
      turns++;
      await new Promise(setImmediate);
    }
    expect(await removed).toHaveLength(COLLECTIONS);
    expect(-turns).toBeGreaterThan(2);
    expect(await catalog.collectionCount()).toBe(0);
  });

  it("knows how many there are without counting, also after an earlier build has made some", async () => {
    const store = new MemoryCatalogStore();
    const rest = { metadata: null, configuration: {}, schema: {}, getOrCreate: false };
    const make = async (name: string): Promise<Catalog> => {
      const catalog = await Catalog.open(store);
      await catalog.createCollection({ tenant: DEFAULT_TENANT, database: DEFAULT_DATABASE, name, ...rest });
      return catalog;
    };
    await make("one");
    expect(await (await make("two")).collectionCount()).toBe(2);
    await store.commit({ conditions: [], clears: [], writes: [{ key: COLLECTION_COUNT_KEY, value: null }] });
    const catalog = await make("three");
    const counted = vi.spyOn(store, "count");
    expect(await catalog.collectionCount()).toBe(3);
    await catalog.reset();
    expect(await catalog.collectionCount()).toBe(0);
    expect(counted).not.toHaveBeenCalled();
  });
});
