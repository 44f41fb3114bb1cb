/** API keys and token counts as every engine keeps them. */
import { randomBytes, randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine, ListBatch, ListPage, StoredKey } from "./engine.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const HOUR = 3_600_000;

function key(fields: Partial<StoredKey> = {}): StoredKey {
  return {
    id: `key_${randomUUID()}`,
    digest: randomBytes(32).toString("hex"),
    name: "indexer",
    tenant: null,
    database: null,
    scopes: ["read", "write"],
    limits: { requestsPerMinute: 10, tokensPerMinute: null, concurrentRequests: null },
    created: NOW,
    expires: null,
    lastUsed: null,
    replacedBy: null,
    ...fields,
  };
}

/** `current` gives the engine under test. */
export function engineKeysSuite(current: () => Engine): void {
  let engine: Engine;
  let tenant: string;

  beforeEach(async () => {
    engine = current();
    tenant = `t-${randomUUID()}`;
    await engine.createTenant(tenant);
    await engine.createDatabase({ tenant, database: "prod" });
  });

  const all = async (): Promise<readonly StoredKey[]> => {
    const keys: StoredKey[] = [];
    for (let page: ListPage | null = { limit: null, offset: 0 }; page !== null;) {
      const { items, next }: ListBatch<StoredKey> = await engine.listKeys(page);
      keys.push(...items);
      page = next === null ? null : { limit: null, offset: 0, after: next };
    }
    return keys;
  };
  const find = async (id: string): Promise<StoredKey | undefined> =>
    (await all()).find((known) => known.id === id);

  describe("API keys", () => {
    it("are kept, listed and removed", async () => {
      const made = key({ tenant, database: "prod" });
      await engine.createKey(made);
      expect(await find(made.id)).toEqual(made);
      await engine.deleteKey(made.id);
      expect(await find(made.id)).toBeUndefined();
      await expect(engine.deleteKey(made.id)).rejects.toMatchObject({ code: "not_found" });
    });

    it("are bound to what is there", async () => {
      const absent = key({ tenant: `t-${randomUUID()}` });
      await expect(engine.createKey(absent)).rejects.toMatchObject({ code: "not_found" });
      const elsewhere = key({ tenant, database: "test" });
      await expect(engine.createKey(elsewhere)).rejects.toMatchObject({ code: "not_found" });
    });

    it("go with the tenant or the database they are bound to", async () => {
      const [ofTenant, ofDatabase, ofAll] = [key({ tenant }), key({ tenant, database: "prod" }), key()];
      for (const made of [ofTenant, ofDatabase, ofAll]) await engine.createKey(made);
      await engine.deleteDatabase({ tenant, database: "prod" });
      expect(await find(ofDatabase.id)).toBeUndefined();
      expect(await find(ofTenant.id)).toEqual(ofTenant);
      await engine.deleteTenant(tenant);
      expect(await find(ofTenant.id)).toBeUndefined();
      expect(await find(ofAll.id)).toEqual(ofAll);
    });

    it("go with their tenant all together, however many there are, and no others", async () => {
      const ours = Array.from({ length: 300 }, (_, i) =>
        key({ tenant, database: i % 2 > 0 ? "prod" : null }),
      );
      const others = Array.from({ length: 300 }, () => key());
      await Promise.all([...ours, ...others].map((made) => engine.createKey(made)));
      await engine.deleteDatabase({ tenant, database: "prod" });
      const ids = new Set([...ours, ...others].map(({ id }) => id));
      const left = async (): Promise<string[]> =>
        (await all()).flatMap(({ id }) => (ids.has(id) ? [id] : [])).toSorted();
      const idsOf = (keys: readonly StoredKey[]): string[] => keys.map(({ id }) => id).toSorted();
      expect(await left()).toEqual(idsOf([...ours.filter(({ database }) => database === null), ...others]));
      await engine.deleteTenant(tenant);
      expect(await left()).toEqual(idsOf(others));
    });

    it("are listed by age, in pages", async () => {
      const before = (await all()).length;
      const made = Array.from({ length: 600 }, (_, i) => key({ created: NOW + ((i * 7) % 600) }));
      await Promise.all(made.map((one) => engine.createKey(one)));
      const listed = await all();
      expect(listed).toHaveLength(before + made.length);
      const ages = listed.map(({ created }) => created);
      expect(ages).toEqual(ages.toSorted((a, b) => a - b));
      const page = await engine.listKeys({ limit: 5, offset: before + 500 });
      expect(page.items.map(({ id }) => id)).toEqual(
        listed.slice(before + 500, before + 505).map(({ id }) => id),
      );
      await Promise.all(made.map(({ id }) => engine.deleteKey(id)));
      expect(await all()).toHaveLength(before);
    });

    it("rotate into another that is the same but for what is new, and overlap", async () => {
      const old = key({ tenant, lastUsed: NOW, expires: NOW + 9 * HOUR });
      await engine.createKey(old);
      const id = `key_${randomUUID()}`;
      const fresh = { id, digest: "cd".repeat(32), created: NOW + HOUR };
      const made = await engine.rotateKey(old.id, {
        ...fresh,
        expires: undefined,
        oldExpires: NOW + 2 * HOUR,
      });
      expect(made).toEqual({ ...old, ...fresh, lastUsed: null });
      expect(await find(id)).toEqual(made);
      expect(await find(old.id)).toEqual({ ...old, replacedBy: id, expires: NOW + 2 * HOUR });
      const again = { ...fresh, id: `key_${randomUUID()}`, expires: undefined, oldExpires: NOW };
      await expect(engine.rotateKey(old.id, again)).rejects.toMatchObject({ code: "already_exists" });
      await expect(engine.rotateKey("nobody", again)).rejects.toMatchObject({ code: "not_found" });
    });

    it("never live longer for being rotated, and not again once expired", async () => {
      const old = key({ expires: NOW + HOUR });
      await engine.createKey(old);
      const fresh = { digest: "cd".repeat(32), expires: NOW + 9 * HOUR, oldExpires: NOW + 5 * HOUR };
      const late = { ...fresh, id: `key_${randomUUID()}`, created: NOW + HOUR };
      await expect(engine.rotateKey(old.id, late)).rejects.toMatchObject({ code: "failed_precondition" });
      const made = await engine.rotateKey(old.id, { ...late, created: NOW });
      expect(made.expires).toBe(NOW + 9 * HOUR);
      expect(await find(old.id)).toMatchObject({ expires: NOW + HOUR });
    });
  });

  describe("activity", () => {
    it("is remembered by key and by tenant, and never goes back", async () => {
      const made = key();
      await engine.createKey(made);
      const note = (at: number) => ({ lastUsed: [{ id: made.id, at }], tokens: [] });
      await engine.recordActivity(note(NOW + 5));
      await engine.recordActivity(note(NOW + 1));
      await engine.recordActivity({ lastUsed: [{ id: "nobody", at: NOW }], tokens: [] });
      expect(await find(made.id)).toEqual({ ...made, lastUsed: NOW + 5 });
      const usage = { tenant, day: "2030-01-01", tokens: 7 };
      await engine.recordActivity({ lastUsed: [], tokens: [usage] });
      await engine.recordActivity({ lastUsed: [], tokens: [{ ...usage, tokens: 9 }] });
      expect(await engine.listTokenUsage()).toContainEqual({ ...usage, tokens: 9 });
      await engine.deleteTenant(tenant);
      expect((await engine.listTokenUsage()).map((known) => known.tenant)).not.toContain(tenant);
    });
  });
}
