/** `@sheaf/client`: a tenant and its databases, from their making to their removal. */
import { InvalidRequestError, NotFoundError, SheafClient } from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";

let served: ServedSheaf;
beforeAll(async () => {
  served = await ServedSheaf.start();
});
afterAll(() => served.dispose());

const clientOf = (tenant: string, database: string): SheafClient =>
  new SheafClient({ url: served.url, key: ROOT_KEY, tenant, database });

describe("a tenant of @sheaf/client", () => {
  it("has no database until one is made, and is told how where a collection needs it", async () => {
    const client = clientOf("acme / 1", "notes");
    await client.createTenant({ name: "acme / 1" });
    expect(await client.listDatabases()).toEqual([]);
    const refused = await client.createCollection({ name: "meetings" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InvalidRequestError);
    expect(refused).toMatchObject({
      message:
        "Database [notes] not found; create it first, with POST /api/v2/tenants/acme%20%2F%201/databases",
    });
    await client.createDatabase({ name: "notes" });
    await client.createDatabase({ name: "archive" });
    expect(await client.getDatabase({ name: "notes" })).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      name: "notes",
      tenant: "acme / 1",
    });
    expect((await client.listDatabases()).map(({ name }) => name)).toEqual(["archive", "notes"]);
    expect(await (await client.createCollection({ name: "meetings" })).count()).toBe(0);
  });

  it("goes through its databases and misses none, whatever is removed meanwhile", async () => {
    const client = clientOf("walked", "d0");
    await client.createTenant({ name: "walked" });
    const names = Array.from({ length: 5 }, (_, i) => `db${i}`);
    for (const name of names) await client.createDatabase({ name });
    const seen: string[] = [];
    for await (const { name } of client.databases({ pageSize: 2 })) {
      seen.push(name);
      await client.deleteDatabase({ name });
    }
    expect(seen).toEqual(names);
  });

  it("lists its collections, all or a page of them", async () => {
    const client = clientOf("lists", "notes");
    await client.createTenant({ name: "lists" });
    await client.createDatabase({ name: "notes" });
    expect(await client.listCollections()).toEqual([]);
    const names = ["one", "two", "three"];
    for (const name of names) await client.createCollection({ name });
    const all = await client.listCollections();
    expect(all.map(({ info }) => info.name)).toEqual(names);
    expect(await all[1]?.count()).toBe(0);
    const page = await client.listCollections({ offset: 1, limit: 1 });
    expect(page.map(({ info }) => info.name)).toEqual(["two"]);
  });

  it("loses the databases that are deleted, and all of them with itself", async () => {
    const client = clientOf("library", "books");
    await client.createTenant({ name: "library" });
    for (const name of ["atlas", "books"]) await client.createDatabase({ name });
    await client.createCollection({ name: "novels" });
    await client.deleteDatabase({ name: "books" });
    expect(await client.listDatabases()).toMatchObject([{ name: "atlas", tenant: "library" }]);
    await expect(client.getDatabase({ name: "books" })).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.getCollection({ name: "novels" })).rejects.toBeInstanceOf(NotFoundError);
    await client.deleteTenant({ name: "library" });
    await expect(client.getDatabase({ name: "atlas" })).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.createDatabase({ name: "atlas" })).rejects.toBeInstanceOf(NotFoundError);
  });
});
