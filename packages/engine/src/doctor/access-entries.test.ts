import { DEFAULT_TENANT } from "@sheaf/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { Catalog } from "../catalog/catalog.ts";
import { CATALOG_PREFIX } from "../catalog/catalog-keys.ts";
import type { CatalogEntry } from "../storage/catalog/catalog-store.ts";
import { MemoryCatalogStore } from "../storage/catalog/memory-catalog-store.ts";
import { AccessEntries } from "./access-entries.ts";

describe("what leads to API keys and tenants", () => {
  let entries: readonly CatalogEntry[];

  beforeAll(async () => {
    const store = new MemoryCatalogStore();
    const catalog = await Catalog.open(store);
    await catalog.updateTenant(DEFAULT_TENANT, "resource");
    for (const [i, tenant] of [DEFAULT_TENANT, null].entries()) {
      await catalog.keys.create({
        ...{ id: `key_${i}`, digest: `${i}`.padStart(64, "0"), name: "k", tenant, database: null },
        ...{ scopes: ["read"], created: i, expires: null, lastUsed: null, replacedBy: null },
        limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
      });
    }
    const all = { start: Uint8Array.of(0), end: Uint8Array.of(0xff), limit: 1_000 };
    entries = await store.entries(all);
  });

  const problemsOf = (some: readonly CatalogEntry[]): readonly string[] => {
    const found = new AccessEntries();
    for (const entry of some) found.add(entry, { store: "catalog", key: entry.key });
    return found.problems();
  };
  const isLeading = ({ key }: CatalogEntry): boolean =>
    key[0]! >= CATALOG_PREFIX.apiKeyByDigest && key[0] !== CATALOG_PREFIX.apiKeyCount;

  it("is whole where each of them has all of its entries", () => {
    expect(problemsOf(entries)).toEqual([]);
    expect(entries.filter(isLeading)).toHaveLength(6);
  });

  it("is not whole without any one of these entries, or where one leads elsewhere", () => {
    for (const entry of entries.filter(isLeading)) {
      const missing = problemsOf(entries.filter((one) => one !== entry));
      expect(missing).toEqual([expect.stringMatching(/^an entry that leads to .* is missing$/u)]);
      const elsewhere = entries.map((one) => (one === entry ? { ...entry, value: Buffer.from("x") } : one));
      expect(problemsOf(elsewhere)).toEqual([
        expect.stringMatching(/is missing$/u),
        "an entry leads to x, which it does not belong to",
      ]);
    }
  });

  it("is not whole where the count is another, or a record is lost", () => {
    const isCount = ({ key }: CatalogEntry): boolean => key[0] === CATALOG_PREFIX.apiKeyCount;
    const withoutCount = entries.filter((entry) => !isCount(entry));
    expect(problemsOf(withoutCount)).toEqual(["it counts 0 API keys, and has 2"]);
    const lost = entries.findIndex(({ key }) => key[0] === CATALOG_PREFIX.apiKey);
    expect(problemsOf(entries.toSpliced(lost, 1))).toHaveLength(4);
  });
});
