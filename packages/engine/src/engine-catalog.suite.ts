/** Tenants, databases and collections as every engine keeps them. */
import { randomUUID } from "node:crypto";
import { type Collection, type CollectionRef, type Metadata, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine, ListBatch, ListPage } from "./engine.ts";
import { ALL, AT, makeCollection, record, write } from "./testing/engine-fixtures.ts";

/** `current` gives the engine under test. */
export function engineCatalogSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
  });

  describe("catalog", () => {
    it("has the default tenant and database", async () => {
      await expect(engine.getTenant("default_tenant")).resolves.toEqual({
        name: "default_tenant",
        resourceName: null,
      });
      await expect(engine.getDatabase(AT)).resolves.toMatchObject({ name: "default_database" });
    });

    it("creates, lists, updates and deletes tenants", async () => {
      const tenant = `t-${randomUUID()}`;
      await expect(engine.getTenant(tenant)).rejects.toMatchObject({
        code: "not_found",
        message: `Tenant [${tenant}] not found`,
      });
      await engine.createTenant(tenant);
      await expect(engine.createTenant(tenant)).rejects.toMatchObject({
        code: "already_exists",
        message: `Tenant [${tenant}] already exists`,
      });
      await engine.updateTenant(tenant, "resource");
      expect((await engine.listTenants(ALL)).items).toContainEqual({
        name: tenant,
        resourceName: "resource",
      });
      const database = { tenant, database: "inside" };
      await engine.createDatabase(database);
      const { id } = await engine.createCollection(parseCreateCollection({ name: "doomed" }, database));
      await engine.deleteTenant(tenant);
      await expect(engine.getTenant(tenant)).rejects.toMatchObject({ code: "not_found" });
      await expect(engine.getCollection({ ...database, id })).rejects.toMatchObject({ code: "not_found" });
      await expect(engine.deleteTenant(tenant)).rejects.toMatchObject({ code: "not_found" });
    });

    it("creates, pages and deletes databases, by name", async () => {
      const tenant = `t-${randomUUID()}`;
      await expect(engine.createDatabase({ tenant, database: "one" })).rejects.toMatchObject({
        code: "not_found",
      });
      await engine.createTenant(tenant);
      for (const database of ["cc", "aa", "bb"]) await engine.createDatabase({ tenant, database });
      await expect(engine.createDatabase({ tenant, database: "aa" })).rejects.toMatchObject({
        message: "Database [aa] already exists",
      });
      const names = async (limit: number | null, offset: number): Promise<string[]> =>
        (await engine.listDatabases(tenant, { limit, offset })).items.map((database) => database.name);
      expect(await names(null, 0)).toEqual(["aa", "bb", "cc"]);
      expect(await names(1, 1)).toEqual(["bb"]);
      expect(await names(0, 0)).toEqual([]);
      expect(await engine.listDatabases("nobody", ALL)).toEqual({ items: [], next: null });
      await engine.deleteDatabase({ tenant, database: "bb" });
      expect(await names(null, 0)).toEqual(["aa", "cc"]);
      await expect(engine.getDatabase({ tenant, database: "bb" })).rejects.toMatchObject({
        message: expect.stringMatching(/^Database \[bb\] not found; create it first, with POST /u),
      });
      await expect(engine.deleteDatabase({ tenant, database: "bb" })).rejects.toMatchObject({
        message: "Database [bb] not found",
      });
    });

    it("creates a collection once, or returns the one there is", async () => {
      const metadata: Metadata = new Map<string, bigint | number | string[]>([
        ["big", 9007199254740993n],
        ["float", 3],
        ["list", ["a"]],
      ]);
      const request = { ...parseCreateCollection({ name: `c-${randomUUID()}` }, AT), metadata };
      const made = await engine.createCollection(request);
      expect(made).toMatchObject({ ...AT, dimension: null, version: 0, logPosition: 0, metadata });
      await expect(engine.createCollection(request)).rejects.toMatchObject({
        message: `Collection [${request.name}] already exists`,
      });
      const again = await engine.createCollection({ ...request, metadata: null, getOrCreate: true });
      expect(again).toEqual(made);
      expect(await engine.getCollectionByName({ ...AT, name: request.name })).toEqual(made);
      expect(await engine.getCollection({ ...AT, id: made.id.toUpperCase() })).toEqual(made);
    });

    it("lists collections in order of creation", async () => {
      const database = { tenant: "default_tenant", database: `d-${randomUUID()}` };
      await engine.createDatabase(database);
      for (const name of ["zzz", "aaa", "mmm"]) {
        await engine.createCollection(parseCreateCollection({ name }, database));
      }
      const names = ({ items }: ListBatch<Collection>): string[] => items.map(({ name }) => name);
      expect(names(await engine.listCollections(database, ALL))).toEqual(["zzz", "aaa", "mmm"]);
      expect(names(await engine.listCollections(database, { limit: 1, offset: 2 }))).toEqual(["mmm"]);
      expect(await engine.countCollections(database)).toBe(3);
      await engine.deleteCollection({ ...database, name: "aaa" });
      expect(names(await engine.listCollections(database, ALL))).toEqual(["zzz", "mmm"]);
      expect(await engine.countCollections({ ...database, database: "none" })).toBe(0);
    });

    it("gives long lists in batches that have everything once, whatever goes meanwhile", async () => {
      const database = { tenant: "default_tenant", database: `d-${randomUUID()}` };
      await engine.createDatabase(database);
      const all = Array.from({ length: 12 }, (_, i) => `collection-${i}`);
      const metadata: Metadata = new Map([["long", "x".repeat(100_000)]]);
      for (const name of all) {
        await engine.createCollection({ ...parseCreateCollection({ name }, database), metadata });
      }
      const first = await engine.listCollections(database, { limit: 11, offset: 2 });
      const names = first.items.map(({ name }) => name);
      expect(names).toEqual(all.slice(2, 5));
      // The one that the batch ended with is where the next begins.
      await engine.deleteCollection({ ...database, name: "collection-4" });
      for (let { next } = first; next !== null;) {
        const batch = await engine.listCollections(database, { limit: null, offset: 0, after: next });
        expect(batch.items.length).toBeLessThan(4);
        names.push(...batch.items.map(({ name }) => name));
        next = batch.next;
      }
      expect(names).toEqual(all.slice(2));
    });

    it("goes on behind a page, whatever of it is gone, and behind none of another list", async () => {
      const database = { tenant: "default_tenant", database: `d-${randomUUID()}` };
      await engine.createDatabase(database);
      const all = ["eee", "ddd", "ccc", "bbb", "aaa"];
      for (const name of all) await engine.createCollection(parseCreateCollection({ name }, database));
      const names: string[] = [];
      let page: ListPage = { limit: 2, offset: 0 };
      for (let next: string | null = ""; next !== null;) {
        const batch = await engine.listCollections(database, page);
        for (const { name } of batch.items) {
          names.push(name);
          await engine.deleteCollection({ ...database, name });
        }
        next = batch.next;
        page = { limit: 2, offset: 0, ...(next !== null && { after: next }) };
      }
      expect(names).toEqual(all);
      const { next } = await engine.listTenants({ limit: 1, offset: 0 });
      const foreign = engine.listCollections(database, { ...ALL, after: next! });
      await expect(foreign).rejects.toMatchObject({
        code: "invalid_argument",
        message: "after: is of another list",
      });
    });

    it("refuses a collection in a database that does not exist", async () => {
      const request = parseCreateCollection(
        { name: "lost" },
        { tenant: "default_tenant", database: "nowhere" },
      );
      await expect(engine.createCollection(request)).rejects.toMatchObject({
        status: 400,
        message:
          "Database [nowhere] not found; create it first, with POST /api/v2/tenants/default_tenant/databases",
      });
    });

    it("says that the tenant of a database does not exist", async () => {
      const nowhere = { tenant: "nobody", database: "default_database" };
      const message = "Tenant [nobody] not found; create it first, with POST /api/v2/tenants";
      await expect(engine.getDatabase(nowhere)).rejects.toMatchObject({ status: 404, message });
      const request = parseCreateCollection({ name: "lost" }, nowhere);
      await expect(engine.createCollection(request)).rejects.toMatchObject({ status: 400, message });
    });

    it("renames, replaces metadata and refuses a taken name", async () => {
      const { name } = await engine.getCollection(ref);
      const other = await engine.getCollection(await makeCollection(engine));
      await expect(engine.updateCollection(ref, { name: other.name })).rejects.toMatchObject({
        status: 409,
        message: `Collection [${other.name}] already exists`,
      });
      await engine.updateCollection(ref, { name: `${name}-new`, metadata: new Map([["a", true]]) });
      await expect(engine.getCollectionByName({ ...AT, name })).rejects.toMatchObject({
        message: `Collection [${name}] does not exist`,
      });
      const renamed = await engine.getCollectionByName({ ...AT, name: `${name}-new` });
      expect(renamed).toMatchObject({ id: ref.id, metadata: new Map([["a", true]]) });
      await engine.updateCollection(ref, {});
      expect(await engine.getCollection(ref)).toEqual(renamed);
    });

    it("knows an id only under its own tenant and database", async () => {
      const unknown = { ...AT, id: randomUUID() };
      for (const wrong of [unknown, { ...ref, tenant: "other" }, { ...ref, database: "other" }]) {
        await expect(engine.getCollection(wrong)).rejects.toMatchObject({
          code: "not_found",
          message: `Collection [${wrong.id}] does not exist.`,
        });
        await expect(write(engine, wrong, "add", record("a"))).rejects.toMatchObject({ code: "not_found" });
      }
    });
  });
}
