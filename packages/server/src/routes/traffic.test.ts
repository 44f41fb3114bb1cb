/** Rates, concurrency and the token quota through the whole server. */
import { afterEach, describe, expect, it } from "vitest";
import type { AppOptions } from "../app.ts";
import type { Principal } from "../auth/principal.ts";
import { COLLECTIONS, MINILM, type TestApp, type TestKeys, startTestApp } from "../testing/test-app.ts";

const HEADERS = { "x-service-embedding-model": MINILM };
const BM25 = { "x-service-embedding-model": "sheaf/bm25" };

let test: TestApp;
afterEach(() => test.close());

async function start(options: Partial<AppOptions>, keys: TestKeys = {}): Promise<void> {
  test = await startTestApp(options, keys);
}

const embed = (...texts: readonly string[]) =>
  test.ask("POST /embed", { json: { texts, instructions: "" }, headers: HEADERS });

describe("rate limits", () => {
  it("are off unless they are set", async () => {
    await start({});
    const { headers } = await test.ask("GET /api/v2/tenants/default_tenant");
    expect(Object.keys(headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
  });

  it("refuse with 429, Retry-After and RateLimit, after 401 and 403 and before the body", async () => {
    await start({ requestsPerMinute: 2 });
    const path = `POST ${COLLECTIONS}`;
    expect((await test.ask(path, { key: "wrong" })).status).toBe(401);
    expect((await test.ask(path, { raw: "{" })).status).toBe(400);
    expect(await test.ask(path, { raw: "{" })).toMatchObject({
      status: 400,
      headers: { "ratelimit-remaining": "0" },
    });
    expect(await test.ask(path, { raw: "{" })).toMatchObject({
      status: 429,
      headers: {
        "retry-after": expect.stringMatching(/^[1-9]\d*$/),
        "ratelimit-policy": '"requests";q=2;w=60',
        "ratelimit-limit": "2",
      },
      body: { error: "ChromaError", message: expect.stringMatching(/^Too many requests/) },
    });
    // What needs no key is not counted.
    expect((await test.ask("GET /api/v2/heartbeat", { key: null })).status).toBe(200);
  });

  it("count tokens once texts are tokenized, on every way to a model", async () => {
    await start({ tokensPerMinute: 9 });
    const first = await embed("one two three");
    expect(first).toMatchObject({ status: 200, body: { num_tokens: 5 } });
    // As many as there may be at a time: what comes back meanwhile is not enough for half a minute.
    expect(await embed("one two three four five six seven")).toMatchObject({
      status: 429,
      headers: { "retry-after": expect.any(String) },
      body: { error: expect.stringMatching(/^Too many requests/) },
    });
    expect((await embed("one two")).status).toBe(200);
    const sparse = { texts: ["one two three"], instructions: "" };
    expect((await test.ask("POST /embed_sparse", { json: sparse, headers: BM25 })).status).toBe(429);
    const embedding_function = { type: "known", name: "default", config: {} };
    const path = await test.makeCollection({ name: "texts", configuration: { embedding_function } });
    const write = await test.ask(`POST ${path}/add`, { json: { ids: ["a"], documents: ["one"] } });
    expect(write.status).toBe(429);
    const search = { searches: [{ rank: { $knn: { query: "one" } } }] };
    expect((await test.ask(`POST ${path}/search`, { json: search })).status).toBe(429);
    expect((await test.ask(`GET ${path}/count`)).text).toBe("0");
  });

  it("hold the tokens of a tenant's day, which a restart remembers", async () => {
    await start({ quotaTokensPerDay: 8 });
    const embedding_function = { type: "known", name: "default", config: {} };
    const path = await test.makeCollection({ name: "texts", configuration: { embedding_function } });
    const add = (id: string, text: string) =>
      test.ask(`POST ${path}/add`, { json: { ids: [id], documents: [text] } });
    expect((await add("a", "one two three four")).status).toBe(201);
    expect(await add("b", "one")).toMatchObject({
      status: 422,
      headers: { "retry-after": expect.stringMatching(/^[1-9]\d*$/) },
      body: { message: expect.stringMatching(/^Quota exceeded/) },
    });
    // A key for every tenant spends no tenant's tokens on the embedding routes.
    expect((await embed("one two three four")).status).toBe(200);
    await test.app.ledger.flush();
    expect(await test.engine.listTokenUsage()).toMatchObject([{ tenant: "default_tenant", tokens: 6 }]);
  });

  it.each([
    ["/embed", HEADERS],
    ["/embed_sparse", BM25],
  ])("refuse %s with 429 until the quota's day ends", async (path, headers) => {
    const principal: Principal = {
      id: "key_acme",
      tenant: "acme",
      database: null,
      scopes: new Set(["embed"]),
    };
    await start({ quotaTokensPerDay: 8 }, { "acme-key": principal });
    const ask = (text: string) =>
      test.ask(`POST ${path}`, { json: { texts: [text], instructions: "" }, headers, key: "acme-key" });
    expect((await ask("bees find flowers")).status).toBe(200);
    const refused = await ask("ships tides harbour bread bakers market noon bees flowers");
    expect(refused).toMatchObject({ status: 429, body: { error: expect.stringMatching(/^Quota exceeded/) } });
    const seconds = Number(refused.headers["retry-after"]);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(24 * 3_600);
  });
});
