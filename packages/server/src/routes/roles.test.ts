/** Servers that do a part of the work: the other part is 501, and says which role refuses it. */
import { createEmbedder } from "@sheaf/inference";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EngineSlot, refuseCalls, refuseEngine } from "../request/engine-source.ts";
import { refuseModels } from "../services/role-embedder.ts";
import { COLLECTIONS, MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";

const HEADERS = { "x-service-embedding-model": MINILM };
const BODY = { texts: ["a"], instructions: "" };
const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

describe("role search", () => {
  let test: TestApp;
  beforeAll(async () => {
    test = await startTestApp({ embedder: refuseModels(createEmbedder()) });
  });
  afterAll(() => test.close());

  it("stores and finds vectors", async () => {
    const path = await test.makeCollection({ name: "vectors" });
    const write = { ids: ["a"], embeddings: [[1, 2]] };
    expect((await test.ask(`POST ${path}/add`, { json: write })).status).toBe(201);
    const searches = [{ rank: { $knn: { query: [1, 2] } } }];
    expect((await test.ask(`POST ${path}/search`, { json: { searches } })).body).toMatchObject({
      ids: [["a"]],
    });
  });

  it("is 501 where a text would have to be embedded", async () => {
    const embedding_function = { type: "known", name: "default", config: {} };
    const path = await test.makeCollection({ name: "texts", configuration: { embedding_function } });
    const replies = [
      await test.ask("POST /embed", { json: BODY, headers: HEADERS }),
      await test.ask(`POST ${path}/add`, { json: { ids: ["a"], documents: ["text"] } }),
      await test.ask(`POST ${path}/search`, { json: { searches: [{ rank: { $knn: { query: "text" } } }] } }),
    ];
    for (const { status, text } of replies) {
      expect(status).toBe(501);
      expect(text).toContain("search");
    }
  });

  it("still is 400 for a model that nobody knows", async () => {
    const headers = { "x-service-embedding-model": "no/such-model" };
    expect((await test.ask("POST /embed", { json: BODY, headers })).status).toBe(400);
  });
});

describe("role embed", () => {
  let test: TestApp;
  beforeAll(async () => {
    test = await startTestApp({ engine: refuseEngine });
  });
  afterAll(() => test.close());

  it("embeds and has a heartbeat", async () => {
    expect((await test.ask("POST /embed", { json: BODY, headers: HEADERS })).status).toBe(200);
    expect((await test.ask("GET /api/v2/heartbeat")).status).toBe(200);
  });

  it.each([
    ["GET /api/v2/tenants/default_tenant", undefined],
    [`GET ${COLLECTIONS}`, undefined],
    [`GET ${COLLECTIONS}/${UNKNOWN_ID}/count`, undefined],
    [`POST ${COLLECTIONS}/${UNKNOWN_ID}/add`, { ids: ["a"], embeddings: [[1]] }],
    [`POST ${COLLECTIONS}/${UNKNOWN_ID}/search`, { searches: [] }],
  ])("%s is 501", async (request, json) => {
    const reply = await test.ask(request, json === undefined ? {} : { json });
    expect(reply.status).toBe(501);
    expect(reply.text).toContain("embed");
  });
});

describe("role index", () => {
  it("keeps what it does to itself, and tells the metrics of it", async () => {
    const engine = new EngineSlot();
    const test = await startTestApp({
      ...{ engine: refuseCalls, measured: engine.get },
      embedder: refuseModels(createEmbedder(), "index"),
    });
    for (const reply of [
      await test.ask(`GET ${COLLECTIONS}`),
      await test.ask("POST /embed", { json: BODY, headers: HEADERS }),
    ]) {
      expect(reply.status).toBe(501);
      expect(reply.text).toContain("index");
    }
    expect((await test.ask("GET /metrics")).status).toBe(200);
    await test.close();
  });
});

describe("before the engine serves", () => {
  it("is 503 with Retry-After on every route that needs it", async () => {
    const test = await startTestApp({ engine: new EngineSlot().get });
    const reply = await test.ask("GET /api/v2/tenants/default_tenant");
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    await test.close();
  });
});
