import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packMessage, unpackMessage } from "@sheaf/process";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { engineSuite } from "../engine.suite.ts";
import { createHostedEngine } from "../host/create-hosted-engine.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { gatewayOf, nodeOf } from "./testing/test-nodes.ts";

const suiteFolder = mkdtempSync(join(tmpdir(), "sheaf-cluster-"));
afterAll(() => rmSync(suiteFolder, { recursive: true, force: true }));

engineSuite("engine of a gateway", async () => {
  const engine = await createLocalEngine({ dataFolder: suiteFolder });
  const node = await nodeOf(engine);
  const gateway = await gatewayOf([node]);
  return new Proxy(gateway, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (name !== "close") return typeof value === "function" ? value.bind(target) : value;
      return async () => {
        await target.close();
        await node.listener.close();
        await engine.close();
      };
    },
  });
});

const DOCUMENTS = {
  ...{ ids: null, where: null, whereDocument: null, limit: null, offset: 0 },
  include: { documents: true, embeddings: false, metadatas: false, uris: false },
} as never;

describe("the engine of a gateway", () => {
  const open = async (count: number) => {
    const engine = await createLocalEngine({ dataFolder: temporaryFolder() });
    onTestFinished(() => engine.close());
    const nodes = await Promise.all(Array.from({ length: count }, () => nodeOf(engine)));
    onTestFinished(async () => void (await Promise.all(nodes.map(({ listener }) => listener.close()))));
    const gateway = await gatewayOf(nodes);
    onTestFinished(() => gateway.close());
    return { engine, nodes, gateway };
  };

  it("spreads collections over nodes, and writes each through one of them", async () => {
    const { nodes, gateway } = await open(3);
    for (let i = 0; i < 24; i++) {
      const ref = await makeCollection(gateway);
      await write(gateway, ref, "add", record("a"));
      await write(gateway, ref, "add", record("b"));
    }
    const writes = nodes.map(({ calls }) => calls.filter((call) => call === "write").length);
    expect(writes.reduce((sum, count) => sum + count)).toBe(48);
    for (const count of writes) {
      expect(count).toBeGreaterThan(0);
      expect(count % 2).toBe(0);
    }
  });

  it("has a node delete what had the name, and nothing that was made anew under it while the node was late", async () => {
    const engine = await createLocalEngine({ dataFolder: temporaryFolder() });
    onTestFinished(() => engine.close());
    const meanwhile: (() => Promise<unknown>)[] = [];
    const late =
      <T extends readonly unknown[]>(method: (...args: T) => Promise<void>) =>
      async (...args: T): Promise<void> => {
        await meanwhile.shift()?.();
        return method(...args);
      };
    const slow = new Proxy(engine, {
      get(target, name): unknown {
        if (name === "deleteCollection") return late(target.deleteCollection.bind(target));
        if (name === "deleteDatabase") return late(target.deleteDatabase.bind(target));
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const node = await nodeOf(slow);
    onTestFinished(() => node.listener.close());
    const gateway = await gatewayOf([node]);
    onTestFinished(() => gateway.close());
    const ref = await makeCollection(gateway);
    const { name } = await gateway.getCollection(ref);
    const named = { tenant: ref.tenant, database: ref.database, name };
    const request = { ...named, metadata: null, configuration: {}, schema: {}, getOrCreate: false };
    meanwhile.push(async () => {
      await engine.deleteCollection(named);
      await engine.createCollection(request);
    });
    await expect(gateway.deleteCollection(named)).rejects.toMatchObject({ code: "not_found" });
    const again = await gateway.getCollectionByName(named);
    expect(again.id).not.toBe(ref.id);
    await gateway.deleteCollection(named);
    await expect(gateway.getCollectionByName(named)).rejects.toMatchObject({ code: "not_found" });
    const database = { tenant: ref.tenant, database: "made-anew" };
    await gateway.createDatabase(database);
    meanwhile.push(async () => {
      await engine.deleteDatabase(database);
      await engine.createDatabase(database);
    });
    await expect(gateway.deleteDatabase(database)).rejects.toMatchObject({ code: "not_found" });
    expect(await gateway.getDatabase(database)).toMatchObject({ name: "made-anew" });
  });

  it("reads to the end on a node that leaves", async () => {
    const { engine, nodes, gateway } = await open(1);
    const ref = await makeCollection(gateway);
    const documents = Array.from({ length: 8 }, (_, i) => record(`r${i}`, { document: "x".repeat(400_000) }));
    await write(gateway, ref, "add", ...documents);
    let { cursor, lists } = await gateway.get(ref, DOCUMENTS);
    const ids = lists.flat().map(({ id }) => id);
    let hasLeft = false;
    const left = nodes[0]?.served.leave(60_000).then(() => (hasLeft = true));
    // Its row in the database goes, too.
    gateway.update([]);
    await expect(gateway.count(ref, { where: null } as never)).rejects.toMatchObject({ code: "unavailable" });
    while (cursor !== null) {
      expect(hasLeft).toBe(false);
      ({ cursor, lists } = await gateway.nextBatch(ref, cursor));
      ids.push(...lists.flat().map(({ id }) => id));
    }
    expect(ids).toHaveLength(8);
    await left;
    expect((await engine.statistics()).openReads).toBe(0);
  });

  it("reads on where a node ends, and says of a read on it that it is over", async () => {
    const { engine, nodes, gateway } = await open(2);
    const ref = await makeCollection(gateway);
    const documents = Array.from({ length: 8 }, (_, i) => record(`r${i}`, { document: "x".repeat(400_000) }));
    await write(gateway, ref, "add", ...documents);
    const before = nodes.map(({ calls }) => calls.filter((call) => call === "get").length);
    const { cursor } = await gateway.get(ref, DOCUMENTS);
    expect(cursor).not.toBeNull();
    const holder = nodes.find(
      ({ calls }, i) => calls.filter((call) => call === "get").length > (before[i] ?? 0),
    );
    await holder?.listener.close();
    await expect(gateway.nextBatch(ref, cursor ?? 0)).rejects.toMatchObject({ code: "unavailable" });
    // What the connection had begun has ended with it.
    await expect.poll(async () => (await engine.statistics()).openReads).toBe(0);
    expect(await readAll(gateway, ref)).toHaveLength(8);
    await gateway.closeRead(cursor ?? 0);
  });

  it("has a large write go through a node to its host, whole", async () => {
    const engine = await createHostedEngine({ dataFolder: temporaryFolder() });
    onTestFinished(() => engine.close());
    const node = await nodeOf(engine);
    onTestFinished(() => node.listener.close());
    const gateway = await gatewayOf([node]);
    onTestFinished(() => gateway.close());
    const ref = await makeCollection(gateway);
    const records = Array.from({ length: 300 }, (_, i) => record(`r${i}`, { document: "x".repeat(1_000) }));
    for (const kind of ["add", "upsert"] as const) {
      const packed = await unpackMessage(packMessage({ kind, records }));
      await gateway.write(ref, packed as Parameters<Engine["write"]>[1]);
    }
    const found = await readAll(engine, ref);
    expect(found.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
  });

  it("has no backups, and refuses calls that a node does not know", async () => {
    const { gateway, nodes } = await open(1);
    await expect(gateway.makeBackup()).rejects.toMatchObject({ code: "failed_precondition" });
    expect(await gateway.backupProgress()).toBeNull();
    expect(nodes[0]?.calls).not.toContain("makeBackup");
  });
});
