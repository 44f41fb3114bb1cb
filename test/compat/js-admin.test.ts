/** npm `chromadb`, unchanged: every method of `AdminClient`, and tenants that stay apart. */
import { type AdminClient, ChromaClientError, ChromaNotFoundError, ChromaUniqueError } from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { adminClient, chromaClient } from "./testing/chroma.ts";

let served: ServedSheaf;
let admin: AdminClient;

beforeAll(async () => {
  served = await ServedSheaf.start();
  admin = adminClient(served);
});

afterAll(async () => {
  await served.dispose();
});

describe("AdminClient", () => {
  it("createTenant and getTenant", async () => {
    await admin.createTenant({ name: "acme" });
    expect(await admin.getTenant({ name: "acme" })).toBe("acme");
    expect(await admin.getTenant({ name: "default_tenant" })).toBe("default_tenant");
  });

  it("createDatabase, getDatabase, listDatabases and deleteDatabase", async () => {
    await admin.createTenant({ name: "library" });
    for (const name of ["books", "atlas", "charts"]) await admin.createDatabase({ name, tenant: "library" });
    expect(await admin.getDatabase({ name: "books", tenant: "library" })).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      name: "books",
      tenant: "library",
    });
    const names = async (page: object = {}) =>
      (await admin.listDatabases({ tenant: "library", ...page })).map(({ name }) => name);
    expect(await names()).toEqual(["atlas", "books", "charts"]);
    expect(await names({ limit: 1, offset: 1 })).toEqual(["books"]);
    expect(await names({ offset: 3 })).toEqual([]);
    await admin.deleteDatabase({ name: "books", tenant: "library" });
    expect(await names()).toEqual(["atlas", "charts"]);
  });

  it.each<[string, () => Promise<unknown>, new (message: string) => Error]>([
    ["a second tenant of one name", () => admin.createTenant({ name: "default_tenant" }), ChromaUniqueError],
    ["a tenant name of two characters", () => admin.createTenant({ name: "no" }), ChromaClientError],
    ["an unknown tenant", () => admin.getTenant({ name: "nobody" }), ChromaNotFoundError],
    [
      "a second database of one name",
      () => admin.createDatabase({ name: "default_database", tenant: "default_tenant" }),
      ChromaUniqueError,
    ],
    [
      "a database in an unknown tenant",
      () => admin.createDatabase({ name: "books", tenant: "nobody" }),
      ChromaNotFoundError,
    ],
    [
      "a database name out of the rules",
      () => admin.createDatabase({ name: "a..b", tenant: "default_tenant" }),
      ChromaClientError,
    ],
    [
      "an unknown database",
      () => admin.getDatabase({ name: "nothing", tenant: "default_tenant" }),
      ChromaNotFoundError,
    ],
    [
      "deleting an unknown database",
      () => admin.deleteDatabase({ name: "nothing", tenant: "default_tenant" }),
      ChromaNotFoundError,
    ],
  ])("maps the refusal of %s to its error class", async (_, call, errorClass) => {
    await expect(call()).rejects.toThrow(errorClass);
  });

  it("keeps tenants apart", async () => {
    await admin.createTenant({ name: "tenant-one" });
    await admin.createDatabase({ name: "maps", tenant: "tenant-one" });
    const one = chromaClient(served, { tenant: "tenant-one", database: "maps" });
    const other = chromaClient(served);
    const made = await one.createCollection({ name: "roads", embeddingFunction: null });
    expect(made).toMatchObject({ tenant: "tenant-one", database: "maps" });
    await expect(other.getCollection({ name: "roads" })).rejects.toThrow(ChromaNotFoundError);
    await expect(other.getCollectionById(made.id)).rejects.toThrow(ChromaNotFoundError);
    await expect(other.collection(made.id).count()).rejects.toThrow(ChromaNotFoundError);
  });

  it("deleteDatabase removes its collections", async () => {
    await admin.createDatabase({ name: "short-lived", tenant: "default_tenant" });
    const client = chromaClient(served, { database: "short-lived" });
    const made = await client.createCollection({ name: "inside", embeddingFunction: null });
    await admin.deleteDatabase({ name: "short-lived", tenant: "default_tenant" });
    await expect(made.count()).rejects.toThrow(ChromaNotFoundError);
    await admin.createDatabase({ name: "short-lived", tenant: "default_tenant" });
    expect(await client.listCollections()).toEqual([]);
  });
});
