/** Collections in partitions on PostgreSQL that are written by engines which have none of their records. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { ClusterEngine } from "../../cluster/cluster-engine.ts";
import { AskingNodes } from "../../cluster/testing/asking-nodes.ts";
import { type Node, gatewayOf, nodeOf } from "../../cluster/testing/test-nodes.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import { engineChunksSuite } from "../../engine-chunks.suite.ts";
import { engineForksSuite } from "../../engine-forks.suite.ts";
import { engineReadsSuite } from "../../engine-reads.suite.ts";
import { engineRecordsSuite } from "../../engine-records.suite.ts";
import { engineTransactionsSuite } from "../../engine-transactions.suite.ts";
import type { Engine } from "../../engine.ts";
import type { EngineDatabase, LocalEngineOptions } from "../../local-engine-options.ts";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { PostgresCommitLog } from "../../storage/postgres/postgres-commit-log.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { PostgresServer } from "../../storage/postgres/testing/postgres-server.ts";
import type { AskRecords } from "../opening/open-records.ts";
import { dividing } from "../../testing/dividing.ts";
import { AT, idsOf, makeCollection, readAll, record, write } from "../../testing/engine-fixtures.ts";

const ALL = { ids: null, where: null };
const PARTITIONS = 3;

const root = mkdtempSync(join(tmpdir(), "sheaf-asked-"));
let folders = 0;
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(async () => {
  await server?.close();
  rmSync(root, { recursive: true, force: true });
});

interface Cluster {
  readonly engines: readonly Engine[];
  readonly folders: readonly DataFolder[];
  readonly nodes: readonly Node[];
  readonly gateway: ClusterEngine;
  readonly close: () => Promise<void>;
}

/** Engines on one database that ask each other, and a gateway. */
async function openCluster(count: number, database: EngineDatabase = server.settings()): Promise<Cluster> {
  const asking = new AskingNodes();
  const paths = Array.from({ length: count }, () => join(root, String(folders++)));
  const opened = await Promise.all(
    paths.map((dataFolder) => createLocalEngine({ dataFolder, database, askRecords: asking.open().ask })),
  );
  const engines = opened.map((engine) => dividing(engine, PARTITIONS));
  const nodes = await Promise.all(engines.map(nodeOf));
  asking.know(nodes);
  const gateway = await gatewayOf(nodes, 1);
  const close = async (): Promise<void> => {
    await gateway.close();
    await Promise.all(engines.map((engine) => engine.close()));
    await asking.close();
    await Promise.all(nodes.map(({ listener }) => listener.close()));
  };
  return { engines, folders: paths.map((path) => new DataFolder(path)), nodes, gateway, close };
}

async function opened(...asked: Parameters<typeof openCluster>): Promise<Cluster> {
  const cluster = await openCluster(...asked);
  onTestFinished(cluster.close);
  return cluster;
}

interface Alone {
  readonly engine: Engine;
  readonly node: Node;
}

/** An engine that asks itself. @param through What is asked goes through this. */
async function openedAlone(
  options: Partial<LocalEngineOptions>,
  through = (ask: AskRecords): AskRecords => ask,
): Promise<Alone> {
  const asking = new AskingNodes();
  const engine = await createLocalEngine({
    ...{ dataFolder: join(root, String(folders++)), database: server.settings(), ...options },
    askRecords: through(asking.open().ask),
  });
  const node = await nodeOf(engine);
  asking.know([node]);
  onTestFinished(async () => {
    await engine.close();
    await asking.close();
    await node.listener.close();
  });
  return { engine: dividing(engine, PARTITIONS), node };
}

describe("behaviour of a gateway to engines that write collections without their records", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await openCluster(2);
  });
  afterAll(() => cluster?.close());
  const current = (): Engine => cluster.gateway;

  engineRecordsSuite(current, true);
  engineTransactionsSuite(current);
  engineChunksSuite(current);
  engineForksSuite(current);
  engineReadsSuite(current);
});

describe("engines that write collections without their records", () => {
  it("have them nowhere but in partitions, and remove what was there of the whole", async () => {
    const database = server.settings();
    const dataFolder = join(root, String(folders++));
    const before = await createLocalEngine({ dataFolder, database });
    const ref = await makeCollection(dividing(before, PARTITIONS));
    await write(before, ref, "add", record("before"));
    await before.close();
    const folder = new DataFolder(dataFolder);
    expect(existsSync(folder.collection(ref.id))).toBe(true);

    const { engine, node } = await openedAlone({ dataFolder, database });
    const ids = Array.from({ length: 200 }, (_, i) => `r${i}`);
    await write(engine, ref, "add", ...ids.map((id) => record(id)));
    await write(engine, ref, "update", record("before", { embedding: null, document: "changed" }));
    expect(existsSync(folder.collection(ref.id))).toBe(false);
    expect(await idsOf(engine, ref)).toEqual(["before", ...ids]);
    expect(node.calls).toContain("recordsOf");
  });

  it("write the same collection at once, and lose nothing", async () => {
    const { engines, gateway } = await opened(3);
    const ref = await makeCollection(engines[0]!);
    const ROUNDS = 8;
    await Promise.all(
      engines.map(async (engine, writer) => {
        for (let round = 0; round < ROUNDS; round++) {
          const metadata = new Map([[`${writer} ${round}`, round]]);
          const own = record(`own ${writer}`, { document: `${round}` });
          await write(engine, ref, "upsert", record("shared", { metadata }), own);
          if (round % 3 === 2) await engine.delete(ref, { ids: [own.id], where: null, limit: null });
        }
      }),
    );
    const records = await readAll(gateway, ref);
    const shared = records.find(({ id }) => id === "shared");
    expect(shared?.metadata?.size).toBe(engines.length * ROUNDS);
    expect(await gateway.count(ref, ALL)).toBe(1 + engines.length);
  });

  it("delete what a filter finds beside writers elsewhere", async () => {
    const { engines, gateway } = await opened(2);
    const ref = await makeCollection(engines[0]!);
    const even = (i: number): Map<string, boolean> => new Map([["even", i % 2 === 0]]);
    const records = Array.from({ length: 20 }, (_, i) => record(`r${i}`, { metadata: even(i) }));
    await write(gateway, ref, "add", ...records);
    const where = { type: "compare", key: "even", operator: "$eq", value: true } as const;
    expect(await gateway.delete(ref, { ids: null, where, limit: 3 })).toBe(3);
    await write(engines[1]!, ref, "add", record("later", { metadata: even(0) }));
    expect(await engines[0]!.delete(ref, { ids: null, where, limit: 2 })).toBe(2);
    expect(await gateway.delete(ref, { ids: null, where, limit: null })).toBe(6);
    expect(await gateway.delete(ref, { ids: null, where, limit: null })).toBe(0);
    expect(await gateway.count(ref, ALL)).toBe(10);
    expect(await gateway.delete(ref, { ids: ["r1", "absent"], where: null, limit: null })).toBe(1);
  });

  it("answer 503 to writes while nobody answers for a partition, and go on after it", async () => {
    let isAway = false;
    const { engine } = await openedAlone({}, (ask) => (...asked) => {
      const away = new SheafError("unavailable", "away", { retryAfterSeconds: 1 });
      return isAway ? Promise.reject(away) : ask(...asked);
    });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    isAway = true;
    const unavailable = { status: 503, retryAfterSeconds: 1 };
    await expect(write(engine, ref, "add", record("b"))).rejects.toMatchObject(unavailable);
    // What it knows needs nobody.
    await write(engine, ref, "update", record("a", { embedding: null, document: "changed" }));
    isAway = false;
    await write(engine, ref, "add", record("b"));
    expect(await idsOf(engine, ref)).toEqual(["a", "b"]);
  });

  it("go on with another node where one has ended", async () => {
    const { nodes, gateway } = await opened(3);
    const refs = await Promise.all(Array.from({ length: 4 }, () => makeCollection(gateway)));
    const ids = Array.from({ length: 40 }, (_, i) => `r${i}`);
    for (const ref of refs) await write(gateway, ref, "add", ...ids.map((id) => record(id)));
    await nodes[0]!.listener.close();
    for (const ref of refs) {
      const changed = ids.map((id) => record(id, { embedding: null, document: "changed" }));
      // All nodes are in this process: on a busy machine one may be silent for a second, and then counts as dead.
      const again = { timeout: 30_000, interval: 50 };
      await vi.waitFor(() => write(gateway, ref, "update", ...changed), again);
      const records = await vi.waitFor(() => readAll(gateway, ref), again);
      expect(records.map(({ document }) => document)).toEqual(ids.map(() => "changed"));
    }
  });

  it("trim a log that no index node trims, and keep nothing of what that was made of", async () => {
    const database = { ...server.settings(), checkpointAfterBytes: 16 * 1024 };
    const { engines, folders: paths } = await opened(1, database);
    const [engine] = engines;
    const ref = await makeCollection(engine!);
    const log = new PostgresCommitLog(new PostgresDatabase(database));
    onTestFinished(() => log.close());
    await write(engine!, ref, "add", record("first"));
    for (let i = 0; (await log.checkpoint(ref.id)) === null; i++)
      await write(engine!, ref, "upsert", record("often", { document: `${i} ${"long ".repeat(2_000)}` }));
    await write(engine!, ref, "update", record("first", { embedding: null, document: "changed" }));
    expect(existsSync(paths[0]!.collection(ref.id))).toBe(false);
    const trash = join(paths[0]!.path, "trash");
    await expect.poll(() => (existsSync(trash) ? readdirSync(trash) : [])).toEqual([]);
    // The next one is made of the first.
    const before = await log.checkpoint(ref.id);
    for (let i = 0; (await log.checkpoint(ref.id))?.place === before?.place; i++)
      await write(engine!, ref, "upsert", record("often", { document: `${i} ${"long ".repeat(2_000)}` }));
    const joined = await opened(1, database);
    expect(await idsOf(joined.gateway, ref)).toEqual(["first", "often"]);
    await write(joined.gateway, ref, "add", record("last"));
    expect(await idsOf(engine!, ref)).toEqual(["first", "often", "last"]);
  });

  it("fork and drop them, and count what they keep", async () => {
    const { engines, gateway } = await opened(2);
    const ref = await makeCollection(engines[0]!, "asked-source");
    await write(gateway, ref, "add", ...["a", "b", "c", "d"].map((id) => record(id)));
    const { id, dimension } = await gateway.forkCollection(ref, "asked-fork");
    expect(dimension).toBe(2);
    const fork = { ...AT, id };
    await gateway.delete(ref, { ids: ["b"], where: null, limit: null });
    await write(gateway, fork, "update", record("a", { embedding: null, document: "of the fork" }));
    expect(await idsOf(gateway, fork)).toEqual(["a", "b", "c", "d"]);
    expect(await idsOf(gateway, ref)).toEqual(["a", "c", "d"]);
    // The catalog is told of it a moment after the write.
    const held = async (name: string): Promise<number | undefined> => {
      const { items } = await gateway.collectionUsage(AT, { limit: null, offset: 0 });
      return items.find((each) => each.name === name)?.held?.records;
    };
    await expect.poll(() => held("asked-source")).toBe(3);
    for (const name of ["asked-source", "asked-fork"]) await gateway.deleteCollection({ ...AT, name });
    await expect(write(gateway, ref, "add", record("x"))).rejects.toMatchObject({ status: 404 });
  });

  it("refuse what is over a quota, and know how many records there are", async () => {
    const quotas = { databases: 0, collections: 0, keys: 0, records: 5, bytes: 0 };
    const { engine } = await openedAlone({ quotas });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", ...["a", "b", "c", "d"].map((one) => record(one)));
    await expect(write(engine, ref, "add", record("e"), record("f"))).rejects.toMatchObject({ status: 422 });
    await engine.delete(ref, { ids: ["a"], where: null, limit: null });
    await write(engine, ref, "add", record("e"), record("f"));
    expect(await engine.count(ref, ALL)).toBe(5);
  });
});
