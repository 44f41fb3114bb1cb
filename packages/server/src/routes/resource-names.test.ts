/** Collections by resource name, and whose keys may look. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Principal } from "../auth/principal.ts";
import { type TestApp, startTestApp } from "../testing/test-app.ts";

function reader(tenant: string, database: string | null = null): Principal {
  return { id: "key", tenant, database, scopes: new Set(["read"] as const) };
}

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp(
    {},
    { own: reader("acme"), foreign: reader("other"), elsewhere: reader("acme", "second") },
  );
  await test.ask("POST /api/v2/tenants", { json: { name: "acme" } });
  await test.ask("PATCH /api/v2/tenants/acme", { json: { resource_name: "acme:eu" } });
  await test.ask("POST /api/v2/tenants/acme/databases", { json: { name: "first" } });
  await test.ask("POST /api/v2/tenants/acme/databases/first/collections", { json: { name: "texts" } });
});
afterAll(() => test.close());

describe("a collection by resource name", () => {
  it.each(["acme:eu:first:texts", "acme:first:texts", encodeURIComponent("acme:eu:first:texts")])(
    "is found as %s",
    async (crn) => {
      const reply = await test.ask(`GET /api/v2/collections/${crn}`, { key: "own" });
      expect(reply).toMatchObject({
        status: 200,
        body: { name: "texts", tenant: "acme", database: "first" },
      });
    },
  );

  it.each([
    ["acme:first:nothing", 404],
    ["acme:nothing:texts", 404],
    ["nobody:first:texts", 404],
    ["acme", 400],
    ["acme:first", 400],
    ["acme:first:", 400],
  ])("%s is %i", async (crn, status) => {
    expect((await test.ask(`GET /api/v2/collections/${crn}`)).status).toBe(status);
  });

  it("is 403 to a key of another tenant or database, there or not", async () => {
    for (const key of ["foreign", "elsewhere"]) {
      for (const crn of [
        "acme:eu:first:texts",
        "acme:first:texts",
        "acme:first:nothing",
        "nobody:first:texts",
      ]) {
        expect((await test.ask(`GET /api/v2/collections/${crn}`, { key })).status).toBe(403);
      }
    }
  });

  it("is unique to its tenant", async () => {
    const json = { resource_name: "acme:eu" };
    expect((await test.ask("PATCH /api/v2/tenants/default_tenant", { json })).status).toBe(409);
  });
});
