import { packMessage, unpackMessage } from "@sheaf/process";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseCreateCollection, parseSearchRequest } from "@sheaf/protocol";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { PostgresDatabase } from "../storage/postgres/postgres-database.ts";
import { PostgresServer } from "../storage/postgres/testing/postgres-server.ts";
import { AT, idsOf, listsOf, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { gatewayOf, nodeOf } from "./testing/test-nodes.ts";

const ROOM = { free: 1e11, size: 1e12 };
const ALL = { ids: null, where: null };
const SEARCH = parseSearchRequest({
  searches: [{ rank: { $knn: { query: [1, 2] } }, limit: { limit: 3 } }],
});

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

/** Nodes on one database, each with a disk of its own, and a gateway. */
async function open(count: number) {
  const database = server.settings();
  const free = Array.from({ length: count }, () => ROOM.free);
  const engines = await Promise.all(
    free.map((_, i) =>
      createLocalEngine({
        dataFolder: temporaryFolder(),
        database,
        diskUsage: () => ({ ...ROOM, free: free[i]! }),
      }),
    ),
  );
  onTestFinished(async () => void (await Promise.all(engines.map((engine) => engine.close()))));
  const nodes = await Promise.all(engines.map((engine) => nodeOf(engine)));
  onTestFinished(async () => void (await Promise.all(nodes.map(({ listener }) => listener.close()))));
  const gateway = await gatewayOf(nodes);
  onTestFinished(() => gateway.close());
  return { database, engines, nodes, gateway, free };
}

describe.each([1, 3])("a node whose disk is full, of a collection in %i partitions", (partitions) => {
  it("has others do its reads and writes, and does them itself once there is room", async () => {
    const { engines, nodes, gateway, free } = await open(3);
    const schema = partitions === 1 ? {} : { schema: { partitions, keys: {} } };
    const refs = [];
    for (let i = 0; i < 6; i++) {
      const { id } = await gateway.createCollection(
        parseCreateCollection({ name: `coll-${i}`, ...schema }, AT),
      );
      refs.push({ ...AT, id });
    }
    for (const ref of refs) await write(gateway, ref, "add", record("first"), record("doomed"));
    free[0] = 0;
    // It lacks what others have written, and has no room for that.
    for (const ref of refs) await write(engines[1]!, ref, "add", record("by another"));
    const before = nodes[0]!.calls.length;
    const many = Array.from({ length: 100 }, (_, i) =>
      record(`many ${i}`, { document: "x".repeat(10_000), metadata: new Map([["n", BigInt(i)]]) }),
    );
    for (const ref of refs) {
      expect(await idsOf(gateway, ref)).toHaveLength(3);
      const packed = await unpackMessage(packMessage({ kind: "upsert", records: many }));
      await gateway.write(ref, packed as Parameters<Engine["write"]>[1]);
      const token = await gateway.readToken(ref);
      const operations = [{ kind: "add" as const, records: [record("committed")] }];
      await gateway.commit(ref, { token, readIds: ["first"], operations });
      expect(await gateway.delete(ref, { ids: ["doomed"], where: null, limit: null })).toBe(1);
      const where = { type: "compare", key: "n", operator: "$eq", value: 1n } as const;
      expect(await gateway.delete(ref, { ids: null, where, limit: null })).toBe(1);
      expect(await gateway.count(ref, ALL)).toBe(102);
      expect((await listsOf(gateway, ref, gateway.search(ref, SEARCH)))[0]).toHaveLength(3);
    }
    expect(nodes[0]!.calls.length).toBeGreaterThan(before);
    free[0] = ROOM.free;
    for (const ref of refs) {
      expect(await engines[0]!.count(ref, ALL)).toBe(102);
      expect((await idsOf(gateway, ref)).toSorted()).toEqual((await idsOf(engines[1]!, ref)).toSorted());
    }
  });
});

it("says that the disk is full where that of every node is, and of a full database after one look", async () => {
  const { database, nodes, gateway, engines, free } = await open(2);
  const { id } = await gateway.createCollection(parseCreateCollection({ name: "coll" }, AT));
  const ref = { ...AT, id };
  await write(gateway, ref, "add", record("a"));
  const sql = new PostgresDatabase(database);
  onTestFinished(() => sql.close());
  await sql.change(
    `create function ${database.schema}.refuse() returns trigger language plpgsql as $$ begin
      raise 'No space left on device' using errcode = '53100'; end $$`,
    [],
  );
  await sql.change(
    `create trigger full_disk before insert on ${database.schema}.log for each statement
      execute function ${database.schema}.refuse()`,
    [],
  );
  const writes = (): number => nodes.flatMap(({ calls }) => calls).filter((call) => call === "write").length;
  const before = writes();
  await expect(write(gateway, ref, "add", record("b"))).rejects.toMatchObject({ code: "database_full" });
  expect(writes()).toBe(before + 1);
  await sql.change(`drop trigger full_disk on ${database.schema}.log`, []);
  await write(engines[0]!, ref, "add", record("c"));
  await write(engines[1]!, ref, "add", record("d"));
  [free[0], free[1]] = [0, 0];
  const another = await createLocalEngine({ dataFolder: temporaryFolder(), database });
  onTestFinished(() => another.close());
  await write(another, ref, "add", record("e"));
  await expect(gateway.count(ref, ALL)).rejects.toMatchObject({ code: "storage_full" });
  await expect(write(gateway, ref, "add", record("f"))).rejects.toMatchObject({ code: "storage_full" });
  [free[0], free[1]] = [ROOM.free, ROOM.free];
  expect(await idsOf(gateway, ref)).toEqual(["a", "c", "d", "e"]);
});
