import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "@sheaf/protocol";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import { engineSuite } from "./engine.suite.ts";
import type { Engine } from "./engine.ts";
import type { EngineDatabase } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresDatabase } from "./storage/postgres/postgres-database.ts";
import { PostgresServer } from "./storage/postgres/testing/postgres-server.ts";
import {
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
    await one.deleteCollection({ ...ref, name: "forked" });
    await expect
      .poll(() => two.count(forked, ALL).catch((error: { code: string }) => error.code))
      .toBe("not_found");
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
      await one.deleteCollection({ ...ref, name });
    for (const table of ["log", "log_head", "log_batch"]) await expect.poll(() => rows(table)).toBe(0);
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
    const quotas = { ...NO_QUOTAS, records: 10 };
    const refused = createLocalEngine({ dataFolder: temporaryFolder(), database, quotas });
    await expect(refused).rejects.toMatchObject({ code: "failed_precondition" });
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
