/** The life of an API key through the routes: made, used, rotated, expired, revoked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DATABASE, type TestApp, startTestApp } from "../testing/test-app.ts";

const ALL = { limit: null, offset: 0 };

interface Shown {
  readonly id: string;
  readonly key: string;
  readonly last_used_at: string | null;
}

const TENANT = "GET /api/v2/tenants/default_tenant";
const DAY_MS = 24 * 3_600_000;

let test: TestApp;
let now = Date.parse("2030-01-01T00:00:00Z");
const after = (ms: number): string => new Date(now + ms).toISOString();

beforeAll(async () => {
  test = await startTestApp({ now: () => now });
});
afterAll(() => test.close());

async function make(fields: object = {}): Promise<Shown> {
  const json = { name: "k", tenant: "default_tenant", scopes: ["read"], ...fields };
  const reply = await test.ask("POST /api/v2/keys", { json });
  expect(reply).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
  return reply.body as Shown;
}

const statusWith = async (key: string, request = TENANT): Promise<number> =>
  (await test.ask(request, { key })).status;

async function listed(id: string): Promise<Shown | undefined> {
  const { body } = await test.ask("GET /api/v2/keys");
  return (body as Shown[]).find((known) => known.id === id);
}

describe("API keys", () => {
  it("are shown once, with what they are", async () => {
    const limits = { requests_per_minute: 600 };
    const made = await make({ name: "indexer", database: "default_database", scopes: ["write"], limits });
    expect(made).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{16}$/),
      key: expect.stringMatching(/^sheaf_[\w-]{48}$/),
      name: "indexer",
      tenant: "default_tenant",
      database: "default_database",
      scopes: ["write"],
      limits: { requests_per_minute: 600, tokens_per_minute: null, concurrent_requests: null },
      created_at: after(0),
      expires_at: null,
      last_used_at: null,
      replaced_by: null,
    });
    const { text } = await test.ask("GET /api/v2/keys");
    expect(text).toContain(made.id);
    expect(text).not.toContain(made.key);
    expect(text).not.toContain("digest");
  });

  it("may do what their scopes say, in their tenant and database only", async () => {
    const { key } = await make({ database: "default_database" });
    expect(await statusWith(key)).toBe(200);
    expect(await statusWith(key, `GET ${DATABASE}/collections`)).toBe(200);
    expect(await statusWith(key, "GET /api/v2/tenants/another_tenant")).toBe(403);
    expect(await statusWith(key, "GET /api/v2/tenants/default_tenant/databases/other")).toBe(403);
    expect(await statusWith(key, "GET /api/v2/keys")).toBe(403);
    const create = await test.ask(`POST ${DATABASE}/collections`, { key, json: { name: "not-for-it" } });
    expect(create.status).toBe(403);
  });

  it("for every tenant administer keys, but only with the scope admin", async () => {
    const [admin, reader] = [
      await make({ tenant: null, scopes: ["admin"] }),
      await make({ tenant: null, scopes: ["read"] }),
    ];
    expect(await statusWith(admin.key, "GET /api/v2/keys")).toBe(200);
    expect(await statusWith(reader.key, "GET /api/v2/keys")).toBe(403);
    const bound = await make({ scopes: ["admin"] });
    expect(await statusWith(bound.key, "GET /api/v2/keys")).toBe(403);
  });

  it("end when they are revoked", async () => {
    const { id, key } = await make();
    expect(await statusWith(key)).toBe(200);
    expect(await test.ask(`DELETE /api/v2/keys/${id}`)).toMatchObject({ status: 200, body: {} });
    expect(await statusWith(key)).toBe(401);
    expect((await test.ask(`DELETE /api/v2/keys/${id}`)).status).toBe(404);
  });

  it("end when they expire", async () => {
    const { key } = await make({ expires_at: after(1_000) });
    expect(await statusWith(key)).toBe(200);
    now += 1_000;
    expect(await statusWith(key)).toBe(401);
  });

  it("rotate into another and go on for the overlap", async () => {
    const old = await make();
    const path = `POST /api/v2/keys/${old.id}/rotate`;
    const fresh = (await test.ask(path, { json: { overlap_seconds: 10 } })).body as Shown;
    expect(fresh).toMatchObject({ name: "k", tenant: "default_tenant", scopes: ["read"] });
    expect(await listed(old.id)).toMatchObject({ replaced_by: fresh.id, expires_at: after(10_000) });
    expect([await statusWith(old.key), await statusWith(fresh.key)]).toEqual([200, 200]);
    expect((await test.ask(path, { json: {} })).status).toBe(409);
    now += 10_000;
    expect([await statusWith(old.key), await statusWith(fresh.key)]).toEqual([401, 200]);
  });

  it("overlap for a day where nothing else is said, and not at all with 0", async () => {
    const [slow, quick] = [await make(), await make()];
    await test.ask(`POST /api/v2/keys/${slow.id}/rotate`, { json: {} });
    expect(await listed(slow.id)).toMatchObject({ expires_at: after(DAY_MS) });
    await test.ask(`POST /api/v2/keys/${quick.id}/rotate`, { json: { overlap_seconds: 0 } });
    expect(await statusWith(quick.key)).toBe(401);
  });

  it("remember when they were last used, also over a restart", async () => {
    const { id, key } = await make();
    expect(await listed(id)).toMatchObject({ last_used_at: null });
    now += 5_000;
    await statusWith(key);
    expect(await listed(id)).toMatchObject({ last_used_at: after(0) });
    await test.app.ledger.flush();
    expect((await test.engine.listKeys(ALL)).items).toContainEqual(
      expect.objectContaining({ id, lastUsed: now }),
    );
  });

  it("are kept as digests", async () => {
    const { id, key } = await make();
    const stored = (await test.engine.listKeys(ALL)).items.find((known) => known.id === id);
    expect(stored?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(stored)).not.toContain(key);
  });

  it("go with their tenant and with a reset; the root key stays", async () => {
    await test.ask("POST /api/v2/tenants", { json: { name: "doomed" } });
    const [bound, free] = [await make({ tenant: "doomed" }), await make({ tenant: null })];
    expect(await statusWith(bound.key, "GET /api/v2/tenants/doomed")).toBe(200);
    await test.ask("DELETE /api/v2/tenants/doomed");
    expect(await statusWith(bound.key, "GET /api/v2/tenants/doomed")).toBe(401);
    expect(await statusWith(free.key)).toBe(200);
    await test.ask("POST /api/v2/reset");
    expect(await statusWith(free.key)).toBe(401);
    expect((await test.ask("GET /api/v2/keys")).body).toEqual([]);
  });

  it.each<[string, object | undefined, number]>([
    ["POST /api/v2/keys", { name: "k", tenant: "no_such_tenant", scopes: ["read"] }, 404],
    ["POST /api/v2/keys", { name: "k", tenant: "default_tenant", database: "absent", scopes: ["read"] }, 404],
    ["POST /api/v2/keys", { name: "k", scopes: ["read"] }, 422],
    ["POST /api/v2/keys", { name: "k", tenant: null, scopes: [] }, 400],
    ["DELETE /api/v2/keys/key_0000000000000000", undefined, 404],
    [`DELETE /api/v2/keys/${"x".repeat(1_000)}`, undefined, 404],
    ["POST /api/v2/keys/key_0000000000000000/rotate", {}, 404],
    ["POST /api/v2/keys/key_0000000000000000/rotate", { overlap_seconds: -1 }, 400],
  ])("%s with %j is %s", async (request, json, status) => {
    expect((await test.ask(request, json === undefined ? {} : { json })).status).toBe(status);
  });
});
