import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import { type ApiKey, parseCreateKey, parseRotateKey, writeApiKey } from "./api-key.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const BODY = { name: "indexer", tenant: "acme", scopes: ["read"] };

describe("parseCreateKey", () => {
  it("reads a key for one database, scopes in their own order and once", () => {
    const body = {
      ...BODY,
      database: "prod",
      scopes: ["write", "embed", "write"],
      expires_at: "2030-01-02T01:00:00+01:00",
      limits: { requests_per_minute: 0, concurrent_requests: 4, tokens_per_minute: null },
    };
    expect(parseCreateKey(bodyOf(body), NOW)).toEqual({
      name: "indexer",
      tenant: "acme",
      database: "prod",
      scopes: ["embed", "write"],
      expires: Date.parse("2030-01-02T00:00:00Z"),
      limits: { requestsPerMinute: 0, tokensPerMinute: null, concurrentRequests: 4 },
    });
  });

  it("takes null, and only null, for every tenant", () => {
    expect(parseCreateKey(bodyOf({ ...BODY, tenant: null }), NOW)).toMatchObject({ tenant: null });
    const { tenant: _tenant, ...absent } = BODY;
    expect(refusalOf(() => parseCreateKey(bodyOf(absent), NOW))).toMatch(/^422 tenant: is required/);
  });

  it.each<[object, string]>([
    [{ name: null }, "422 name: is required"],
    [{ name: "" }, "400 name: must be 1 to 128 characters long"],
    [{ name: "n".repeat(LIMITS.keyNameCharacters + 1) }, "400 name: must be 1 to 128 characters long"],
    [{ name: "a\nb" }, "400 name: must not contain control characters"],
    [{ tenant: 1 }, "422 tenant: must be a string"],
    [{ tenant: "*" }, "400 tenant: must be 3 to 128 bytes long"],
    [
      { tenant: null, database: "prod" },
      "400 database: a key for every tenant cannot be bound to one database",
    ],
    [{ scopes: null }, "422 scopes: is required"],
    [{ scopes: "read" }, "422 scopes: must be an array"],
    [{ scopes: [] }, "400 scopes: must hold at least one scope"],
    [{ scopes: ["read", "root"] }, "422 scopes[1]: must be `embed`, `read`, `write` or `admin`"],
    [{ expires_at: "tomorrow" }, "400 expires_at: must be a time such as 2030-01-31T12:00:00Z"],
    [{ expires_at: "2030-13-01T00:00:00Z" }, "400 expires_at: must be a time such as 2030-01-31T12:00:00Z"],
    [{ expires_at: "2030-01-01T00:00:00Z" }, "400 expires_at: must be in the future"],
    [{ expires_at: 1_900_000_000 }, "422 expires_at: must be a string"],
    [
      { limits: { requests_per_minute: -1 } },
      "400 limits.requests_per_minute: must be 0 to 9007199254740991",
    ],
    [{ limits: { tokens_per_minute: "9" } }, "422 limits.tokens_per_minute: must be an integer"],
    [
      { databse: "prod" },
      "422 databse: is unknown, expected `name`, `tenant`, `database`, `scopes`, `limits` or `expires_at`",
    ],
    [
      { limits: { rpm: 1 } },
      "422 limits.rpm: is unknown, expected `requests_per_minute`, `tokens_per_minute` or `concurrent_requests`",
    ],
  ])("refuses %j", (change, refusal) => {
    expect(refusalOf(() => parseCreateKey(bodyOf({ ...BODY, ...change }), NOW))).toBe(refusal);
  });

  it("takes a name at the bound", () => {
    const name = "n".repeat(LIMITS.keyNameCharacters);
    expect(parseCreateKey(bodyOf({ ...BODY, name }), NOW).name).toBe(name);
  });
});

describe("parseRotateKey", () => {
  it("refuses unknown members", () => {
    expect(refusalOf(() => parseRotateKey(bodyOf({ expiresAt: "2031-01-01T00:00:00Z" }), NOW))).toBe(
      "422 expiresAt: is unknown, expected `overlap_seconds` or `expires_at`",
    );
  });

  it("leaves out what is left out", () => {
    expect(parseRotateKey(bodyOf({}), NOW)).toEqual({ overlapSeconds: null, expires: undefined });
    expect(parseRotateKey(bodyOf({ overlap_seconds: 0 }), NOW)).toMatchObject({ overlapSeconds: 0 });
  });

  it("bounds the overlap", () => {
    const at = (overlap_seconds: number) => () => parseRotateKey(bodyOf({ overlap_seconds }), NOW);
    expect(at(LIMITS.keyOverlapSeconds)()).toMatchObject({ overlapSeconds: LIMITS.keyOverlapSeconds });
    expect(refusalOf(at(LIMITS.keyOverlapSeconds + 1))).toMatch(/^400 overlap_seconds/);
    expect(refusalOf(at(-1))).toMatch(/^400 overlap_seconds/);
  });
});

describe("writeApiKey", () => {
  const key: ApiKey = {
    id: "k1",
    name: "n",
    tenant: null,
    database: null,
    scopes: ["read"],
    limits: { requestsPerMinute: 5, tokensPerMinute: null, concurrentRequests: null },
    created: NOW,
    expires: null,
    lastUsed: null,
    replacedBy: null,
  };

  it("shows the key itself only where it is given", () => {
    expect(JSON.parse(writeApiKey(key, "secret"))).toMatchObject({ id: "k1", key: "secret" });
    expect(JSON.parse(writeApiKey(key))).toEqual({
      id: "k1",
      name: "n",
      tenant: null,
      database: null,
      scopes: ["read"],
      limits: { requests_per_minute: 5, tokens_per_minute: null, concurrent_requests: null },
      created_at: "2030-01-01T00:00:00.000Z",
      expires_at: null,
      last_used_at: null,
      replaced_by: null,
    });
  });
});
