/** A search node that is paused with a call on its way: whoever sent it has done something else when the node goes on. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";

const HOME = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const SECRET = "cluster-secret-for-tests-only-0123456789";
/** Each pauses one of two nodes in turn, of which one is asked first. */
const ROUNDS = 4;
/** What woke up has done by then what it would do. */
const LATE_MS = 2_500;

let database: PostgresServer;
let gateway: ServedSheaf;
const nodes: ServedSheaf[] = [];
/** Also those that did not come to serve. */
const started: ServedSheaf[] = [];

async function start(...args: readonly string[]): Promise<ServedSheaf> {
  const served = await ServedSheaf.launch({
    args: ["--database", `${database.url}?schema=late`, ...args],
    env: { PGPASSWORD: PASSWORD, SHEAF_CLUSTER_SECRET: SECRET },
    group: true,
  });
  started.push(served);
  await served.waitUntilReady();
  return served;
}

beforeAll(async () => {
  database = await PostgresServer.start();
  for (let i = 0; i < 2; i++)
    nodes.push(await start("--role", "search", "--node-listen", String(await freePort())));
  gateway = await start("--role", "gateway");
  while ((await searchNodes()) < nodes.length) await sleep(50);
});
afterAll(async () => {
  for (const node of nodes) node.signalGroup("SIGCONT");
  await Promise.all(started.map((served) => served.dispose()));
  await database?.close();
});

async function searchNodes(): Promise<number> {
  const text = await (await gateway.request("/metrics")).text();
  return Number(/^sheaf_search_nodes (\d+)$/mu.exec(text)?.[1]);
}

async function statusOf(path: string, options: Parameters<ServedSheaf["request"]>[1]): Promise<number> {
  const response = await gateway.request(path, options);
  await response.body?.cancel();
  return response.status;
}

/** Sent again while nobody can tell, as the words of a 503 say. */
async function untilDone(path: string, options: Parameters<ServedSheaf["request"]>[1]): Promise<number> {
  for (;;) {
    const status = await statusOf(path, options);
    if (status !== 503) return status;
    await sleep(100);
  }
}

/** `first` is sent while a node is paused; where its caller heard 503, `then` follows, and the node goes on. */
async function whilePaused(
  round: number,
  first: () => Promise<number>,
  then: () => Promise<unknown>,
): Promise<boolean> {
  const paused = nodes[round % nodes.length]!;
  paused.signalGroup("SIGSTOP");
  try {
    const isUnknown = (await first()) === 503;
    if (isUnknown) await then();
    return isUnknown;
  } finally {
    paused.signalGroup("SIGCONT");
    await sleep(LATE_MS);
    await expect.poll(searchNodes).toBe(nodes.length);
  }
}

describe("a node that goes on after a pause", () => {
  it("does not write what its caller has written over", async () => {
    const { id } = await gateway.ask<{ id: string }>(HOME, { name: "written" });
    const write = (v: number): Parameters<typeof statusOf> => [
      `${HOME}/${id}/upsert`,
      { json: { ids: ["k"], embeddings: [[1, 2]], metadatas: [{ v }] } },
    ];
    const stored = async (): Promise<unknown> =>
      (await gateway.ask<{ metadatas: unknown }>(`${HOME}/${id}/get`, { include: ["metadatas"] })).metadatas;
    expect(await statusOf(...write(-1))).toBe(200);
    let tried = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const late = await whilePaused(
        round,
        () => statusOf(...write(2 * round)),
        async () => {
          expect(await untilDone(...write(2 * round + 1))).toBe(200);
        },
      );
      if (!late) continue;
      tried += 1;
      expect(await stored()).toEqual([{ v: 2 * round + 1 }]);
    }
    expect(tried).toBeGreaterThan(0);
  });

  it("does not drop a tenant that was made anew", async () => {
    const [tenants, databases] = ["/api/v2/tenants", "/api/v2/tenants/acme/databases"];
    const collection = `${databases}/notes/collections/notes`;
    const make = async (): Promise<void> => {
      await gateway.ask(tenants, { name: "acme" });
      await gateway.ask(databases, { name: "notes" });
      await gateway.ask(`${databases}/notes/collections`, { name: "notes" });
    };
    const drop = [`${tenants}/acme`, { method: "DELETE" }] as const;
    let tried = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await make();
      const isLate = await whilePaused(
        round,
        () => statusOf(...drop),
        async () => {
          expect(await untilDone(...drop)).toBe(200);
          await make();
        },
      );
      expect(await statusOf(collection, {})).toBe(isLate ? 200 : 404);
      if (!isLate) continue;
      tried += 1;
      expect(await untilDone(...drop)).toBe(200);
    }
    expect(tried).toBeGreaterThan(0);
  });

  it("does not drop a collection that was made anew under the name", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await gateway.ask(HOME, { name: "notes" });
      const drop = [`${HOME}/notes`, { method: "DELETE" }] as const;
      const again = async (): Promise<void> => {
        expect([200, 404]).toContain(await untilDone(...drop));
        await gateway.ask(HOME, { name: "notes" });
      };
      const isLate = await whilePaused(round, () => statusOf(...drop), again);
      expect(await statusOf(drop[0], {})).toBe(isLate ? 200 : 404);
      if (isLate) expect(await untilDone(...drop)).toBe(200);
    }
  });
});
