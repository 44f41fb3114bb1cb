/** npm `chromadb`, unchanged: every method of `ChromaClient`, the ways to point it at a server, its error classes. */
import {
  type ChromaClient,
  ChromaClientError,
  ChromaConnectionError,
  ChromaForbiddenError,
  ChromaNotFoundError,
  ChromaUnauthorizedError,
  ChromaUniqueError,
  ChromaValueError,
} from "chromadb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";

let served: ServedSheaf;
let client: ChromaClient;

beforeAll(async () => {
  served = await ServedSheaf.start({ env: { SHEAF_ALLOW_RESET: "true" } });
  client = chromaClient(served);
});

beforeEach(async () => {
  await client.reset();
});

afterAll(async () => {
  await served.dispose();
});

const plain = (name: string) => client.createCollection({ name, embeddingFunction: null });
const names = (collections: readonly { name: string }[]) => collections.map(({ name }) => name);

describe("ChromaClient", () => {
  it("heartbeat, version, getUserIdentity", async () => {
    expect(await client.heartbeat()).toBeGreaterThan(1e18);
    expect(await client.version()).toBe("1.0.0");
    expect(await client.getUserIdentity()).toEqual({
      user_id: expect.any(String),
      tenant: "*",
      databases: ["*"],
    });
  });

  it("getPreflightChecks, getMaxBatchSize, supportsBase64Encoding", async () => {
    expect(await client.getPreflightChecks()).toMatchObject({
      max_batch_size: 5461,
      supports_base64_encoding: true,
    });
    expect(await client.getMaxBatchSize()).toBe(5461);
    expect(await client.supportsBase64Encoding()).toBe(true);
  });

  it("createCollection, getCollection, getCollectionById", async () => {
    const made = await client.createCollection({
      name: "plain",
      metadata: { purpose: "test", n: 1, x: 0.5, ok: true, tags: ["a", "b"] },
      embeddingFunction: null,
    });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      name: "plain",
      tenant: "default_tenant",
      database: "default_database",
      metadata: { purpose: "test", n: 1, x: 0.5, ok: true, tags: ["a", "b"] },
    });
    const found = await client.getCollection({ name: "plain" });
    expect(found).toMatchObject({ id: made.id, metadata: made.metadata });
    expect((await client.getCollectionById(made.id)).name).toBe("plain");
  });

  it("getOrCreateCollection makes it once and then leaves it as it is", async () => {
    const made = await client.getOrCreateCollection({
      name: "once",
      metadata: { first: true },
      embeddingFunction: null,
    });
    const again = await client.getOrCreateCollection({
      name: "once",
      metadata: { first: false },
      embeddingFunction: null,
    });
    expect(again).toMatchObject({ id: made.id, metadata: { first: true } });
  });

  it("listCollections, countCollections, getCollections", async () => {
    for (const name of ["one", "two", "three"]) await plain(name);
    expect(await client.countCollections()).toBe(3);
    expect(names(await client.listCollections())).toEqual(["one", "two", "three"]);
    expect(names(await client.listCollections({ limit: 1, offset: 1 }))).toEqual(["two"]);
    expect(names(await client.getCollections(["three", "one"]))).toEqual(["three", "one"]);
    expect(names(await client.getCollections([{ name: "two" }]))).toEqual(["two"]);
    expect(await client.getCollections([])).toEqual([]);
  });

  it("collection gives a handle by id alone", async () => {
    const { id } = await plain("handled");
    const handle = client.collection(id);
    await handle.add({ ids: ["a"], embeddings: [[1, 0]], documents: ["alpha"] });
    await handle.upsert({ ids: ["b"], embeddings: [[0, 1]] });
    await handle.update({ ids: ["b"], metadatas: [{ n: 1 }] });
    expect((await handle.get()).ids).toEqual(["a", "b"]);
    expect((await handle.query({ queryEmbeddings: [[0, 1]], nResults: 1 })).ids).toEqual([["b"]]);
    expect((await handle.search({ where: { n: 1 } })).ids).toEqual([["b"]]);
    expect(await handle.delete({ ids: ["a"] })).toEqual({ deleted: 1 });
    expect(await handle.count()).toBe(1);
    await expect(handle.modify({ name: "other" })).rejects.toThrow(ChromaValueError);
  });

  it("deleteCollection", async () => {
    const made = await plain("gone");
    await client.deleteCollection({ name: "gone" });
    expect(await client.countCollections()).toBe(0);
    await expect(made.count()).rejects.toThrow(ChromaNotFoundError);
    expect((await plain("gone")).id).not.toBe(made.id);
  });

  it("reset removes everything", async () => {
    await plain("soon");
    await client.reset();
    expect(await client.countCollections()).toBe(0);
  });
});

describe("ways to reach a server", () => {
  it("takes the deprecated path and auth", async () => {
    const old = chromaClient(served, {
      path: served.url,
      headers: {},
      auth: { provider: "token", credentials: ROOT_KEY, tokenHeaderType: "X_CHROMA_TOKEN" },
    });
    expect(await old.countCollections()).toBe(0);
  });

  it.each(["x-service-token", "x-chroma-token"])("takes the key in %s", async (header) => {
    expect(await chromaClient(served, { headers: { [header]: ROOT_KEY } }).countCollections()).toBe(0);
  });

  it("takes the key as a bearer token", async () => {
    const bearer = chromaClient(served, { headers: { Authorization: `Bearer ${ROOT_KEY}` } });
    expect(await bearer.countCollections()).toBe(0);
  });

  it("asks for the tenant where the key reaches more than one database", async () => {
    const open = chromaClient(served, { tenant: "", database: "" });
    await expect(open.countCollections()).rejects.toThrow(ChromaValueError);
  });

  it("finds tenant and database of a key that is bound to one", async () => {
    const bound = { name: "bound", tenant: "default_tenant", database: "default_database", scopes: ["read"] };
    const { key } = await served.ask<{ key: string }>("/api/v2/keys", bound);
    const own = chromaClient(served, { headers: { "x-chroma-token": key }, tenant: "", database: "" });
    expect(await own.countCollections()).toBe(0);
    expect(own).toMatchObject({ tenant: "default_tenant", database: "default_database" });
    await expect(own.createCollection({ name: "beyond", embeddingFunction: null })).rejects.toThrow(
      ChromaForbiddenError,
    );
  });

  it("finds tenant and database by itself on a server without keys", async () => {
    const open = await ServedSheaf.start({ args: ["--auth", "off"], env: { SHEAF_ROOT_KEY: "" } });
    const anonymous = chromaClient(open, { headers: {}, tenant: "", database: "" });
    expect(await anonymous.countCollections()).toBe(0);
    expect(anonymous).toMatchObject({ tenant: "default_tenant", database: "default_database" });
    await expect(anonymous.reset()).rejects.toThrow(ChromaForbiddenError);
    await open.dispose();
  });
});

describe("error classes", () => {
  beforeEach(async () => {
    await plain("twice");
  });

  it.each<[string, () => Promise<unknown>, new (message: string) => Error, RegExp]>([
    [
      "400, with the message",
      () => client.createCollection({ name: "a..b", embeddingFunction: null }),
      ChromaClientError,
      /two consecutive periods/u,
    ],
    [
      "401",
      () => chromaClient(served, { headers: { "x-chroma-token": "wrong" } }).countCollections(),
      ChromaUnauthorizedError,
      // The guide says so: this client does not read the message.
      /^ChromaAuthError: Unauthorized$/u,
    ],
    ["404", () => client.getCollection({ name: "absent" }), ChromaNotFoundError, /./u],
    ["409", () => plain("twice"), ChromaUniqueError, /./u],
    [
      "a collection in a database that does not exist",
      () =>
        chromaClient(served, { database: "nothing" }).createCollection({
          name: "inside",
          embeddingFunction: null,
        }),
      ChromaClientError,
      /\[nothing\] not found/u,
    ],
    [
      "nobody listening",
      () => chromaClient(served, { host: "127.0.0.1", port: 9 }).heartbeat(),
      ChromaConnectionError,
      /Failed to connect/u,
    ],
  ])("%s", async (_, call, errorClass, message) => {
    const thrown = await call().then(
      () => null,
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(errorClass);
    expect(String(thrown)).toMatch(message);
  });
});
