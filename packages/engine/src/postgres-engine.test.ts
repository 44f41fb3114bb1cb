import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "@sheaf/protocol";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import { engineSuite } from "./engine.suite.ts";
import type { Engine } from "./engine.ts";
import type { EngineDatabase } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresDatabase } from "./storage/postgres/postgres-database.ts";
import { CuttingProxy } from "./storage/postgres/testing/cutting-proxy.ts";
import { PostgresServer } from "./storage/postgres/testing/postgres-server.ts";
import { waitingFor } from "./storage/postgres/testing/waiting-for.ts";
import {
  AT,
  INCLUDE,
  idsOf,
  listsOf,
  makeCollection,
  readAll,
  record,
  write,
} from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const ALL = { ids: null, where: null };
/** More than one stretch of indexing takes. */
const BATCH = 3_000;
const READS = 100;

const root = mkdtempSync(join(tmpdir(), "sheaf-database-"));
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(async () => {
  await server?.close();
  rmSync(root, { recursive: true, force: true });
});

engineSuite(
  "engine on a database",
  () => createLocalEngine({ dataFolder: join(root, "cache"), database: server.settings() }),
  { mayOvertake: true },
);

describe("engines on one database", () => {
  const open = async (database: EngineDatabase, dataFolder = temporaryFolder()): Promise<Engine> => {
    const engine = await createLocalEngine({ dataFolder, database });
    onTestFinished(() => engine.close());
    return engine;
  };

  it("see each other's writes, forks and drops at once", async () => {
    const database = server.settings();
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    await write(one, ref, "add", record("a", { document: "one", metadata: new Map([["n", 1n]]) }));
    expect(await idsOf(two, ref)).toEqual(["a"]);
    await write(two, ref, "upsert", record("a", { document: "two" }), record("b"));
    expect((await readAll(one, ref)).map(({ document }) => document)).toEqual(["two", null]);
    const fork = await two.forkCollection(ref, "forked");
    await write(one, ref, "add", record("c"));
    const forked = { ...ref, id: fork.id };
    expect(await idsOf(one, forked)).toEqual(["a", "b"]);
    await write(one, forked, "add", record("d"));
    expect(await idsOf(two, forked)).toEqual(["a", "b", "d"]);
    expect(await idsOf(two, ref)).toEqual(["a", "b", "c"]);
    await one.deleteCollection({ ...AT, name: "forked" });
    await expect
      .poll(() => two.count(forked, ALL).catch((error: { code: string }) => error.code))
      .toBe("not_found");
  });

  it("let no read overtake what another one is still indexing", async () => {
    const database = server.settings();
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    await write(one, ref, "add", record("first"));
    expect(await two.count(ref, ALL)).toBe(1);
    const batch = Array.from({ length: BATCH }, (_, n) =>
      record(`r${n}`, { document: `the document ${n}`, metadata: new Map([["n", BigInt(n)]]) }),
    );
    for (let size = 1, round = 0; round < 2; round++) {
      await write(one, ref, "upsert", ...batch.map((each) => ({ ...each, id: `${round}-${each.id}` })));
      size += BATCH;
      const counts: Promise<number>[] = [];
      // The later ones begin while the first one has the index follow.
      for (let n = 0; n < READS; n++) {
        counts.push(two.count(ref, ALL));
        await sleep(1);
      }
      expect(new Set(await Promise.all(counts))).toEqual(new Set([size]));
    }
  });

  it("go on after a delete of nothing came together with other writes", async () => {
    const engine = await open(server.settings());
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("first"));
    await Promise.all([
      write(engine, ref, "add", record("a")),
      engine.delete(ref, { ids: ["absent"], where: null, limit: null }),
      write(engine, ref, "add", record("b")),
    ]);
    expect(await engine.count(ref, ALL)).toBe(3);
  });

  it("tell what the records of a server taught that ended before it had told it", async () => {
    const database = server.settings();
    const proxy = await CuttingProxy.start(server.port);
    const one = await createLocalEngine({
      dataFolder: temporaryFolder(),
      database: { ...server.settings(proxy.port), schema: database.schema },
    });
    const [two, direct] = [await open(database), new PostgresDatabase(database)];
    onTestFinished(async () => {
      await direct.close();
      await one.close();
      await proxy.close();
    });
    const ref = await makeCollection(one);
    expect(await two.count(ref, ALL)).toBe(0);
    const metadata = new Map([["color", "red"]]);
    let writing: Promise<void> = Promise.resolve();
    await direct.transact(async ({ query }) => {
      await query(direct.statements.catalog.lock, []);
      writing = write(one, ref, "add", record("a", { metadata, embedding: Float32Array.of(1, 2, 3) }));
      writing.catch(() => undefined);
      // Its batch is in the log by then, and it waits with what the catalog is to know.
      await expect.poll(() => waitingFor(direct, `${database.schema}.catalog_version`)).toBeGreaterThan(0);
      proxy.cutAll();
      return { commit: false, value: null };
    });
    expect(await two.count(ref, ALL)).toBe(1);
    const { dimension, schema } = await two.getCollection(ref);
    expect({ dimension, schema }).toMatchObject({ dimension: 3, schema: { keys: { color: {} } } });
    await expect.poll(async () => (await two.getCollection(ref)).logPosition).toBeGreaterThan(0);
    await expect(writing).rejects.toMatchObject({ code: "unavailable" });
  });

  it("follow a changed description: what is asked of it at once, and open collections soon", async () => {
    const database = server.settings();
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    await write(two, ref, "add", record("a", { metadata: new Map([["color", "red"]]) }));
    const red = { type: "compare", key: "color", operator: "$eq", value: "red" } as const;
    const request = { ids: null, where: red, limit: null, offset: 0, include: INCLUDE };
    const found = async (): Promise<unknown> =>
      (await listsOf(two, ref, two.get(ref, request)))[0]?.map(({ id }) => id);
    expect(await found()).toEqual(["a"]);
    const { schema } = await one.getCollection(ref);
    const color = { string: { string_inverted_index: { enabled: false, config: {} } } };
    const keys = { ...(schema["keys"] as JsonObject), color };
    await one.updateCollection(ref, { name: "renamed", schema: { ...schema, keys } });
    expect(await two.getCollection(ref)).toMatchObject({ name: "renamed" });
    await expect.poll(() => found().catch(({ code }: { code: string }) => code)).toBe("invalid_argument");
  });

  it("take from their disks what another has dropped", async () => {
    const database = { ...server.settings(), lookMs: 50 };
    const dataFolder = temporaryFolder();
    const [one, two] = [await open(database), await open(database, dataFolder)];
    const [dropped, kept] = [await makeCollection(one), await makeCollection(one)];
    for (const ref of [dropped, kept]) await write(two, ref, "add", record("a"));
    const ids = (): readonly string[] => [...new DataFolder(dataFolder).collectionIds()];
    expect(ids().toSorted()).toEqual([dropped.id, kept.id].toSorted());
    const { name } = await one.getCollection(dropped);
    await one.deleteCollection({ ...dropped, name });
    await expect.poll(ids).toEqual([kept.id]);
    expect((await two.statistics()).openCollections).toBe(1);
    const fork = { ...kept, id: (await two.forkCollection(kept, "forked")).id };
    expect(await idsOf(two, fork)).toEqual(["a"]);
  });

  it("lose and double nothing where several write at once, and delete by filters", async () => {
    const database = server.settings();
    const engines = [await open(database), await open(database), await open(database)];
    const ref = await makeCollection(engines[0]!);
    const even = { type: "compare", key: "even", operator: "$eq", value: 1n } as const;
    const writes = engines.flatMap((engine, e) =>
      Array.from({ length: 12 }, (_, i) =>
        write(
          engine,
          ref,
          "add",
          record(`${e}:${i}`, { metadata: new Map([["even", BigInt(1 - (i % 2))]]) }),
        ),
      ),
    );
    await Promise.all(writes);
    const measures = await Promise.all(engines.map((engine) => engine.statistics()));
    const total = (name: "databaseAppends" | "databaseAppendSeconds" | "databaseMoved"): number =>
      measures.reduce((sum, measure) => sum + measure[name], 0);
    // Each server has one at least; those that come together share one.
    const appended = total("databaseAppends") - total("databaseMoved");
    expect(appended).toBeGreaterThanOrEqual(engines.length);
    expect(appended).toBeLessThan(36);
    expect(total("databaseAppendSeconds")).toBeGreaterThan(0);
    for (const { databaseLongestLog, databaseCheckpointDueSeconds } of measures) {
      expect(databaseLongestLog).toBeGreaterThan(36 * 8);
      expect(databaseCheckpointDueSeconds).toBe(0);
    }
    const deletes = engines.map((engine) => engine.delete(ref, { ids: null, where: even, limit: 5 }));
    expect(await Promise.all(deletes)).toEqual([5, 5, 5]);
    const left = await idsOf(engines[0]!, ref);
    expect(left).toHaveLength(21);
    for (const engine of engines) expect(await idsOf(engine, ref)).toEqual(left);
  });

  it("let one of several conditional commits on the same state through", async () => {
    const database = server.settings();
    const engines = [await open(database), await open(database)];
    const ref = await makeCollection(engines[0]!);
    await write(engines[0]!, ref, "add", record("counter"));
    const token = await engines[0]!.readToken(ref);
    const outcomes = await Promise.allSettled(
      engines.map((engine, i) =>
        engine.commit(ref, {
          token,
          readIds: ["counter"],
          operations: [{ kind: "upsert", records: [record("counter", { document: String(i) })] }],
        }),
      ),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "conditional_conflict" },
    });
  });

  it("have everything where the data folder is lost, and read the rest where it is an old one", async () => {
    const database = server.settings();
    const dataFolder = temporaryFolder();
    const first = await createLocalEngine({ dataFolder, database });
    const ref = await makeCollection(first);
    for (let i = 0; i < 20; i++) await write(first, ref, "add", record(`r${i}`));
    await first.close();
    const other = await open(database);
    const all = await readAll(other, ref);
    expect(all).toHaveLength(20);
    await write(other, ref, "add", record("late"));
    const again = await open(database, dataFolder);
    expect(await idsOf(again, ref)).toEqual(await idsOf(other, ref));
    expect(await again.getCollection(ref)).toMatchObject({ dimension: 2 });
  });

  it("keep logs small: of what was deleted nothing is left, and who lacks what was trimmed begins again", async () => {
    const settings = server.settings();
    const database = { ...settings, checkpointAfterBytes: 20_000 };
    const sql = new PostgresDatabase(settings);
    onTestFinished(() => sql.close());
    const logHas = async (text: string): Promise<boolean> => {
      const query = `select 1 from ${settings.schema}.log where position($1::bytea in body) > 0`;
      return (await sql.read(query, [Buffer.from(text)])).length > 0;
    };
    const rows = async (table: string): Promise<number> =>
      (await sql.read(`select 1 from ${settings.schema}.${table}`)).length;
    const [one, two] = [await open(database), await open(database)];
    const ref = await makeCollection(one);
    await write(two, ref, "add", record("doomed", { document: "secret-of-doomed" }));
    await one.delete(ref, { ids: ["doomed"], where: null, limit: null });
    expect(await logHas("secret-of-doomed")).toBe(true);
    let written = 0;
    const fill = async (): Promise<void> =>
      write(one, ref, "add", record(`r${written++}`, { document: "x".repeat(2_000) }));
    while (await logHas("secret-of-doomed")) await fill();
    const expected = await idsOf(one, ref);
    expect(expected).toHaveLength(written);
    const third = await open(database);
    for (const engine of [two, third]) expect(await idsOf(engine, ref)).toEqual(expected);
    const fork = { ...ref, id: (await two.forkCollection(ref, "forked")).id };
    await write(third, ref, "add", record("late"));
    await write(one, fork, "add", record("only in the fork"));
    for (const engine of [one, two, third]) {
      expect(await idsOf(engine, ref)).toEqual([...expected, "late"]);
      expect(await idsOf(engine, fork)).toEqual([...expected, "only in the fork"]);
    }
    for (const name of ["forked", (await one.getCollection(ref)).name])
      await one.deleteCollection({ ...AT, name });
    for (const table of ["log", "log_head", "log_batch"]) await expect.poll(() => rows(table)).toBe(0);
  });

  it("keep a quota of records together, through deletes, forks and drops", async () => {
    const options = { database: server.settings(), quotas: { ...NO_QUOTAS, records: 10 } };
    const engines: Engine[] = [];
    for (let i = 0; i < 2; i++)
      engines.push(await createLocalEngine({ dataFolder: temporaryFolder(), ...options }));
    onTestFinished(async () => void (await Promise.all(engines.map((engine) => engine.close()))));
    const [one, two] = engines as [Engine, Engine];
    const refs = [await makeCollection(one), await makeCollection(two)] as const;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 24 }, (_, i) =>
        write(
          engines[i % 2]!,
          refs[(i >> 1) % 2]!,
          "add",
          record(`r${i}`, { metadata: new Map([["n", 1n]]) }),
        ),
      ),
    );
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(14);
    for (const outcome of refused)
      expect(outcome).toMatchObject({
        reason: { code: "unprocessable", message: "Quota exceeded: the limit of this tenant is 10 records" },
      });
    const held = async (): Promise<number> =>
      (await one.count(refs[0], ALL)) + (await two.count(refs[1], ALL));
    expect(await held()).toBe(10);
    const [first] = await readAll(two, refs[0]);
    await write(two, refs[0], "update", record(first!.id, { document: "changed" }));
    await expect(one.forkCollection(refs[0], "too much")).rejects.toMatchObject({ code: "unprocessable" });
    const n = { type: "compare", key: "n", operator: "$eq", value: 1n } as const;
    expect(await two.delete(refs[0], { ids: null, where: n, limit: 1 })).toBe(1);
    await write(one, refs[1], "add", record("in its place", { metadata: new Map([["n", 1n]]) }));
    for (const ref of refs)
      expect(await two.delete(ref, { ids: null, where: n, limit: null })).toBeGreaterThan(0);
    await write(one, refs[0], "add", record("x"));
    const fork = await two.forkCollection(refs[0], "forked");
    await write(one, { ...refs[0], id: fork.id }, "add", record("y"));
    const left = 10 - (await held()) - 2;
    for (let i = 0; i < left; i++) await write(engines[i % 2]!, refs[i % 2]!, "add", record(`z${i}`));
    await expect(write(two, refs[1], "add", record("last"))).rejects.toMatchObject({ code: "unprocessable" });
    await two.deleteCollection({ ...AT, name: "forked" });
    await write(two, refs[1], "add", record("last"), record("one more"));
    await expect(write(one, refs[0], "add", record("late"))).rejects.toMatchObject({ code: "unprocessable" });
  });

  it("keep a quota of bytes together, and give back what was replaced and removed", async () => {
    const options = { database: server.settings(), quotas: { ...NO_QUOTAS, bytes: 20_000 } };
    const engine = await createLocalEngine({ dataFolder: temporaryFolder(), ...options });
    const other = await createLocalEngine({ dataFolder: temporaryFolder(), ...options });
    onTestFinished(async () => void (await Promise.all([engine.close(), other.close()])));
    const ref = await makeCollection(engine);
    const put = (on: Engine, id: string, bytes: number): Promise<void> =>
      write(on, ref, "upsert", record(id, { document: "x".repeat(bytes) }));
    await put(engine, "a", 12_000);
    await expect(put(other, "b", 12_000)).rejects.toMatchObject({ code: "unprocessable" });
    for (let i = 0; i < 5; i++) await put(i % 2 === 0 ? other : engine, "a", 11_000 + i);
    await put(engine, "a", 1_000);
    await put(other, "b", 12_000);
    await expect(put(engine, "c", 9_000)).rejects.toMatchObject({ code: "unprocessable" });
    await other.delete(ref, { ids: ["b"], where: null, limit: null });
    await put(engine, "c", 9_000);
    expect(await idsOf(other, ref)).toEqual(["a", "c"]);
  });

  it("answer 503 while the database is away, and lose nothing of what was acknowledged", async () => {
    const settings = server.settings();
    const database = { ...settings, limits: { ...settings.limits, retryMs: 100, connectMs: 500 } };
    const engine = await open(database);
    const ref = await makeCollection(engine);
    const acknowledged: string[] = [];
    const add = async (id: string): Promise<void> => {
      await write(engine, ref, "add", record(id));
      acknowledged.push(id);
    };
    await add("before");
    const during = Promise.allSettled(Array.from({ length: 20 }, (_, i) => add(`during ${i}`)));
    await server.stop();
    for (const outcome of await during)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "unavailable" });
    await expect(add("away")).rejects.toMatchObject({ code: "unavailable" });
    await expect(idsOf(engine, ref)).rejects.toMatchObject({ code: "unavailable" });
    await server.resume();
    await add("after");
    const found = await idsOf(engine, ref);
    expect(found).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(found).size).toBe(found.length);
    expect(await idsOf(await open(settings), ref)).toEqual(found);
  });

  it("refuse a data folder that is more than a cache, and what they cannot do yet", async () => {
    const dataFolder = temporaryFolder();
    await (await createLocalEngine({ dataFolder })).close();
    const database = server.settings();
    await expect(createLocalEngine({ dataFolder, database })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("can only be a cache"),
    });
    const engine = await open(database);
    const backup = engine.makeBackup({
      target: temporaryFolder(),
      base: null,
      tenant: null,
      keys: false,
    });
    await expect(backup).rejects.toMatchObject({ code: "failed_precondition" });
  });
});
