/** Gateways that keep nothing, and search nodes that are killed, stopped, paused and added while they are asked. */
import { once } from "node:events";
import { execFile } from "node:child_process";
import { type Socket, connect } from "node:net";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresDatabase } from "../../packages/engine/src/storage/postgres/postgres-database.ts";
import { PostgresNodeTable } from "../../packages/engine/src/storage/postgres/postgres-node-table.ts";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ROOT_KEY, type ServeOptions, ServedSheaf, descendants } from "../e2e/testing/served-sheaf.ts";
import { Load } from "./testing/load.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const MANIFEST = new URL("../../packages/server/package.json", import.meta.url);
const SECRET = "cluster-secret-for-tests-only-0123456789";

let database: PostgresServer;
let gateways: readonly [ServedSheaf, ServedSheaf];
const nodes = new Map<number, ServedSheaf>();
/** Everything that was started, for what must not be in its arguments and its log. */
const started: ServedSheaf[] = [];

async function start(args: readonly string[], options: ServeOptions = {}): Promise<ServedSheaf> {
  const served = await ServedSheaf.launch({
    ...options,
    args: ["--database", `${database.url}?schema=roles`, ...args],
    env: { PGPASSWORD: PASSWORD, SHEAF_CLUSTER_SECRET: SECRET, SHEAF_LOG_LEVEL: "info", ...options.env },
    group: true,
  });
  started.push(served);
  await served.waitUntilReady();
  return served;
}

async function startNode(port: number, data?: string): Promise<ServedSheaf> {
  const args = ["--role", "search", "--node-listen", String(port)];
  const node = await start(args, data === undefined ? {} : { data });
  nodes.set(port, node);
  return node;
}

const startGateway = (): Promise<ServedSheaf> => start(["--role", "gateway", "--log-level", "info"]);

beforeAll(async () => {
  database = await PostgresServer.start();
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  for (const port of ports) await startNode(port);
  gateways = [await startGateway(), await startGateway()];
});
afterAll(async () => {
  await Promise.all(started.map((served) => served.dispose()));
  await database?.close();
});

async function makeCollection(name: string): Promise<string> {
  const { id } = await gateways[0].ask<{ id: string }>(COLLECTIONS, { name });
  return `${COLLECTIONS}/${id}`;
}

const add = (server: ServedSheaf, collection: string, ids: readonly string[]): Promise<unknown> =>
  server.ask(`${collection}/add`, { ids, embeddings: ids.map((_, i) => [1, i]) });

const idsIn = async (server: ServedSheaf, collection: string): Promise<readonly string[]> =>
  (await server.ask<{ ids: string[] }>(`${collection}/get`, { include: [] })).ids;

/** Writes and reads of both gateways over several collections. */
class GatewayLoad extends Load {
  readonly acknowledged = new Map<string, Set<string>>();

  constructor(collections: readonly string[]) {
    super();
    for (const collection of collections) {
      this.acknowledged.set(collection, new Set());
      for (const gateway of gateways) this.repeat((i) => this.#round(gateway, collection, i));
    }
  }

  async #round(gateway: ServedSheaf, collection: string, i: number): Promise<void> {
    const id = `${gateway.pid}:${i}`;
    const json = { ids: [id], embeddings: [[1, i]] };
    const written = await gateway.request(`${collection}/add`, { json });
    if (written.ok) this.acknowledged.get(collection)?.add(id);
    await this.#countAndPause(written);
    const query = { query_embeddings: [[1, i]], n_results: 3, include: ["distances"] };
    await this.#countAndPause(await gateway.request(`${collection}/query`, { json: query }));
  }

  async #countAndPause(response: Response): Promise<void> {
    await this.count(response);
    if (!response.ok) await sleep(20);
  }
}

async function loaded(
  name: string,
): Promise<{ readonly load: GatewayLoad; readonly collections: readonly string[] }> {
  const collections = await Promise.all([0, 1, 2, 3].map((i) => makeCollection(`${name}-${i}`)));
  for (const collection of collections) await add(gateways[0], collection, ["first"]);
  const load = new GatewayLoad(collections);
  await load.answered(40);
  return { load, collections };
}

/** What was answered with anything but 503 or a success, and what was acknowledged and is not there once through a gateway. */
async function wrongsOf({ refused, acknowledged }: GatewayLoad): Promise<readonly string[]> {
  const wrongs = refused.filter((refusal) => !refusal.startsWith("503"));
  for (const [collection, ids] of acknowledged) {
    for (const gateway of gateways) {
      const found = await idsIn(gateway, collection);
      const times = countsOf(found);
      for (const id of ids)
        if (times.get(id) !== 1) wrongs.push(`${id} is ${times.get(id)} times in ${collection}`);
    }
  }
  return wrongs;
}

function countsOf(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** As a gateway measures them. */
async function searchNodes(): Promise<string | undefined> {
  const text = await (await gateways[0].request("/metrics")).text();
  expect(text).toMatch(/^sheaf_index_nodes 0$/mu);
  return /^sheaf_search_nodes (\d+)$/mu.exec(text)?.[1];
}

/** A database in which the address of a node of this one stands. */
async function registerElsewhere(port: number): Promise<PostgresNodeTable> {
  const elsewhere = new PostgresDatabase({ ...database.settings(), schema: "other" });
  onTestFinished(() => elsewhere.close());
  const table = new PostgresNodeTable(elsewhere);
  await table.register("taken", { url: `127.0.0.1:${port}`, role: "search" });
  return table;
}

const anyNode = (): readonly [number, ServedSheaf] => [...nodes][0]!;

describe("two gateways and three search nodes", () => {
  it("answer as one server: what one gateway has done, the other one sees", async () => {
    const collection = await makeCollection("seen");
    await add(gateways[0], collection, ["a", "b"]);
    expect(await idsIn(gateways[1], collection)).toEqual(["a", "b"]);
    await gateways[1].ask(`${collection}/delete`, { ids: ["a"] });
    expect(await idsIn(gateways[0], collection)).toEqual(["b"]);
    const missing = await gateways[0].request(`${COLLECTIONS}/absent`);
    expect(missing.status).toBe(404);
    const bad = await gateways[0].request(`${collection}/query`, { json: { query_embeddings: [["x"]] } });
    expect(bad.status).toBeGreaterThanOrEqual(400);
    expect(bad.status).toBeLessThan(500);
  });

  it("list the nodes, as these do, with their versions", async () => {
    const { version } = JSON.parse(await readFile(MANIFEST, "utf8")) as { version: string };
    const known = [...nodes.keys()].map((port) => ({
      role: "search",
      address: `127.0.0.1:${port}`,
      version,
    }));
    for (const server of [gateways[0], anyNode()[1]]) {
      const listed = await server.ask<readonly object[]>("/api/v2/nodes");
      expect(listed).toHaveLength(known.length);
      expect(listed).toEqual(expect.arrayContaining(known.map((node) => expect.objectContaining(node))));
    }
    const env = { ...process.env, SHEAF_URL: gateways[0].url, SHEAF_KEY: ROOT_KEY };
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, "nodes"], { env });
    const [heading, ...lines] = stdout.trim().split("\n");
    expect(heading).toMatch(/^role +address +version +last seen$/u);
    expect(lines).toHaveLength(known.length);
    for (const line of lines) expect(line).toMatch(/^search +127\.0\.0\.1:\d+ +\d\S+ +\d+ s ago$/u);
  });

  it("end a key that the other one has revoked, also one that was just used", async () => {
    const body = { name: "gateway key", tenant: "default_tenant", scopes: ["read"] };
    const { id, key } = await gateways[0].ask<{ id: string; key: string }>("/api/v2/keys", body);
    const statusAt = async (gateway: ServedSheaf): Promise<number> => {
      const headers = { "x-service-token": key };
      const response = await gateway.request("/api/v2/auth/identity", { headers });
      await response.body?.cancel();
      return response.status;
    };
    for (const gateway of gateways) expect(await statusAt(gateway)).toBe(200);
    expect((await gateways[0].request(`/api/v2/keys/${id}`, { method: "DELETE" })).ok).toBe(true);
    const revokedAt = performance.now();
    await expect.poll(() => statusAt(gateways[1]), { interval: 20, timeout: 10_000 }).not.toBe(200);
    console.log(
      `a revoked key ended on the other gateway after ${Math.round(performance.now() - revokedAt)} ms`,
    );
    // It does not come back: no gateway keeps what a node knew a moment before.
    for (let i = 0; i < 50; i++) {
      for (const gateway of gateways) expect(await statusAt(gateway)).toBe(401);
      await sleep(20);
    }
  });

  it("hand on replies of many batches", async () => {
    const collection = await makeCollection("large");
    const documents = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(100_000, "x"));
    const ids = documents.map((_, i) => String(i));
    await gateways[0].ask(`${collection}/add`, { ids, documents, embeddings: ids.map((_, i) => [1, i]) });
    const got = await gateways[1].ask<{ documents: string[] }>(`${collection}/get`, {
      include: ["documents"],
    });
    expect(got.documents).toEqual(documents);
  });

  it("lose nothing that was acknowledged where a node is killed, and go on", async () => {
    const { load } = await loaded("killed");
    const [port, victim] = anyNode();
    await victim.killGroup();
    await load.answered(100);
    await startNode(port, victim.data);
    await load.answered(100);
    await load.end();
    expect(await wrongsOf(load)).toEqual([]);
  });

  it("refuse nothing where a node is stopped and one is added", async () => {
    const { load } = await loaded("stopped");
    const [port, leaving] = anyNode();
    expect(await leaving.stop()).toBe(0);
    nodes.delete(port);
    await load.answered(100);
    await startNode(await freePort());
    await load.answered(100);
    await load.end();
    expect(load.refused).toEqual([]);
    expect(await wrongsOf(load)).toEqual([]);
  });

  it("go on where a node is paused, whose late writes change nothing that was acknowledged", async () => {
    const { load } = await loaded("paused");
    const [, paused] = anyNode();
    paused.signalGroup("SIGSTOP");
    await load.answered(200);
    paused.signalGroup("SIGCONT");
    await load.answered(100);
    await load.end();
    expect(await wrongsOf(load)).toEqual([]);
  });

  it("answer 503 while there is no node, and go on when there is one", async () => {
    const collection = await makeCollection("none");
    await add(gateways[0], collection, ["a"]);
    const all = [...nodes];
    for (const [, node] of all) node.signalGroup("SIGSTOP");
    onTestFinished(() => {
      for (const [, node] of all) node.signalGroup("SIGCONT");
    });
    await expect
      .poll(async () => {
        const response = await gateways[0].request(`${collection}/get`, { json: {} });
        await response.body?.cancel();
        return [response.status, response.headers.get("retry-after")];
      })
      .toEqual([503, "1"]);
    await expect.poll(searchNodes).toBe("0");
    for (const [, node] of all) node.signalGroup("SIGCONT");
    await expect.poll(searchNodes).toBe(String(all.length));
    await expect.poll(() => idsIn(gateways[0], collection).catch(() => null)).toEqual(["a"]);
  });

  it("give nothing on the node port to who does not know the secret, whatever it sends", async () => {
    const [port, node] = anyNode();
    const memory = async (): Promise<number> =>
      Number(/VmRSS:\s+(\d+)/u.exec(await readFile(`/proc/${node.pid}/status`, "utf8"))?.[1]) * 1_024;
    const before = await memory();
    const received: Buffer[] = [];
    const sockets: Socket[] = [];
    for (let i = 0; i < 500; i++) {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      socket.on("data", (chunk) => received.push(chunk));
      // A length of 2 GiB, then bytes.
      socket.write(Buffer.concat([Buffer.from([255, 255, 255, 127]), Buffer.alloc(256 * 1024, i)]));
      sockets.push(socket);
    }
    for (const socket of sockets) await expect.poll(() => socket.closed).toBe(true);
    expect(Math.max(0, ...received.map(({ length }) => length))).toBeLessThan(16);
    expect((await memory()) - before).toBeLessThan(64 * 1024 * 1024);
    const [stranger, neighbour] = await Promise.all([
      start(["--role", "gateway"], { env: { SHEAF_CLUSTER_SECRET: "x".repeat(40) } }),
      start(["--role", "gateway", "--database", `${database.url}?schema=other`]),
    ]);
    const response = await stranger.request(`${COLLECTIONS}/seen`);
    expect(response.status).toBe(503);
    await response.body?.cancel();
    expect(node.output).toContain("refused connections to the node port");
    // Another cluster may have the same secret.
    const other = await registerElsewhere(port);
    const known = `is of cluster ${String(await other.cluster())}`;
    await expect.poll(() => neighbour.output.split("it is of another database").length).toBe(2);
    expect(neighbour.output).toContain(known);
    expect((await neighbour.request(COLLECTIONS)).status).toBe(503);
    await Promise.all([stranger.stop(), neighbour.stop()]);
  });

  it("have no credential in an argument or a line of the log, and a gateway has no child and no data folder", async () => {
    const trees = await Promise.all(started.map(({ pid }) => descendants(pid)));
    expect(trees.flat().some(({ command }) => command.includes("engine-host"))).toBe(true);
    for (const gateway of gateways)
      expect((await descendants(gateway.pid)).filter(({ command }) => command.includes("host"))).toEqual([]);
    const own = await Promise.all(
      [...gateways, ...nodes.values()].map(({ pid }) => readFile(`/proc/${pid}/cmdline`, "utf8")),
    );
    const said = [
      ...own,
      ...trees.flat().map(({ command }) => command),
      ...started.map(({ output }) => output),
    ];
    for (const credential of [SECRET, PASSWORD, ROOT_KEY])
      expect(said.filter((text) => text.includes(credential))).toEqual([]);
  });

  it("do not start half-configured", async () => {
    const refusal = async (args: readonly string[], env = {}): Promise<string> => {
      const served = await ServedSheaf.launch({ args, env });
      onTestFinished(() => served.dispose());
      if (served.process.exitCode === null) await once(served.process, "exit");
      expect(served.process.exitCode).not.toBe(0);
      return served.output;
    };
    const url = ["--database", database.url];
    expect(await refusal(["--role", "gateway"])).toContain("needs --database");
    expect(await refusal(["--role", "gateway", ...url])).toContain("SHEAF_CLUSTER_SECRET");
    expect(await refusal(["--role", "index"])).toContain("needs --database");
    expect(await refusal(["--role", "index", ...url])).toContain("--objects");
    const short = await refusal([...url, "--node-listen", "0"], { SHEAF_CLUSTER_SECRET: "short-secret" });
    expect(short).toContain("32 to 512");
    expect(short).not.toContain("short-secret");
  });
});
