/** `@sheaf/client` against the real command: collections, keys, embedding, and what the server says of itself. */
import { rm } from "node:fs/promises";
import {
  AuthorizationError,
  BusyError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  SheafClient,
  TooLargeError,
  UnsupportedError,
  hybridSchema,
} from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, descendants, temporaryFolder } from "../e2e/testing/served-sheaf.ts";

let served: ServedSheaf;
let client: SheafClient;
let backups: string;
beforeAll(async () => {
  backups = await temporaryFolder();
  served = await ServedSheaf.start({ env: { SHEAF_ALLOW_RESET: "on", SHEAF_BACKUP_FOLDER: backups } });
  client = new SheafClient({ url: served.url, key: ROOT_KEY });
});
afterAll(async () => {
  await served.dispose();
  await rm(backups, { recursive: true, force: true });
});

describe("collections of @sheaf/client", () => {
  it("are made by schema and by configuration, found, changed, forked and counted", async () => {
    const made = await client.createCollection({ name: "made", schema: hybridSchema({ space: "ip" }) });
    expect(made.info.schema.keys?.["bm25"]?.sparse_vector?.sparse_vector_index?.enabled).toBe(true);
    const configured = await client.createCollection({
      name: "configured",
      configuration: { hnsw: { space: "cosine" }, embedding_function: { type: "known", name: "default" } },
      metadata: { owner: "me" },
    });
    expect(configured.info).toMatchObject({
      configuration: { hnsw: { space: "cosine" } },
      metadata: { owner: "me" },
      dimension: null,
    });
    await expect(client.createCollection({ name: "made" })).rejects.toBeInstanceOf(ConflictError);
    expect((await client.createCollection({ name: "made", getOrCreate: true })).id).toBe(made.id);
    expect((await client.getCollectionById({ id: made.id })).name).toBe("made");
    await made.modify({ name: "renamed", metadata: { owner: "you" } });
    expect(made.info).toMatchObject({ name: "renamed", metadata: { owner: "you" } });
    await made.add({ records: [{ id: "a", document: "Ships wait for the tide." }] });
    expect(await made.indexingStatus()).toMatchObject({ totalOperations: 1 });
    expect(await made.acceptModel()).toEqual([]);
    const fork = await made.fork({ name: "branch" });
    expect([await fork.count(), await made.forkCount(), fork.name]).toEqual([1, 1, "branch"]);
    expect(await client.countCollections()).toBe(3);
    const names: string[] = [];
    for await (const { name } of client.collections({ pageSize: 2 })) names.push(name);
    expect(names).toEqual(["renamed", "configured", "branch"]);
    await client.updateTenant({ name: "default_tenant", resourceName: "defaults" });
    const resource = { tenant: "defaults", database: "default_database", name: "branch" };
    expect((await client.getCollectionByResource(resource)).id).toBe(fork.id);
  });
});

describe("keys of @sheaf/client", () => {
  it("are made, listed, rotated and revoked", async () => {
    await client.createTenant({ name: "acme" });
    const expiresAt = new Date("2040-01-31T12:00:00Z");
    const limits = { requestsPerMinute: 1_000 };
    const made = await client.createKey({ name: "k", tenant: "acme", scopes: ["read"], expiresAt, limits });
    expect(made).toMatchObject({ tenant: "acme", scopes: ["read"], limits, expiresAt, lastUsedAt: null });
    expect(made.createdAt).toBeInstanceOf(Date);
    const reader = new SheafClient({ url: served.url, key: made.key, tenant: "acme" });
    expect(await reader.identity()).toEqual({ userId: made.id, tenant: "acme", databases: [] });
    await expect(reader.createDatabase({ name: "notes" })).rejects.toBeInstanceOf(AuthorizationError);
    const fresh = await client.rotateKey({ id: made.id, overlapSeconds: 60 });
    const listed = [];
    for await (const key of client.keys({ pageSize: 1 })) listed.push(key);
    expect(listed).toMatchObject([{ id: made.id, replacedBy: fresh.id }, { id: fresh.id }]);
    expect(listed).toEqual(await client.listKeys());
    expect(listed[0]).not.toHaveProperty("key");
    await client.revokeKey({ id: made.id });
    await expect(reader.listDatabases()).rejects.toBeInstanceOf(AuthorizationError);
    await expect(client.revokeKey({ id: made.id })).rejects.toBeInstanceOf(NotFoundError);
  });
});

describe("backups of @sheaf/client", () => {
  it("are made, watched and listed", async () => {
    expect(await client.createBackup({ name: "first" })).toMatchObject({ name: "first", tenant: null });
    await expect.poll(async () => (await client.getBackup({ name: "first" })).state).toBe("complete");
    const [listed] = await client.listBackups();
    expect(listed).toMatchObject({
      name: "first",
      startedAt: expect.any(Date),
      finishedAt: expect.any(Date),
    });
    await expect(client.createBackup({ name: "first" })).rejects.toBeInstanceOf(ConflictError);
    await expect(client.cancelBackup({ name: "none" })).rejects.toBeInstanceOf(NotFoundError);
  });
});

describe("embedding with @sheaf/client", () => {
  const texts = ["Ships wait for the tide."];
  const model = "sentence-transformers/all-MiniLM-L6-v2";

  it("is dense and sparse, and says what it cut", async () => {
    const dense = await client.embed({ model, texts: [...texts, "word ".repeat(300)], truncate: "end" });
    expect(dense.embeddings.map((vector) => vector.length)).toEqual([384, 384]);
    expect(dense).toMatchObject({ numTokens: expect.any(Number), truncatedInputs: 1 });
    const named = await client.embed({ model, texts, task: "", target: "query" });
    expect(named.embeddings[0]).toHaveLength(384);
    const sparse = await client.embedSparse({ model: "sheaf/bm25", texts });
    expect(sparse.embeddings[0]?.labels).toEqual(expect.arrayContaining(["tide"]));
    const bare = await client.embedSparse({ model: "sheaf/bm25", texts, labels: false });
    expect(bare.embeddings[0]?.indices).toEqual(sparse.embeddings[0]?.indices);
    expect(bare.embeddings[0]?.labels ?? null).toBeNull();
  });

  it.each([
    ["a model that is unknown", InvalidRequestError, 400, { model: "no/model", texts }],
    ["a model of the other kind", UnsupportedError, 501, { model: "sheaf/bm25", texts }],
    ["a text over the limit", TooLargeError, 413, { model, texts: ["word ".repeat(300)] }],
  ])("refuses %s", async (_, family, status, params) => {
    const refused = await client.embed(params).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(family);
    expect(refused).toMatchObject({ status, name: family.name, requestId: expect.stringMatching(/./u) });
  });
});

describe("a server of @sheaf/client", () => {
  it("is asked again while its engine starts anew", async () => {
    const count = await client.countCollections();
    const [engine] = (await descendants(served.pid)).filter(({ command }) => command.includes("engine-host"));
    process.kill(engine?.pid ?? 0, "SIGKILL");
    expect(await client.countCollections()).toBe(count);
  });

  it("is not asked again where a key has had its requests for long", async () => {
    const limits = { requestsPerMinute: 1 };
    const { key } = await client.createKey({ name: "rare", tenant: "acme", scopes: ["read"], limits });
    const rare = new SheafClient({ url: served.url, key, tenant: "acme" });
    await rare.listDatabases();
    const refused = await rare.listDatabases().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BusyError);
    expect(refused).toMatchObject({ status: 429, retryAfterSeconds: expect.any(Number) });
  });

  it("says what it is, and starts over", async () => {
    expect(await client.heartbeat()).toBeGreaterThan(1e18);
    expect(await client.isReady()).toBe(true);
    expect(await client.version()).toBe("1.0.0");
    expect(await client.preFlightChecks()).toEqual({
      maxBatchSize: 5_461,
      supportsBase64Encoding: true,
      extensions: expect.arrayContaining(["explain", "POST /facets"]),
    });
    const strict = new SheafClient({ url: served.url, key: ROOT_KEY, strict: true });
    const { id } = await client.createCollection({ name: "strict", getOrCreate: true });
    const path = `/api/v2/tenants/default_tenant/databases/default_database/collections/${id}/count`;
    const counting = { method: "POST", path, json: {} } as const;
    expect(await client.request(counting)).toBe(0);
    await expect(strict.request(counting)).rejects.toThrow(/POST \/count is an extension/);
    expect(await client.identity()).toEqual({ userId: expect.any(String), tenant: "*", databases: ["*"] });
    expect(await client.metrics()).toContain("# HELP ");
    expect(await client.request({ method: "GET", path: "/livez" })).toEqual({});
    const names: string[] = [];
    for await (const { name } of client.tenants({ pageSize: 1 })) names.push(name);
    expect(names).toEqual((await client.listTenants()).map(({ name }) => name));
    expect(await client.getTenant({ name: "acme" })).toEqual({ name: "acme", resourceName: null });
    const acme = client.scoped({ tenant: "acme" });
    for (const name of ["one", "two", "three"]) await acme.createDatabase({ name });
    const databases: string[] = [];
    for await (const { name } of acme.databases({ pageSize: 2 })) databases.push(name);
    expect(databases).toEqual(["one", "three", "two"]);
    await client.reset();
    expect(await client.countCollections()).toBe(0);
  });
});
