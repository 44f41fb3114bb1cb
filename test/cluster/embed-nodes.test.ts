/** A gateway that has its texts embedded by nodes, which are killed, stopped, paused and added while they are asked. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { Load } from "./testing/load.ts";

const MINILM = "sentence-transformers/all-MiniLM-L6-v2";
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const SECRET = "cluster-secret-for-tests-only-0123456789";

let database: PostgresServer;
let gateway: ServedSheaf;
let search: ServedSheaf;
let nodes: ServedSheaf[];
const started: ServedSheaf[] = [];

async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServedSheaf> {
  const served = await ServedSheaf.launch({
    args: ["--database", `${database.url}?schema=embed`, "--log-level", "info", ...args],
    env: { PGPASSWORD: PASSWORD, SHEAF_CLUSTER_SECRET: SECRET, ...env },
    group: true,
  });
  started.push(served);
  await served.waitUntilReady();
  return served;
}

const startNode = (): Promise<ServedSheaf> => start(["--role", "embed", "--node-listen", "0"]);

beforeAll(async () => {
  database = await PostgresServer.start();
  [search, ...nodes] = [
    await start(["--role", "search", "--node-listen", "0"]),
    await startNode(),
    await startNode(),
  ];
  gateway = await start(["--role", "gateway", "--local-models", "off"]);
});
afterAll(async () => {
  for (const served of started) {
    if (served.process.exitCode === null && served.process.signalCode === null) served.signalGroup("SIGCONT");
  }
  await Promise.all(started.map((served) => served.dispose()));
  await database?.close();
});

/** Waits until it has so many that it can call. */
async function nodesOf(server: ServedSheaf, count: number): Promise<void> {
  await expect
    .poll(
      async () => /^sheaf_embed_nodes (\d+)$/mu.exec(await (await server.request("/metrics")).text())?.[1],
    )
    .toBe(String(count));
}

const embed = (server: ServedSheaf, texts: readonly string[]): Promise<Response> =>
  server.request("/embed", {
    json: { texts, instructions: "" },
    headers: { "x-service-embedding-model": MINILM },
  });

async function vectorsOf(server: ServedSheaf, texts: readonly string[]): Promise<unknown> {
  const response = await embed(server, texts);
  const body = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${body}`);
  return (JSON.parse(body) as { embeddings: unknown }).embeddings;
}

/** Embeds few texts and many. */
class TextLoad extends Load {
  constructor() {
    super();
    for (const [worker, count] of [1, 1, 8].entries()) this.repeat((i) => this.#round(count, worker, i));
  }

  async #round(count: number, worker: number, i: number): Promise<void> {
    const texts = Array.from({ length: count }, (_, n) => `text ${worker} ${i} ${n}`);
    await this.count(await embed(gateway, texts));
  }
}

describe("a gateway without models and two embed nodes", () => {
  it("gives the vectors that a node gives itself, to the bit, and finds records by text", async () => {
    // The search node's own port has its texts embedded, too.
    for (const server of [gateway, search]) await nodesOf(server, 2);
    for (const text of ["a ship in port", "bread"])
      expect(await vectorsOf(gateway, [text])).toEqual(await vectorsOf(nodes[0]!, [text]));
    const embedding_function = { type: "known", name: "default", config: {} };
    const made = { name: "texts", configuration: { embedding_function } };
    const { id } = await gateway.ask<{ id: string }>(COLLECTIONS, made);
    const documents = ["Ships wait for the tide.", "Bread rises overnight."];
    await gateway.ask(`${COLLECTIONS}/${id}/upsert`, { ids: ["ships", "bread"], documents });
    const searches = [{ rank: { $knn: { query: "boats", limit: 2 } }, limit: { limit: 1 } }];
    for (const server of [gateway, search]) {
      const found = await server.ask<{ ids: string[][] }>(`${COLLECTIONS}/${id}/search`, { searches });
      expect(found.ids).toEqual([["ships"]]);
    }
  });

  it("refuses nothing where a node is killed, stopped, or added under load", async () => {
    const load = new TextLoad();
    await load.answered(20);
    await nodes.shift()!.killGroup();
    await load.answered(20);
    nodes.push(await startNode());
    await nodesOf(gateway, 2);
    await load.answered(20);
    expect(await nodes.shift()!.stop()).toBe(0);
    await load.answered(20);
    nodes.push(await startNode());
    await nodesOf(gateway, 2);
    await load.answered(20);
    await load.end();
    expect(load.refused).toEqual([]);
  });

  it("refuses nothing where a node is paused under load, and uses it again", async () => {
    const load = new TextLoad();
    await load.answered(20);
    nodes[0]!.signalGroup("SIGSTOP");
    await nodesOf(gateway, 1);
    await load.answered(20);
    nodes[0]!.signalGroup("SIGCONT");
    await nodesOf(gateway, 2);
    await load.answered(20);
    await load.end();
    expect(load.refused).toEqual([]);
  });

  it("is no node of a server that does not know the secret", async () => {
    const stranger = await start(["--role", "gateway", "--local-models", "off"], {
      SHEAF_CLUSTER_SECRET: "x".repeat(40),
    });
    const response = await embed(stranger, ["a"]);
    expect(response.status).toBe(503);
    await response.body?.cancel();
    await stranger.stop();
  });

  it("answers 503 without a node, while one that may run models does it itself", async () => {
    const able = await start(["--role", "gateway"]);
    await nodesOf(able, 2);
    const expected = await vectorsOf(able, ["a text"]);
    for (const node of nodes) node.signalGroup("SIGSTOP");
    onTestFinished(() => {
      for (const node of nodes) node.signalGroup("SIGCONT");
    });
    await nodesOf(gateway, 0);
    const response = await embed(gateway, ["a text"]);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.text()).toContain("no embed node");
    expect(await vectorsOf(able, ["a text"])).toEqual(expected);
    for (const node of nodes) node.signalGroup("SIGCONT");
    await nodesOf(gateway, 2);
    expect(await vectorsOf(gateway, ["a text"])).toEqual(expected);
  });
});
