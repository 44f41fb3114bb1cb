/** The rights that the guide gives to servers, nodes and gateways are enough for them, and not more than it says. */
import { readFile } from "node:fs/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { NodeDirectory } from "../../cluster/node-directory.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import type { Engine } from "../../engine.ts";
import type { EngineLogEntry } from "../../engine-log.ts";
import { AT, idsOf, makeCollection, record, write } from "../../testing/engine-fixtures.ts";
import { EAGER } from "../../publication/testing/object-cluster.ts";
import { INDEX, ROWS, row } from "../../testing/indexed-folder.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import type { ObjectStoreSettings } from "../objects/object-store.ts";
import { ObjectServer } from "../objects/testing/object-server.ts";
import { problemAtStart } from "./connection-problems.ts";
import type { PostgresSettings } from "./postgres-database.ts";
import { PASSWORD, PostgresServer } from "./testing/postgres-server.ts";

const GUIDE = new URL("../../../../../docs/guide/several-machines.md", import.meta.url);
const LOG = (): void => undefined;

let server: PostgresServer;
let objects: ObjectServer;
let roles = "";
let gatewayRights = "";

beforeAll(async () => {
  [server, objects] = await Promise.all([PostgresServer.start(), ObjectServer.start()]);
  const blocks = [...(await readFile(GUIDE, "utf8")).matchAll(/```sql\n(.+?)```/gsu)].map(([, sql]) => sql!);
  [roles, gatewayRights] = [blocks[0]!.replaceAll("…", PASSWORD), blocks[1]!];
  await run(server.settings(), roles);
});
afterAll(() => Promise.all([server?.close(), objects?.close()]));

const as = (user: string): PostgresSettings => ({ ...server.settings(), schema: "sheaf", user });

async function run(settings: PostgresSettings, sql: string): Promise<readonly unknown[]> {
  const [host] = settings.hosts;
  const client = new Client({ ...host, ...settings, ssl: false });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function open(user: string, objects?: ObjectStoreSettings, told: string[] = []): Promise<Engine> {
  const more = { ...(objects && { objects }), log: ({ message }: EngineLogEntry) => void told.push(message) };
  const engine = await createLocalEngine({ dataFolder: temporaryFolder(), database: as(user), ...more });
  onTestFinished(() => engine.close());
  return engine;
}

describe("rights in PostgreSQL", () => {
  it("leave the tables to their owner", async () => {
    await expect(open("sheaf_server")).rejects.toThrow("start one server as their owner");
    const told: string[] = [];
    await open("sheaf_owner", undefined, told);
    // Once, whichever connection was the first.
    expect(told).toEqual([expect.stringMatching(/^made the tables of the database: format \d+$/u)]);
    await run(as("sheaf_owner"), gatewayRights);
  });

  it("are named where a server is started with those of another role", async () => {
    const problem = await open("sheaf_gateway").then(String, problemAtStart);
    expect(problem).toMatchObject({
      code: "failed_precondition",
      message:
        "the user of the database lacks rights that this server needs: permission denied for table catalog; give it those of its role",
    });
    const directory = await NodeDirectory.open(as("sheaf_gateway"), LOG);
    onTestFinished(() => directory.close());
    const node = { url: "127.0.0.1:7000", role: "embed" } as const;
    await expect(directory.register(node)).rejects.toThrow("permission denied for table node; give it those");
  });

  it("are enough for a server", async () => {
    const engine = await open("sheaf_server");
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"), record("b"));
    const fork = { ...ref, ...(await engine.forkCollection(ref, "forked")) };
    await engine.delete(ref, { ids: ["a"], where: null, limit: null });
    expect(await idsOf(engine, ref)).toEqual(["b"]);
    expect(await idsOf(engine, fork)).toEqual(["a", "b"]);
    await engine.deleteCollection({ ...AT, name: "forked" });
    await expect(run(as("sheaf_server"), "drop table sheaf.log")).rejects.toThrow("must be owner");
  });

  it("are enough for a node that embeds, which cannot read what is kept", async () => {
    const directory = await NodeDirectory.open(as("sheaf_embed"), LOG);
    onTestFinished(() => directory.close());
    const node = { url: "127.0.0.1:7000", role: "embed" } as const;
    expect(await directory.cluster()).toMatch(/^[0-9a-f-]{36}$/u);
    await directory.register(node);
    let nodes: readonly unknown[] | null = null;
    await directory.watch((seen) => (nodes = seen));
    expect(nodes).toEqual([node]);
    await directory.leave();
    await expect(run(as("sheaf_embed"), "select * from sheaf.log")).rejects.toThrow("permission denied");
  });

  it("are enough for an index node, which changes neither records nor the catalog", async () => {
    const store = objects.settings();
    const engine = await open("sheaf_server", store);
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(i)));
    const settings = { ...as("sheaf_index"), role: "index", checkpointAfterBytes: 1_000 } as const;
    const problems: unknown[] = [];
    const node = await createLocalEngine({
      ...{
        dataFolder: temporaryFolder(),
        database: settings,
        index: INDEX,
        log: (entry) => problems.push(entry),
      },
      objects: { ...store, publication: EAGER },
    });
    onTestFinished(() => node.close());
    await expect.poll(async () => (await node.statistics()).databaseIndexJobs).toBeGreaterThan(0);
    const rows = await run(
      as("sheaf_index"),
      `select m.seq, h.trimmed_seq from sheaf.manifest m, sheaf.log_head h
      where m.collection = '${ref.id}' and h.collection = '${ref.id}'`,
    );
    expect(rows).toEqual([{ seq: String(ROWS), trimmed_seq: String(ROWS) }]);
    expect(problems).toEqual([]);
    for (const change of [
      "insert into sheaf.catalog values ('', '')",
      "insert into sheaf.log_head select * from sheaf.log_head",
    ])
      await expect(run(as("sheaf_index"), change)).rejects.toThrow("permission denied");
  });

  it("are enough for a gateway, which cannot read what is kept", async () => {
    const told: EngineLogEntry[] = [];
    const directory = await NodeDirectory.open(as("sheaf_gateway"), (entry) => void told.push(entry));
    onTestFinished(() => directory.close());
    let nodes: readonly unknown[] | null = null;
    await directory.watch((seen) => (nodes = seen));
    expect(nodes).toEqual([]);
    expect(await directory.cluster()).toMatch(/^[0-9a-f-]{36}$/u);
    expect(told).toEqual([]);
    // As the guide gave them before.
    await run(as("sheaf_owner"), "revoke select on sheaf.cluster from sheaf_gateway");
    expect(await directory.cluster()).toBe(undefined);
    expect(told).toMatchObject([{ level: "warn", message: expect.stringContaining("table cluster") }]);
    let reports = 0;
    await directory.watchCatalog(() => (reports += 1));
    await expect.poll(() => reports).toBeGreaterThan(0);
    await expect(run(as("sheaf_gateway"), "select * from sheaf.log")).rejects.toThrow("permission denied");
  });
});
