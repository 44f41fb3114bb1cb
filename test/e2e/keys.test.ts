/** Thousands of API keys in a data folder: each is found when it is used, and ends with its tenant. */
import { hash } from "node:crypto";
import { createLocalEngine } from "@sheaf/engine/local";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeKey } from "../../packages/server/src/auth/make-key.ts";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";

const OWNERS = ["acme", "other", null] as const;
const KEYS_OF_EACH = 1_000;
const CALLERS = 16;
const IDENTITY = "/api/v2/auth/identity";

/** By owner. */
const tokens: string[][] = [];
let served: ServedSheaf;

beforeAll(async () => {
  const data = await temporaryFolder();
  const engine = await createLocalEngine({ dataFolder: data });
  for (const [i, tenant] of OWNERS.entries()) {
    if (tenant !== null) await engine.createTenant(tenant);
    tokens.push(Array.from({ length: KEYS_OF_EACH }, makeKey));
    await Promise.all(
      tokens[i]!.map((token, j) => engine.createKey(storedKey(token, i * KEYS_OF_EACH + j, tenant))),
    );
  }
  await engine.close();
  served = await ServedSheaf.start({ data });
});
afterAll(() => served.dispose());

function storedKey(token: string, number: number, tenant: string | null) {
  return {
    ...{ id: `key_${String(number).padStart(16, "0")}`, digest: hash("sha256", token), name: "k", tenant },
    ...{ database: null, scopes: ["read"] as const, created: 0, expires: null, lastUsed: null },
    ...{
      replacedBy: null,
      limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
    },
  };
}

/** Status -> how many of the keys it is the answer to. */
async function statusesOf(keys: readonly string[]): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {};
  const left = [...keys];
  const call = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      const { status, body } = await served.request(IDENTITY, { headers: { "x-service-token": key } });
      await body?.cancel();
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return counts;
}

it("finds each of thousands of keys, none that nobody made, and ends those of a tenant at once", async () => {
  const [acme, other, everywhere] = tokens as [string[], string[], string[]];
  expect(await statusesOf(tokens.flat())).toEqual({ 200: OWNERS.length * KEYS_OF_EACH });
  expect(await statusesOf(Array.from({ length: 500 }, makeKey))).toEqual({ 401: 500 });
  expect((await served.request("/api/v2/tenants/acme", { method: "DELETE" })).status).toBe(200);
  expect(await statusesOf(acme)).toEqual({ 401: KEYS_OF_EACH });
  expect(await statusesOf([...other.slice(0, 200), ...everywhere.slice(0, 200)])).toEqual({ 200: 400 });
});
