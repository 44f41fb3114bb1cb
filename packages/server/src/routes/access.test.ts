/** Who may call which route: held for every route of the server at once. */
import { createEmbedder } from "@sheaf/inference";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allRoutes } from "../app.ts";
import type { Principal, Scope } from "../auth/principal.ts";
import { Lifecycle } from "../lifecycle.ts";
import { refuseEngine } from "../request/engine-source.ts";
import { MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";

const ROUTES = allRoutes({
  engine: refuseEngine,
  embedder: createEmbedder(),
  keys: null,
  lifecycle: new Lifecycle(),
  allowReset: false,
});
const GUARDED = ROUTES.filter(({ scope }) => scope !== "public").map((route) => ({
  ...route,
  name: `${route.method} ${route.path}`,
}));
const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

function bound(scopes: readonly Scope[], tenant: string | null, database: string | null = null): Principal {
  return { id: "key", tenant, database, scopes: new Set(scopes) };
}

function url(path: string, tenant = "default_tenant", database = "default_database"): string {
  return path
    .replace(":tenant", tenant)
    .replace(":database", database)
    .replace(":collection", UNKNOWN_ID)
    .replace(":function", "f")
    .replace(":crn", "t:d:c");
}

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp(
    {},
    {
      none: bound([], null),
      embed: bound(["embed"], null),
      read: bound(["read"], null),
      write: bound(["write"], null),
      admin: bound(["admin"], null),
      foreign: bound(["embed", "read", "write", "admin"], "another_tenant"),
      elsewhere: bound(["embed", "read", "write", "admin"], "default_tenant", "another_database"),
    },
  );
});
afterAll(() => test.close());

describe("every guarded route", () => {
  it("is one of many", () => {
    expect(GUARDED.length).toBeGreaterThan(35);
  });

  it.each(GUARDED)("$name is 401 without a key and with a wrong one", async ({ method, path, surface }) => {
    for (const key of [null, "wrong", "None"]) {
      const { status, body } = await test.ask(`${method} ${url(path)}`, { key, raw: "not json" });
      expect(status).toBe(401);
      expect(Object.keys(body as object)).toEqual(surface === "embed" ? ["error"] : ["error", "message"]);
    }
  });

  it.each(GUARDED)("$name is 403 without its scope", async ({ method, path, scope }) => {
    for (const key of ["none", "embed", "read", "write", "admin"]) {
      // A tenant that is not there: some of these keys may remove it.
      const { status } = await test.ask(`${method} ${url(path, "no_such_tenant")}`, { key, raw: "not json" });
      if (key === scope || scope === "any") expect(status).not.toBe(403);
      else expect(status).toBe(403);
    }
  });

  it.each(GUARDED.filter(({ tenant }) => tenant === "path"))(
    "$name is 403 under another tenant or database, there or not",
    async ({ method, path }) => {
      for (const tenant of ["default_tenant", "no_such_tenant"]) {
        const reply = await test.ask(`${method} ${url(path, tenant)}`, { key: "foreign", json: {} });
        expect(reply).toMatchObject({ status: 403, body: { error: "ChromaError" } });
      }
      if (path.includes(":database")) {
        const reply = await test.ask(`${method} ${url(path)}`, { key: "elsewhere", json: {} });
        expect(reply.status).toBe(403);
      }
    },
  );

  it.each(GUARDED.filter(({ tenant }) => tenant === "unbound"))(
    "$name is 403 to a key that is bound",
    async ({ method, path }) => {
      const reply = await test.ask(`${method} ${url(path)}`, { key: "foreign", json: {} });
      expect(reply.status).toBe(403);
    },
  );
});

describe("the order of refusals", () => {
  it("is key, scope, headers and body, then the collection", async () => {
    const path = `POST /api/v2/tenants/default_tenant/databases/default_database/collections/${UNKNOWN_ID}/add`;
    const headers = { "content-type": "text/plain" };
    expect((await test.ask(path, { key: "wrong", raw: "{", headers })).status).toBe(401);
    expect((await test.ask(path, { key: "read", raw: "{", headers })).status).toBe(403);
    expect((await test.ask(path, { key: "write", raw: "{", headers })).status).toBe(415);
    expect((await test.ask(path, { key: "write", raw: "{" })).status).toBe(400);
    expect((await test.ask(path, { key: "write", json: { ids: 1 } })).status).toBe(422);
    expect((await test.ask(path, { key: "write", json: { ids: ["a"], embeddings: [[1]] } })).status).toBe(
      404,
    );
  });

  it("on an embedding endpoint is key, scope, model header, body, model", async () => {
    const headers = { "x-service-embedding-model": "no/such-model" };
    const send = (key: string, raw: string, named = headers) =>
      test.ask("POST /embed", { key, raw, headers: named });
    expect((await send("wrong", "{")).status).toBe(401);
    expect((await send("read", "{")).status).toBe(403);
    const missing = await test.ask("POST /embed", { key: "embed", raw: "{" });
    expect(missing).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("x-service-embedding-model") },
    });
    expect((await send("embed", "{")).status).toBe(400);
    const unknown = await send("embed", '{"texts":["a"],"instructions":""}');
    expect(unknown).toMatchObject({ status: 400, body: { error: expect.stringContaining("no/such-model") } });
    const known = { "x-service-embedding-model": MINILM };
    expect((await send("embed", '{"texts":[],"instructions":""}', known)).status).toBe(200);
  });

  it("takes the first token header that is there", async () => {
    const ask = (headers: Record<string, string>) =>
      test.ask("GET /api/v2/tenants/default_tenant", { key: null, headers });
    expect((await ask({ "x-chroma-token": "read" })).status).toBe(200);
    expect((await ask({ authorization: "Bearer read" })).status).toBe(200);
    expect((await ask({ "x-service-token": "read", "x-chroma-token": "wrong" })).status).toBe(200);
    expect((await ask({ "x-service-token": "wrong", "x-chroma-token": "read" })).status).toBe(401);
    expect((await ask({ "x-chroma-token": "wrong", authorization: "Bearer read" })).status).toBe(401);
  });
});

describe("a key bound to a database", () => {
  it("sees only that one in the list", async () => {
    await test.ask("POST /api/v2/tenants/default_tenant/databases", { json: { name: "another_database" } });
    const { body } = await test.ask("GET /api/v2/tenants/default_tenant/databases", { key: "elsewhere" });
    expect(body).toMatchObject([{ name: "another_database" }]);
  });
});
