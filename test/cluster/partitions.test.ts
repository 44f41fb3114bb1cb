/** A collection in partitions behind two gateways, and three search nodes, of which one is killed under load. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { Load } from "./testing/load.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const SECRET = "cluster-secret-for-tests-only-0123456789";
const BATCH = 12;

let database: PostgresServer;
let gateways: readonly ServedSheaf[] = [];
let nodes: readonly ServedSheaf[] = [];

async function start(...args: readonly string[]): Promise<ServedSheaf> {
  const served = await ServedSheaf.launch({
    args: ["--database", `${database.url}?schema=partitions`, ...args],
    env: { PGPASSWORD: PASSWORD, SHEAF_CLUSTER_SECRET: SECRET },
    group: true,
  });
  await served.waitUntilReady();
  return served;
}

beforeAll(async () => {
  database = await PostgresServer.start();
  for (let i = 0; i < 3; i++)
    nodes = [...nodes, await start("--role", "search", "--node-listen", String(await freePort()))];
  for (let i = 0; i < 2; i++) gateways = [...gateways, await start("--role", "gateway")];
});
afterAll(async () => {
  await Promise.all([...gateways, ...nodes].map((served) => served.dispose()));
  await database?.close();
});

/** Upserts of one batch, and reads of it, through both gateways. */
class BatchLoad extends Load {
  readonly torn: string[] = [];
  #next = 0;

  constructor(collection: string) {
    super();
    for (const gateway of gateways) {
      this.repeat(async () => {
        const version = ++this.#next;
        const ids = Array.from({ length: BATCH }, (_, i) => `r${i}`);
        const metadatas = ids.map(() => ({ version }));
        const json = { ids, embeddings: ids.map((_, i) => [1, i]), metadatas };
        await this.#note(await gateway.request(`${collection}/upsert`, { json }));
      });
      this.repeat(async () => {
        const response = await gateway.request(`${collection}/get`, { json: { include: ["metadatas"] } });
        if (response.ok) this.#look((await response.clone().json()) as { metadatas: { version: number }[] });
        await this.#note(response);
      });
    }
  }

  #look({ metadatas }: { readonly metadatas: readonly { readonly version: number }[] }): void {
    const versions = new Set(metadatas.map(({ version }) => version));
    if (versions.size > 1 || ![0, BATCH].includes(metadatas.length))
      this.torn.push(`${metadatas.length} records of versions ${[...versions].join()}`);
  }

  async #note(response: Response): Promise<void> {
    await this.count(response);
    if (!response.ok) await sleep(20);
  }
}

it("is read whole, or not at all, while a node is killed", async () => {
  const [gateway] = gateways;
  const { id, schema } = await gateway!.ask<{ id: string; schema: object }>(COLLECTIONS, {
    name: "divided",
    schema: { partitions: 6 },
  });
  expect(schema).toMatchObject({ partitions: 6 });
  const collection = `${COLLECTIONS}/${id}`;
  const load = new BatchLoad(collection);
  await load.answered(60);
  await nodes[1]!.killGroup();
  await load.answered(60);
  await load.end();
  expect(load.torn).toEqual([]);
  expect(load.refused.filter((refusal) => !refusal.startsWith("503"))).toEqual([]);
  for (const each of gateways) expect(await each.ask(`${collection}/count`)).toBe(BATCH);
  // Also the node that it was written through has no more of it than partitions.
  const folders = nodes.map(({ data }) => join(data, "collections", id.slice(0, 2)));
  const names = folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  expect(new Set(names)).toEqual(new Set([`${id}.p`]));
  const bad = await gateway!.request(COLLECTIONS, { json: { name: "bad", schema: { partitions: 65 } } });
  expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining("schema.partitions")]);
});
