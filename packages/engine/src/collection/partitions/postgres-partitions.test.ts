import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type PackedMessage, packedFormOf } from "@sheaf/process";
import { SheafError, type Where } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { gatewayOf, nodeOf } from "../../cluster/testing/test-nodes.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import { engineChunksSuite } from "../../engine-chunks.suite.ts";
import { engineReadsSuite } from "../../engine-reads.suite.ts";
import { engineRecordsSuite } from "../../engine-records.suite.ts";
import { engineTransactionsSuite } from "../../engine-transactions.suite.ts";
import type { Engine } from "../../engine.ts";
import type { EngineDatabase } from "../../local-engine-options.ts";
import type { SelectedIds } from "../../query/partitioned/partition.ts";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { PostgresCommitLog } from "../../storage/postgres/postgres-commit-log.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { PostgresServer } from "../../storage/postgres/testing/postgres-server.ts";
import { dividing } from "../../testing/dividing.ts";
import {
  AT,
  INCLUDE,
  idsOf,
  listsOf,
  makeCollection,
  readAll,
  record,
  write,
} from "../../testing/engine-fixtures.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

const ALL = { ids: null, where: null };
const GET = { ...ALL, limit: null, offset: 0, include: INCLUDE };
const BATCH = 24;
/** Between the writes of one writer, so that readers have a part of the machine. */
const PAUSE_MS = 10;

const root = mkdtempSync(join(tmpdir(), "sheaf-partitions-"));
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(async () => {
  await server?.close();
  rmSync(root, { recursive: true, force: true });
});

async function open(database: EngineDatabase, dataFolder = temporaryFolder()): Promise<Engine> {
  const engine = await createLocalEngine({ dataFolder, database });
  onTestFinished(() => engine.close());
  return dividing(engine, 3);
}

/** Engines on one database, and a gateway that asks them. */
async function openCluster(count: number) {
  const database = server.settings();
  const engines = await Promise.all(Array.from({ length: count }, () => open(database)));
  const nodes = await Promise.all(engines.map(nodeOf));
  onTestFinished(async () => void (await Promise.all(nodes.map(({ listener }) => listener.close()))));
  const gateway = await gatewayOf(nodes, 1);
  onTestFinished(() => gateway.close());
  return { engines, nodes, gateway };
}

/** An engine whose method is 503 while `isAway` says so. */
function failing(engine: Engine, method: keyof Engine, isAway: () => boolean): Engine {
  return new Proxy(engine, {
    get(target, name): unknown {
      if (name === method && isAway())
        return () => Promise.reject(new SheafError("unavailable", "not now", { retryAfterSeconds: 1 }));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** What of the behaviour of an engine depends on its records. @param open Called once; closed by what it gives. */
function recordsSuite(
  name: string,
  open: () => Promise<OpenedEngine>,
  more: (current: () => Engine) => void,
): void {
  describe(`behaviour of ${name}`, () => {
    let opened: OpenedEngine;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    const current = (): Engine => opened.engine;

    engineRecordsSuite(current, true);
    engineTransactionsSuite(current);
    engineChunksSuite(current);
    more(current);
  });
}

interface OpenedEngine {
  readonly engine: Engine;
  readonly close: () => Promise<void>;
}

recordsSuite(
  "an engine with collections in partitions",
  async () => {
    const database = server.settings();
    const engine = await createLocalEngine({ dataFolder: join(root, "one"), database });
    return { engine: dividing(engine, 3), close: () => engine.close() };
  },
  () => {},
);

recordsSuite(
  "a gateway with collections in partitions",
  async () => {
    const database = server.settings();
    const engine = await createLocalEngine({ dataFolder: join(root, "node"), database });
    const node = await nodeOf(dividing(engine, 3));
    const gateway = await gatewayOf([node]);
    const close = async (): Promise<void> => {
      await gateway.close();
      await node.listener.close();
      await engine.close();
    };
    return { engine: gateway, close };
  },
  engineReadsSuite,
);

describe("collections in partitions", () => {
  it("say so in their schema, and are refused without a database", async () => {
    const engine = await open(server.settings());
    const ref = await makeCollection(engine);
    expect((await engine.getCollection(ref)).schema).toMatchObject({ partitions: 3 });
    const alone = await createLocalEngine({ dataFolder: temporaryFolder() });
    onTestFinished(() => alone.close());
    await expect(makeCollection(dividing(alone, 2))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("schema.partitions: "),
    });
  });

  it("have a log from the beginning, so that no program of before makes it as of a whole collection", async () => {
    const database = server.settings();
    const ref = await makeCollection(await open(database));
    const log = new PostgresCommitLog(new PostgresDatabase(database));
    onTestFinished(() => log.close());
    expect(await log.heads([ref.id])).toEqual([expect.objectContaining({ sequence: 0 })]);
  });

  it("show other servers no half of a batch, whoever writes", async () => {
    const database = server.settings();
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    const fill = (engine: Engine, version: number): Promise<void> =>
      write(
        engine,
        ref,
        "upsert",
        ...Array.from({ length: BATCH }, (_, i) => record(`r${i}`, { document: `version ${version}` })),
      );
    await fill(one, 0);
    const over = new AbortController();
    const writing = [one, two].map(async (engine, writer) => {
      for (let version = 1; !over.signal.aborted; version++) {
        await fill(engine, writer + version * 2);
        await sleep(PAUSE_MS);
      }
    });
    try {
      for (let turn = 0; turn < 8; turn++) {
        for (const engine of [one, two]) {
          const [records = []] = await listsOf(engine, ref, engine.get(ref, GET));
          expect(records).toHaveLength(BATCH);
          expect(new Set(records.map(({ document }) => String(document))).size).toBe(1);
        }
      }
    } finally {
      over.abort();
      await Promise.all(writing);
    }
  });

  it("go on on a server that others have left behind by more than the log has", async () => {
    const database = { ...server.settings(), checkpointAfterBytes: 16 * 1024 };
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    await write(two, ref, "add", record("first"));
    const log = new PostgresCommitLog(new PostgresDatabase(database));
    onTestFinished(() => log.close());
    for (let i = 0; (await log.checkpoint(ref.id)) === null; i++)
      await write(one, ref, "upsert", record("often", { document: `${i} ${"long ".repeat(2_000)}` }));
    await write(two, ref, "add", record("last"));
    expect(await idsOf(one, ref)).toEqual(["first", "often", "last"]);
  });

  it("are whole after a start, forked and removed with all their folders", async () => {
    const [database, dataFolder] = [server.settings(), temporaryFolder()];
    const engine = await createLocalEngine({ dataFolder, database });
    const ref = await makeCollection(dividing(engine, 3), "source");
    await write(engine, ref, "add", ...["a", "b", "c", "d", "e"].map((id) => record(id)));
    expect(await idsOf(engine, ref)).toEqual(["a", "b", "c", "d", "e"]);
    await engine.close();
    const again = await createLocalEngine({ dataFolder, database });
    onTestFinished(() => again.close());
    expect(await idsOf(again, ref)).toEqual(["a", "b", "c", "d", "e"]);
    const fork = { ...AT, id: (await again.forkCollection(ref, "forked")).id };
    await again.delete(ref, { ids: ["b"], where: null, limit: null });
    expect(await idsOf(again, fork)).toEqual(["a", "b", "c", "d", "e"]);
    expect(await idsOf(again, ref)).toEqual(["a", "c", "d", "e"]);
    const folder = new DataFolder(dataFolder);
    expect([...folder.collectionIds()].toSorted()).toEqual([ref.id, fork.id].toSorted());
    await again.deleteCollection({ ...AT, name: "source" });
    await again.deleteCollection({ ...AT, name: "forked" });
    expect([...folder.collectionIds()]).toEqual([]);
    expect((await again.statistics()).openCollections).toBe(0);
  });

  it("are not known as damaged any more once they are dropped", async () => {
    const [database, dataFolder] = [server.settings(), temporaryFolder()];
    const engine = await createLocalEngine({ dataFolder, database });
    const { id } = await makeCollection(dividing(engine, 3), "damaged");
    await engine.close();
    const again = await createLocalEngine({ dataFolder, database, damaged: [`${id}.p2`] });
    onTestFinished(() => again.close());
    expect((await again.statistics()).damagedCollections).toBe(1);
    await again.deleteCollection({ ...AT, name: "damaged" });
    expect((await again.statistics()).damagedCollections).toBe(0);
  });

  it("delete what a filter finds, and no more than asked for, beside writers elsewhere", async () => {
    const { engines, gateway } = await openCluster(2);
    const ref = await makeCollection(engines[0]!);
    const even = (i: number): Map<string, boolean> => new Map([["even", i % 2 === 0]]);
    await write(
      gateway,
      ref,
      "add",
      ...Array.from({ length: 20 }, (_, i) => record(`r${i}`, { metadata: even(i) })),
    );
    const where = { type: "compare", key: "even", operator: "$eq", value: true } as const;
    expect(await gateway.delete(ref, { ids: null, where, limit: 3 })).toBe(3);
    await write(engines[1]!, ref, "add", record("later", { metadata: even(0) }));
    expect(await gateway.delete(ref, { ids: null, where, limit: null })).toBe(8);
    expect(await gateway.delete(ref, { ids: null, where, limit: null })).toBe(0);
    expect((await idsOf(engines[0]!, ref)).every((id) => Number(id.slice(1)) % 2 === 1)).toBe(true);
    expect(await gateway.count(ref, ALL)).toBe(10);
  });
});

describe("partitions on several nodes", () => {
  it("are each read on one of them, and on another one where that has ended", async () => {
    const { nodes, gateway } = await openCluster(3);
    const refs = await Promise.all(Array.from({ length: 12 }, () => makeCollection(gateway)));
    const ids = Array.from({ length: 50 }, (_, i) => `r${i}`);
    for (const ref of refs) await write(gateway, ref, "add", ...ids.map((id) => record(id)));
    for (const ref of refs) expect(await idsOf(gateway, ref)).toEqual(ids);
    const begun = nodes.map(({ calls }) => calls.filter((call) => call === "beginPartition").length);
    // One that is slow to answer is asked of the next node, too.
    expect(begun.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(refs.length * 3);
    for (const count of begun) expect(count).toBeGreaterThan(0);
    // No node was asked for all of a collection.
    for (const { calls } of nodes) expect(calls).not.toContain("get");
    await nodes[0]!.listener.close();
    for (const ref of refs) expect(await idsOf(gateway, ref)).toEqual(ids);
  });

  it("are read on a replica where a node is still opening them", async () => {
    const database = server.settings();
    const engine = await open(database);
    const joined = failing(await open(database), "beginPartition", () => true);
    const nodes = [await nodeOf(joined), await nodeOf(engine)];
    onTestFinished(async () => void (await Promise.all(nodes.map(({ listener }) => listener.close()))));
    const gateway = await gatewayOf(nodes);
    onTestFinished(() => gateway.close());
    const refs = await Promise.all(Array.from({ length: 6 }, () => makeCollection(gateway)));
    for (const ref of refs) await write(gateway, ref, "add", record("a"), record("b"));
    for (const ref of refs) expect(await idsOf(gateway, ref)).toEqual(["a", "b"]);
    expect(nodes[0]!.calls).toContain("beginPartition");
  });

  it("are each asked for its own ids, with a long question in the form that it was encoded in", async () => {
    const engine = await open(server.settings());
    const questions: { readonly ids: SelectedIds; readonly form: PackedMessage | undefined }[] = [];
    const begin: Engine["beginPartition"] = (ref, partition, ...asked) => {
      questions.push({ ids: asked[1], form: packedFormOf(asked[0]) });
      return engine.beginPartition(ref, partition, ...asked);
    };
    const get = (target: Engine, name: string): unknown =>
      name === "beginPartition" ? begin : Reflect.get(target, name);
    const node = await nodeOf(new Proxy(engine, { get }));
    onTestFinished(() => node.listener.close());
    const gateway = await gatewayOf([node]);
    onTestFinished(() => gateway.close());
    const ref = await makeCollection(gateway);
    const known = Array.from({ length: 9 }, (_, i) => `r${i}`);
    await write(gateway, ref, "add", ...known.map((id) => record(id, { metadata: new Map([["k", id]]) })));
    const ids = [...known, ...Array.from({ length: 2_000 }, (_, i) => `${"x".repeat(200)}${i}`)];
    const where: Where = { type: "in", negated: false, key: "k", values: ids };
    expect(await gateway.count(ref, { ids, where })).toBe(9);
    expect(questions.flatMap((each) => each.ids ?? []).sort()).toEqual([...ids].sort());
    expect(questions).toHaveLength(3);
    const [first] = questions;
    expect(first?.form).toBeDefined();
    for (const { form } of questions) expect(form).toEqual(first?.form);
    questions.length = 0;
    expect(await gateway.count(ref, { ids: ["r3"], where: null })).toBe(1);
    expect(questions).toEqual([{ ids: ["r3"], form: undefined }]);
  });

  it("are read on after a call that has failed for a moment", async () => {
    let isAway = false;
    const node = await nodeOf(failing(await open(server.settings()), "getCollection", () => isAway));
    onTestFinished(() => node.listener.close());
    const gateway = await gatewayOf([node]);
    onTestFinished(() => gateway.close());
    const ref = await makeCollection(gateway);
    const ids = Array.from({ length: 24 }, (_, i) => `r${i}`);
    await write(gateway, ref, "add", ...ids.map((id) => record(id, { document: "x".repeat(300_000) })));
    const { lists, cursor } = await gateway.get(ref, GET);
    isAway = true;
    await expect(gateway.nextBatch(ref, cursor!)).rejects.toMatchObject({ code: "unavailable" });
    isAway = false;
    const records = [...lists[0]!];
    for (let at = cursor; at !== null;) {
      const next = await gateway.nextBatch(ref, at);
      records.push(...next.lists[0]!);
      at = next.cursor;
    }
    expect(records.map(({ id }) => id)).toEqual(ids);
  });

  it("stop what is asked of a read when it is closed", async () => {
    const engine = await open(server.settings());
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    const question = { filters: [], lists: [] };
    const { cursor, state } = await engine.beginPartition(ref, 0, question, null);
    const asked = engine.askPartition(ref, { method: "settle", args: [state + 1] }, cursor);
    const stopped = { code: "cancelled" };
    await Promise.all([expect(asked).rejects.toMatchObject(stopped), engine.closeRead(cursor)]);
  });

  it("end a read whose node has ended, and leave nothing open on the others", async () => {
    const { engines, nodes, gateway } = await openCluster(3);
    const ref = await makeCollection(gateway);
    const documents = Array.from({ length: 24 }, (_, i) =>
      record(`r${i}`, { document: "x".repeat(300_000) }),
    );
    await write(gateway, ref, "add", ...documents);
    const { cursor } = await gateway.get(ref, GET);
    expect(cursor).not.toBeNull();
    const openReads = async (): Promise<number> =>
      (await Promise.all(engines.map((engine) => engine.statistics()))).reduce(
        (sum, each) => sum + each.openReads,
        0,
      );
    // One that was begun on two nodes is closed on the slower one.
    await expect.poll(openReads).toBe(3);
    const holder = nodes.find(({ calls }) => calls.includes("askPartition"))!;
    await holder.listener.close();
    const read = async (): Promise<void> => {
      for (let at = cursor; at !== null;) at = (await gateway.nextBatch(ref, at)).cursor;
    };
    await expect(read()).rejects.toMatchObject({ code: "unavailable", status: 503 });
    await expect.poll(openReads).toBe(0);
    expect(await readAll(gateway, ref)).toHaveLength(24);
  });
});
