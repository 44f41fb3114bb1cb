import { describe, expect, it } from "vitest";
import { type PathParams, type RouteAccess, authenticate, authorize } from "./authorize.ts";
import { createRootKeyStore, firstOf } from "./key-store.ts";
import { ANONYMOUS, type Principal, type Scope } from "./principal.ts";

const ROOT_KEY = "a-root-key-for-tests";
const READ_PATH: RouteAccess = { scope: "read", tenant: "path" };

function principal(
  scopes: readonly Scope[],
  tenant: string | null = null,
  database: string | null = null,
): Principal {
  return { id: "key-1", tenant, database, scopes: new Set(scopes) };
}

function refusal(act: () => void): string {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  return "allowed";
}

describe("authenticate", () => {
  const keys = createRootKeyStore(ROOT_KEY);

  it("knows the root key, which may do everything", async () => {
    const root = await authenticate({ "x-service-token": ROOT_KEY }, READ_PATH, keys);
    expect(root).toMatchObject({ id: "root", tenant: null, database: null });
    expect([...root.scopes]).toEqual(["embed", "read", "write", "admin"]);
  });

  it.each([[{}], [{ "x-service-token": "wrong" }], [{ "x-service-token": `${ROOT_KEY}x` }]])(
    "refuses %j with 401",
    async (headers) => {
      await expect(async () => authenticate(headers, READ_PATH, keys)).rejects.toMatchObject({
        code: "unauthenticated",
      });
    },
  );

  it("lets no right key rescue a wrong one before it", async () => {
    const headers = { "x-service-token": "wrong", "x-chroma-token": ROOT_KEY };
    await expect(async () => authenticate(headers, READ_PATH, keys)).rejects.toMatchObject({
      code: "unauthenticated",
    });
  });

  it("asks nothing on public routes and where auth is off", async () => {
    expect(await authenticate({}, { scope: "public", tenant: "none" }, keys)).toBe(ANONYMOUS);
    expect(await authenticate({ "x-service-token": "whatever" }, READ_PATH, null)).toBe(ANONYMOUS);
  });

  it("asks several stores in order", async () => {
    const made = principal(["read"], "acme");
    const store = firstOf(keys, { find: (token) => Promise.resolve(token === "made" ? made : null) });
    expect(await store.find("made")).toBe(made);
    expect(await store.find(ROOT_KEY)).toMatchObject({ id: "root" });
    expect(await store.find("neither")).toBeNull();
  });
});

describe("authorize", () => {
  const acme = { tenant: "acme", database: "prod" };
  const adminOfPath: RouteAccess = { scope: "admin", tenant: "path" };
  const unbound: RouteAccess = { scope: "admin", tenant: "unbound" };
  const otherTenant = "SheafError: the API key is bound to another tenant";
  const otherDatabase = "SheafError: the API key is bound to another database";

  it.each<{ name: string; caller: Principal; access?: RouteAccess; params?: PathParams; refused?: string }>([
    { name: "a scope it has", caller: principal(["read"]) },
    {
      name: "a scope it lacks",
      caller: principal(["write"]),
      refused: 'SheafError: the API key lacks the scope "read"',
    },
    { name: "any scope", caller: principal([]), access: { scope: "any", tenant: "none" } },
    { name: "its own tenant", caller: principal(["read"], "acme") },
    { name: "another tenant", caller: principal(["read"], "other"), refused: otherTenant },
    { name: "a tenant spelled differently", caller: principal(["read"], "ACME"), refused: otherTenant },
    { name: "its own database", caller: principal(["read"], "acme", "prod") },
    { name: "another database", caller: principal(["read"], "acme", "test"), refused: otherDatabase },
    {
      name: "reading above its database",
      caller: principal(["read"], "acme", "prod"),
      params: { tenant: "acme" },
    },
    {
      name: "changing above its database",
      caller: principal(["admin"], "acme", "prod"),
      access: adminOfPath,
      params: { tenant: "acme" },
      refused: otherDatabase,
    },
    {
      name: "everybody's things, bound",
      caller: principal(["admin"], "acme"),
      access: unbound,
      refused: "SheafError: the API key is bound to one tenant",
    },
    { name: "everybody's things, unbound", caller: principal(["admin"]), access: unbound },
    {
      name: "nobody's things, bound",
      caller: principal(["embed"], "acme"),
      access: { scope: "embed", tenant: "none" },
    },
  ])("$name", ({ caller, access = READ_PATH, params = acme, refused = "allowed" }) => {
    expect(refusal(() => authorize(caller, access, params))).toBe(refused);
  });
});
