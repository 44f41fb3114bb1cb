/**
 * Forks and lookups by resource name through npm `chromadb`, unchanged; conditional transactions on the wire, because
 * no shipped JavaScript client sends them.
 */
import { type ChromaClient, ChromaNotFoundError, ChromaUniqueError, type Collection } from "chromadb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";
import { refusal } from "./testing/refusal.ts";
import { type Answer, ask, DATABASE, expectOk } from "./testing/wire.ts";

interface ConditionalRead {
  readonly ids: readonly string[];
  readonly documents: readonly (string | null)[];
  readonly read_token: number;
}

let served: ServedSheaf;
let client: ChromaClient;
let collection: Collection;
let made = 0;

beforeAll(async () => {
  served = await ServedSheaf.start();
  client = chromaClient(served);
});

afterAll(async () => {
  await served.dispose();
});

beforeEach(async () => {
  collection = await client.createCollection({
    name: `origin-${made++}`,
    metadata: { kept: true },
    configuration: { hnsw: { space: "cosine" } },
    embeddingFunction: null,
  });
  const embeddings = [
    [1, 0],
    [0, 1],
  ];
  await collection.add({ ids: ["a", "b"], embeddings, documents: ["alpha", "beta"] });
});

describe("fork", () => {
  it("gives a collection of its own with the same records", async () => {
    const fork = await collection.fork({ name: `fork-${made++}` });
    expect(fork.id).not.toBe(collection.id);
    expect(fork.metadata).toEqual({ kept: true });
    expect(fork.configuration.hnsw?.space).toBe("cosine");
    expect((await fork.get()).documents).toEqual(["alpha", "beta"]);
    await fork.upsert({ ids: ["a"], embeddings: [[1, 1]], documents: ["changed"] });
    await collection.delete({ ids: ["b"] });
    expect((await fork.get()).documents).toEqual(["changed", "beta"]);
    expect((await collection.get()).documents).toEqual(["alpha"]);
    expect((await fork.query({ queryEmbeddings: [[0, 1]], nResults: 1 })).ids).toEqual([["b"]]);
  });

  it("outlives its origin", async () => {
    const fork = await collection.fork({ name: `fork-${made++}` });
    await client.deleteCollection({ name: collection.name });
    expect(await fork.count()).toBe(2);
  });

  it("onto a name that is taken is refused", async () => {
    await expect(collection.fork({ name: collection.name })).rejects.toThrow(ChromaUniqueError);
  });

  it("forkCount counts the forks of the whole tree", async () => {
    expect(await collection.forkCount()).toBe(0);
    const fork = await collection.fork({ name: `fork-${made++}` });
    await fork.fork({ name: `fork-${made++}` });
    expect(await collection.forkCount()).toBe(2);
    expect(await fork.forkCount()).toBe(2);
  });
});

describe("getCollectionByCrn", () => {
  it("finds a collection by tenant, database and name", async () => {
    const crn = `default_tenant:default_database:${collection.name}`;
    expect((await client.getCollectionByCrn(crn)).id).toBe(collection.id);
  });

  it("finds it by the resource name of its tenant", async () => {
    const path = "/api/v2/tenants/default_tenant";
    await expectOk(served, { method: "PATCH", path, json: { resource_name: "my-resource" } });
    expect(await expectOk(served, { path })).toEqual({
      name: "default_tenant",
      resource_name: "my-resource",
    });
    const crn = `my-resource:default_database:${collection.name}`;
    expect((await client.getCollectionByCrn(crn)).id).toBe(collection.id);
  });

  it("of nothing is not found", async () => {
    await expect(client.getCollectionByCrn("default_tenant:default_database:nothing")).rejects.toThrow(
      ChromaNotFoundError,
    );
  });
});

describe("conditional transactions", () => {
  const path = () => `${DATABASE}/collections/${collection.id}/conditional`;
  const read = (ids: readonly string[], more: object = {}) =>
    expectOk<ConditionalRead>(served, { path: `${path()}/get`, json: { ids, ...more } });
  const commit = (json: object): Promise<Answer> => ask(served, { path: `${path()}/commit`, json });
  const change = (id: string, document: string) => ({
    operation: "update",
    payload: { ids: [id], documents: [document] },
  });

  it("commit while nothing that was read has changed", async () => {
    const { ids, documents, read_token } = await read(["a"]);
    // The newest Python client calls int() on it, and JavaScript rounds what is larger.
    expect(read_token).toSatisfy(Number.isSafeInteger);
    expect({ ids, documents }).toEqual({ ids: ["a"], documents: ["alpha"] });
    await collection.update({ ids: ["b"], documents: ["elsewhere"], embeddings: [[1, 1]] });
    const operations = [
      change("a", "ALPHA"),
      { operation: "add", payload: { ids: ["c"], embeddings: [[1, 1]] } },
      { operation: "delete", payload: { ids: ["b"] } },
    ];
    const { status, text } = await commit({ read_token, read_ids: ["a"], operations });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      first_inserted_record_offset: expect.any(Number),
      record_count: 3,
    });
    expect((await collection.get()).ids).toEqual(["a", "c"]);
    expect((await collection.get({ ids: ["a"] })).documents).toEqual(["ALPHA"]);
  });

  it("change nothing when something that was read has changed: 409", async () => {
    const { read_token } = await read(["a"]);
    await collection.update({ ids: ["a"], documents: ["before"], embeddings: [[1, 1]] });
    const { status, text } = await commit({ read_token, read_ids: ["a"], operations: [change("b", "late")] });
    expect(status).toBe(409);
    expect(JSON.parse(text)).toEqual({
      error: "ConditionalWriteConflictError",
      message: expect.any(String),
    });
    expect((await collection.get({ ids: ["b"] })).documents).toEqual(["beta"]);
  });

  it("a token of another epoch is stale: 412", async () => {
    const { read_token } = await read(["a"]);
    const fork = await collection.fork({ name: `fork-${made++}` });
    collection = fork;
    const { status, text } = await commit({ read_token, read_ids: ["a"], operations: [change("a", "x")] });
    expect(status).toBe(412);
    expect(JSON.parse(text)).toEqual({ error: "StaleReadError", message: expect.any(String) });
  });

  it("read ids need a token", async () => {
    const question = { path: `${path()}/commit`, json: { read_ids: ["a"], operations: [] } };
    expect(await refusal(served, question)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("read_ids requires read_token") },
    });
  });
});
