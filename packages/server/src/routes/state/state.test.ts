/** Usage, models, the key that asks and the last hour, through the app. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TenantUsageReply } from "../../../../client/src/catalog/state.ts";
import { DATABASE, MINILM, type TestApp, startTestApp } from "../../testing/test-app.ts";

const SCOPES = new Set(["embed", "read"] as const);
const BOUND = { id: "key_1", tenant: "default_tenant", database: null, scopes: SCOPES };
const USAGE = "GET /api/v2/tenants/default_tenant/usage";

let test: TestApp;
let records: string;
beforeAll(async () => {
  const usageBounds = { databases: 3, collections: 4, records: 0, bytes: 1_000_000, tokensPerDay: 500 };
  const keys = { bound: BOUND, narrow: { ...BOUND, database: "side" }, gone: { ...BOUND, database: "gone" } };
  test = await startTestApp({ usageBounds, quotaTokensPerDay: 500 }, keys);
  records = await test.makeCollection({ name: "first" });
  await test.ask(`POST ${records}/add`, { json: { ids: ["a", "b"], embeddings: [[1], [2]] } });
  await test.ask("POST /api/v2/tenants/default_tenant/databases", { json: { name: "side" } });
  const side = DATABASE.replace("default_database", "side");
  await test.ask(`POST ${side}/collections`, { json: { name: "second" } });
});
afterAll(() => test.close());

const usage = async (key?: string, query = ""): Promise<TenantUsageReply> => {
  const { status, body, text, headers } = await test.ask(
    `${USAGE}${query}`,
    key === undefined ? {} : { key },
  );
  expect({ status, text }).toMatchObject({ status: 200 });
  expect(headers["cache-control"]).toBe("no-store");
  return body as TenantUsageReply;
};

describe("usage of a tenant", () => {
  it("adds up what the catalog knows a moment after a write, beside the quotas", async () => {
    await expect
      .poll(async () => (await usage()).records, { timeout: 20_000 })
      .toEqual({ used: 2, quota: null });
    const found = await usage();
    expect(found).toMatchObject({
      databases: { used: 2, quota: 3 },
      collections: { used: 2, quota: 4 },
      bytes: { quota: 1_000_000 },
      tokens_today: { used: 0, quota: 500 },
    });
    expect(found.described).toMatchObject([
      {
        name: "first",
        database: "default_database",
        dimension: 1,
        records: 2,
        total_ops: 2,
        num_indexed_ops: 2,
      },
      { name: "second", database: "side", dimension: null, records: 0, bytes: 0, last_write_at: null },
    ]);
    expect(found.bytes.used).toBeGreaterThan(0);
    expect(Math.abs(Date.now() - Date.parse(found.described[0]!.last_write_at!))).toBeLessThan(60_000);
  });

  it("describes a page of the collections and adds up all", async () => {
    const found = await usage("bound", "?limit=1&offset=1");
    expect(found.described).toMatchObject([{ name: "second" }]);
    expect(found.collections.used).toBe(2);
    expect((await usage(undefined, "?limit=4294967295")).described).toHaveLength(2);
    expect((await test.ask(`${USAGE}?limit=x`)).status).toBe(400);
  });

  it("shows a key of one database that one, without the quotas of the tenant", async () => {
    expect(await usage("narrow")).toMatchObject({
      databases: { used: 1, quota: null },
      collections: { used: 1, quota: null },
      tokens_today: { used: null, quota: null },
      described: [{ name: "second" }],
    });
    expect((await test.ask(USAGE, { key: "gone" })).status).toBe(404);
    expect((await test.ask("GET /api/v2/tenants/nobody/usage")).status).toBe(404);
  });

  it("counts the tokens of the day", async () => {
    const headers = { "x-service-embedding-model": MINILM };
    const json = { texts: ["ships in the harbour"], instructions: "" };
    expect((await test.ask("POST /embed", { json, headers, key: "bound" })).status).toBe(200);
    expect((await usage()).tokens_today.used).toBe(6);
  });
});

describe("models", () => {
  it("are listed to whoever may embed", async () => {
    const { body } = await test.ask("GET /api/v2/models", { key: "bound" });
    expect(body).toContainEqual(
      expect.objectContaining({
        identifier: MINILM,
        kind: "dense",
        dimension: 384,
        available: true,
        pull: null,
      }),
    );
    expect(body).toContainEqual(
      expect.objectContaining({
        identifier: "sheaf/bm25",
        kind: "sparse",
        memory_bytes: null,
        loaded: false,
      }),
    );
  });

  it.each([
    [{ model: MINILM }, 200],
    [{ model: "nobody/knows" }, 400],
    [{ model: "sheaf/bm25" }, 400],
    [{ model: "../../etc/passwd" }, 400],
    // This server has no cache to fetch into.
    [{ model: "Qwen/Qwen3-Embedding-0.6B" }, 412],
    [{ model: 1 }, 422],
    [{ model: MINILM, folder: "/" }, 422],
  ])("pull %j is %i", async (json, status) => {
    expect(await test.ask("POST /api/v2/models/pull", { json })).toMatchObject({ status });
    expect((await test.ask("POST /api/v2/models/pull", { json, key: "bound" })).status).toBe(403);
  });
});

it("a key may ask what it may do", async () => {
  expect((await test.ask("GET /api/v2/keys/current", { key: "narrow" })).body).toEqual({
    ...{
      id: "key_1",
      tenant: "default_tenant",
      database: "side",
      scopes: ["embed", "read"],
      expires_at: null,
    },
  });
  expect((await test.ask("GET /api/v2/keys/current", { key: null })).status).toBe(401);
});

it("the nodes of a cluster are for keys of every tenant, and nowhere where there are none", async () => {
  const { status, text } = await test.ask("GET /api/v2/nodes");
  expect([status, text]).toEqual([412, expect.stringContaining("--node-listen")]);
  expect((await test.ask("GET /api/v2/nodes", { key: "bound" })).status).toBe(403);
});

it("the last hour is for keys of every tenant", async () => {
  const { body } = await test.ask("GET /api/v2/metrics/history");
  expect(body).toMatchObject({ interval_seconds: 10, intervals: expect.any(Array) });
  expect((await test.ask("GET /api/v2/metrics/history", { key: "bound" })).status).toBe(403);
});
