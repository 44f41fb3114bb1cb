import { EXTENSIONS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, startTestApp } from "../testing/test-app.ts";
import { ANONYMOUS } from "../auth/principal.ts";
import { Lifecycle } from "../lifecycle.ts";

const BOUND = { id: "key-1", tenant: "default_tenant", database: null, scopes: ANONYMOUS.scopes };

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp({}, { bound: BOUND, narrow: { ...BOUND, database: "default_database" } });
});
afterAll(() => test.close());

describe("system routes", () => {
  it.each(["/api/v2", "/api/v2/heartbeat"])("GET %s beats without a key", async (path) => {
    const { status, text } = await test.ask(`GET ${path}`, { key: null });
    expect(status).toBe(200);
    expect(text).toMatch(/^\{"nanosecond heartbeat":\d{19}\}$/);
  });

  it.each([
    ["/api/v2/healthcheck", { is_executor_ready: true, is_log_client_ready: true }],
    ["/api/v2/version", "1.0.0"],
    [
      "/api/v2/pre-flight-checks",
      { max_batch_size: 5461, supports_base64_encoding: true, extensions: [...EXTENSIONS] },
    ],
    ["/livez", {}],
    ["/readyz", {}],
  ])("GET %s answers without a key", async (path, body) => {
    expect(await test.ask(`GET ${path}`, { key: null })).toMatchObject({ status: 200, body });
  });

  it.each([
    ["a-root-key-for-tests", { user_id: "root", tenant: "*", databases: ["*"] }],
    ["bound", { user_id: "key-1", tenant: "default_tenant", databases: ["default_database"] }],
    ["narrow", { user_id: "key-1", tenant: "default_tenant", databases: ["default_database"] }],
  ])("GET /api/v2/auth/identity with %s", async (key, body) => {
    expect(await test.ask("GET /api/v2/auth/identity", { key })).toMatchObject({ status: 200, body });
  });

  it("GET /api/v2/auth/identity is the default tenant where auth is off", async () => {
    const open = await startTestApp({ keys: null });
    const { body } = await open.ask("GET /api/v2/auth/identity", { key: null });
    expect(body).toEqual({ user_id: "", tenant: "default_tenant", databases: ["default_database"] });
    expect((await open.ask("GET /api/v2/tenants/default_tenant", { key: "anything" })).status).toBe(200);
    await open.close();
  });

  it.each(["GET", "PUT", "PATCH", "DELETE"])("%s of the first interface version is gone", async (method) => {
    const { status, body } = await test.ask(`${method} /api/v1/collections`, { key: null });
    expect(status).toBe(410);
    expect(body).toEqual({
      error: "Unimplemented",
      message: "The v1 API is deprecated. Please use /v2 apis",
    });
  });

  it("POST of the first interface version is 405", async () => {
    const { status, headers } = await test.ask("POST /api/v1/collections", { key: null, json: {} });
    expect(status).toBe(405);
    expect(headers["allow"]).toContain("GET");
  });

  it("is not ready and has no heartbeat until it serves; alive it is", async () => {
    const starting = await startTestApp({ lifecycle: new Lifecycle() });
    for (const path of ["/readyz", "/api/v2/heartbeat", "/api/v2", "/api/v2/healthcheck"]) {
      expect((await starting.ask(`GET ${path}`, { key: null })).status).toBe(503);
    }
    expect((await starting.ask("GET /livez", { key: null })).status).toBe(200);
    await starting.close();
  });

  it("is not ready while the engine does not answer; alive it is", async () => {
    let answers = false;
    const stuck = await startTestApp({ engineAnswers: () => answers });
    expect(await stuck.ask("GET /readyz", { key: null })).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
      body: { message: "the engine does not answer" },
    });
    expect(await stuck.ask("GET /api/v2/healthcheck", { key: null })).toMatchObject({
      status: 503,
      body: { is_executor_ready: false, is_log_client_ready: false },
    });
    expect((await stuck.ask("GET /livez", { key: null })).status).toBe(200);
    answers = true;
    expect((await stuck.ask("GET /readyz", { key: null })).status).toBe(200);
    await stuck.close();
  });

  it("is not ready when it goes down", async () => {
    const draining = await startTestApp();
    draining.lifecycle.advance("draining");
    expect((await draining.ask("GET /readyz", { key: null })).status).toBe(503);
    expect((await draining.ask("GET /livez", { key: null })).status).toBe(200);
    await draining.close();
  });
});

describe("POST /api/v2/reset", () => {
  it("removes everything and makes the defaults again", async () => {
    await test.ask("POST /api/v2/tenants", { json: { name: "acme" } });
    await test.makeCollection({ name: "to-be-reset" });
    expect(await test.ask("POST /api/v2/reset")).toMatchObject({ status: 200, body: true });
    expect((await test.ask("GET /api/v2/tenants/acme")).status).toBe(404);
    const path = "/api/v2/tenants/default_tenant/databases/default_database";
    expect((await test.ask(`GET ${path}`)).status).toBe(200);
    expect((await test.ask(`GET ${path}/collections_count`)).text).toBe("0");
  });

  it("is 403 where it is not allowed, and to keys that are bound", async () => {
    expect((await test.ask("POST /api/v2/reset", { key: "bound" })).status).toBe(403);
    const careful = await startTestApp({ allowReset: false });
    expect(await careful.ask("POST /api/v2/reset")).toMatchObject({
      status: 403,
      body: { error: "ChromaError", message: "Reset is disabled by config; `--allow-reset on` enables it" },
    });
    await careful.close();
  });
});
