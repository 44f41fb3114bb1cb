/** Many tenants on a server that may have few files open: collections that share files, over HTTP and a restart. */
import { readdirSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { createTenant, type Tenant } from "../hostile/testing/tenant.ts";
import { ServedSheaf } from "./testing/served-sheaf.ts";

const TENANTS = 150;
const AT_ONCE = 10;
const DESCRIPTORS = 512;
/** Catalog, environments with their locks, the lock, the format and what the gateway keeps. */
const MOST_FILES = 100;

let served: ServedSheaf;

afterAll(() => served.dispose());

function records(n: number): object {
  const rows = Array.from({ length: 10 }, (_, i) => i);
  return {
    ids: rows.map((i) => `r${i}`),
    embeddings: rows.map((i) => [n, i, 1]),
    documents: rows.map((i) => `document ${i} of ${n}`),
  };
}

async function inTurn<T, R>(items: readonly T[], work: (item: T, i: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    results.push(
      ...(await Promise.all(items.slice(from, from + AT_ONCE).map((item, i) => work(item, from + i)))),
    );
  return results;
}

it("serves many tenants from few files, before and after a restart", { timeout: 240_000 }, async () => {
  served = await ServedSheaf.start({ descriptors: DESCRIPTORS });
  const numbers = Array.from({ length: TENANTS }, (_, n) => n);
  const made = await inTurn(numbers, async (n): Promise<{ tenant: Tenant; path: string }> => {
    const tenant = await createTenant(served, `tenant-${n}`);
    const path = await tenant.createCollection("texts");
    await tenant.expect(201, `${path}/add`, records(n));
    return { tenant, path };
  });
  const searchAll = (): Promise<unknown> =>
    inTurn(made, async ({ tenant, path }, n) => {
      const json = { query_embeddings: [[n, 3, 1]], n_results: 1, include: ["documents"] };
      const response = await served.request(`${path}/query`, {
        json,
        headers: { "x-service-token": tenant.key },
      });
      expect(await response.json()).toMatchObject({ documents: [[`document 3 of ${n}`]] });
    });
  await searchAll();
  const files = readdirSync(served.data, { recursive: true, withFileTypes: true });
  expect(files.filter((entry) => entry.isFile()).length).toBeLessThan(MOST_FILES);
  await served.stop();
  served = await ServedSheaf.start({ data: served.data, descriptors: DESCRIPTORS });
  await searchAll();
});
