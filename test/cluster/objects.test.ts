/** Servers on one database and one object store: a new one has the index that an index node has made. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ObjectServer } from "../../packages/engine/src/storage/objects/testing/object-server.ts";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { ServedSheaf, descendants } from "../e2e/testing/served-sheaf.ts";

/** An index node finds it, seals, and brings the files; each look starts a server. */
const UNTIL_PUBLISHED = { timeout: 120_000 };

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
/** More than a segment in memory holds. */
const ROWS = 18_000;
const BATCH = 3_000;

let database: PostgresServer;
let objects: ObjectServer;
beforeAll(async () => {
  [database, objects] = await Promise.all([PostgresServer.start(), ObjectServer.start()]);
});
afterAll(async () => {
  await Promise.all([database?.close(), objects?.close()]);
});

async function metricOf(server: ServedSheaf, name: string): Promise<number> {
  const text = await (await server.request("/metrics")).text();
  return Number(new RegExp(`^sheaf_${name} (\\d+)$`, "mu").exec(text)?.[1]);
}

describe("servers on one database and one object store", () => {
  it("have the index that an index node has made, and the keys in no argument and no line of the log", async () => {
    const { endpoint, bucket, prefix, secretAccessKey } = objects.settings();
    const start = (role = "all"): Promise<ServedSheaf> =>
      ServedSheaf.start({
        args: [
          ...["--database", `${database.url}?schema=shared`, "--role", role],
          ...["--objects", `s3://${bucket}/${prefix}`],
        ],
        env: {
          ...{ PGPASSWORD: PASSWORD, AWS_ENDPOINT_URL_S3: endpoint },
          ...{ AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: secretAccessKey },
        },
      });
    const index = await start("index");
    const one = await start("search");
    const { id } = await one.ask<{ id: string }>(COLLECTIONS, { name: "indexed" });
    const collection = `${COLLECTIONS}/${id}`;
    for (let from = 0; from < ROWS; from += BATCH) {
      const numbers = Array.from({ length: BATCH }, (_, i) => from + i);
      const embeddings = numbers.map((n) => [Math.sin(n), Math.cos(n * 1.7), Math.sin(n * 2.3)]);
      await one.ask(`${collection}/add`, { ids: numbers.map((n) => `r${n}`), embeddings });
    }
    const names = (method: string): readonly string[] =>
      objects.calls
        .filter((call) => call.startsWith(method))
        .flatMap((call) => /[0-9a-f-]{36}\.seg/u.exec(call) ?? []);
    await expect.poll(() => names("PUT"), UNTIL_PUBLISHED).not.toEqual([]);
    const query = { query_embeddings: [[0.1, 0.2, 0.3]], n_results: 10, include: ["distances"] };
    const expected = await one.ask(`${collection}/query`, query);
    // Servers that come before it is published make their own.
    await expect
      .poll(async () => {
        objects.calls.length = 0;
        const two = await start();
        try {
          expect(await two.ask(`${collection}/query`, query)).toEqual(expected);
          return names("GET");
        } finally {
          await two.dispose();
        }
      }, UNTIL_PUBLISHED)
      .not.toEqual([]);
    const all = await descendants(one.pid);
    expect(all.some(({ command }) => command.includes("engine-host"))).toBe(true);
    expect(all.filter(({ command }) => command.includes(secretAccessKey))).toEqual([]);
    expect(one.output).not.toContain(secretAccessKey);
    expect(await metricOf(one, "left_to_index_nodes")).toBe(1);
    await expect.poll(() => metricOf(index, "index_jobs")).toBeGreaterThan(0);
    expect((await index.request("/readyz")).status).toBe(200);
    const refused = await index.request(`${collection}/count`);
    expect([refused.status, await refused.text()]).toEqual([501, expect.stringContaining("index")]);
    expect(await index.stop()).toBe(0);
    await Promise.all([one.dispose(), index.dispose()]);
  });
});
