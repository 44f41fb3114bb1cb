import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sharedCatalogSuite } from "../../catalog/shared-catalog.suite.ts";
import { catalogStoreSuite } from "../catalog/catalog-store.suite.ts";
import type { CatalogStore } from "../catalog/catalog-store.ts";
import { PostgresCatalogStore } from "./postgres-catalog-store.ts";
import { PostgresDatabase, type PostgresSettings } from "./postgres-database.ts";
import { type Cut, CuttingProxy } from "./testing/cutting-proxy.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

function openStore(settings: PostgresSettings): PostgresCatalogStore {
  return new PostgresCatalogStore(new PostgresDatabase(settings));
}

function open(settings: PostgresSettings): PostgresCatalogStore {
  const store = openStore(settings);
  onTestFinished(() => store.close());
  return store;
}

/** Another connection to the same tables, for what a store does not do. */
function openDatabase(settings: PostgresSettings): PostgresDatabase {
  const database = new PostgresDatabase(settings);
  onTestFinished(() => database.close());
  return database;
}

async function openProxy(): Promise<CuttingProxy> {
  const proxy = await CuttingProxy.start(server.port);
  onTestFinished(() => proxy.close());
  return proxy;
}

catalogStoreSuite({ name: "catalog in PostgreSQL", open: () => openStore(server.settings()) });

sharedCatalogSuite({
  name: "database in PostgreSQL",
  open: () => {
    const settings = server.settings();
    return [openStore(settings), openStore(settings)];
  },
});

const KEY = Buffer.from("counter");

/** Adds one if nobody else has meanwhile. */
async function addOne(store: CatalogStore): Promise<"done" | "conflict"> {
  const value = await store.get(KEY);
  const next = Buffer.from(String(Number(value ?? "0") + 1));
  return store.commit({ conditions: [{ key: KEY, value }], clears: [], writes: [{ key: KEY, value: next }] });
}

async function counted(store: CatalogStore): Promise<number> {
  return Number(Buffer.from((await store.get(KEY)) ?? "0").toString());
}

/** Not at once where an answer of the database takes long, as it may on a machine that does other things. */
async function stateOf(store: CatalogStore): Promise<number> {
  for (;;) {
    const state = await store.version();
    if (state !== null) return state;
    await sleep(10);
  }
}

describe("a commit whose connection is cut", () => {
  it.each<Cut>(["before", "during", "after", "late"])("%s the server commits, is made once", async (cut) => {
    const proxy = await openProxy();
    const store = open(server.settings(proxy.port));
    await addOne(store);
    for (let round = 2; round <= 5; round++) {
      let cuts = 0;
      proxy.onCommit = () => (++cuts === 1 ? cut : null);
      expect(await addOne(store)).toBe("done");
      expect(cuts).toBeGreaterThan(1);
      expect(await counted(store)).toBe(round);
    }
  });

  it("counts as done once, also where every other connection is cut and others commit between", async () => {
    const proxy = await openProxy();
    const settings = server.settings(proxy.port);
    const stores = [open(settings), open(settings)];
    const cuts: readonly (Cut | null)[] = ["after", null, "during", null, "before", null];
    let asked = 0;
    proxy.onCommit = () => cuts[asked++ % cuts.length]!;
    const work = stores.map(async (store) => {
      let done = 0;
      while (done < 15) done += Number((await addOne(store)) === "done");
    });
    await Promise.all(work);
    expect(await counted(stores[0]!)).toBe(30);
  });

  it("is not taken for done where the server answers it with a warning, as it does without its standby", async () => {
    const database = openDatabase(server.settings());
    const say = (kind: string): Promise<unknown> =>
      database.change(
        `do $$ begin raise ${kind} 'canceling the wait for synchronous replication'; end $$`,
        [],
      );
    await expect(say("warning")).rejects.toMatchObject({ name: "CommitUnknown" });
    await expect(say("notice")).resolves.toEqual([]);
  });

  it("says that nobody can tell, where the database does not come back", async () => {
    const proxy = await openProxy();
    const settings = server.settings(proxy.port);
    const store = open({ ...settings, limits: { retryMs: 300 } });
    await addOne(store);
    proxy.onCommit = () => {
      proxy.refuses = true;
      return "after";
    };
    await expect(addOne(store)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("may or may not"),
    });
    [proxy.refuses, proxy.onCommit] = [false, () => null];
    expect(await counted(store)).toBe(2);
  });
});

describe("a catalog in PostgreSQL", () => {
  it("goes on after the server has stopped and started", async () => {
    const store = open(server.settings());
    await addOne(store);
    await server.stop();
    const waiting = addOne(store);
    await server.resume();
    expect(await waiting).toBe("done");
    expect(await counted(store)).toBe(2);
  });

  it("answers 503 while the database cannot be reached, also before it was", async () => {
    const proxy = await openProxy();
    const store = open({ ...server.settings(proxy.port), limits: { retryMs: 200 } });
    proxy.refuses = true;
    await expect(store.get(KEY)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await expect(store.version()).rejects.toMatchObject({ code: "unavailable" });
    const change = { conditions: [], clears: [], writes: [{ key: KEY, value: KEY }] };
    await expect(store.commit(change)).rejects.toMatchObject({ code: "unavailable" });
    proxy.refuses = false;
    expect(await store.get(KEY)).toBeNull();
  });

  it("answers 503 where another holds the lock for too long, and has written nothing", async () => {
    const settings = server.settings();
    const store = open({ ...settings, limits: { lockMs: 100 } });
    await addOne(store);
    const other = openDatabase(settings);
    await other.transact(async ({ query }) => {
      await query(other.statements.catalog.lock);
      await expect(addOne(store)).rejects.toMatchObject({ code: "unavailable" });
      return { commit: false, value: null };
    });
    expect(await addOne(store)).toBe("done");
    expect(await counted(store)).toBe(2);
  });

  it("lets a bounded number of callers wait for a connection", async () => {
    const store = open({ ...server.settings(), limits: { connections: 1, waiting: 3 } });
    await store.get(KEY);
    const reads = await Promise.allSettled(Array.from({ length: 10 }, () => store.get(KEY)));
    const refused = reads.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThanOrEqual(6);
    expect(refused.length).toBeLessThan(10);
    expect(refused[0]).toMatchObject({ reason: { code: "unavailable" } });
  });

  it("hears within a second of what another process commits", async () => {
    const settings = server.settings();
    const [store, other] = [open(settings), open(settings)];
    const before = await stateOf(store);
    await addOne(other);
    await expect.poll(() => stateOf(store)).not.toBe(before);
    expect(await counted(store)).toBe(1);
  });

  it("keeps nothing while a commit is under way", async () => {
    const settings = server.settings();
    const store = open({ ...settings, limits: { lockMs: 120_000, statementMs: 120_000 } });
    const before = await stateOf(store);
    const other = openDatabase(settings);
    const commit = await other.transact(async ({ query }) => {
      await query(other.statements.catalog.lock);
      const waiting = store.commit({ conditions: [], clears: [], writes: [{ key: KEY, value: KEY }] });
      await expect.poll(() => store.version()).toBeNull();
      return { commit: false, value: { waiting } };
    });
    expect(await commit.waiting).toBe("done");
    expect(await stateOf(store)).not.toBe(before);
  });

  it("is made once by several processes that start at the same time", async () => {
    const settings = server.settings();
    const stores = Array.from({ length: 6 }, () => open(settings));
    await Promise.all(stores.map((store) => store.get(KEY)));
    const outcomes = await Promise.all(stores.map((store) => addOne(store)));
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(await counted(stores[0]!));
  });

  it("refuses a database that a newer program has changed beyond what this one knows", async () => {
    const settings = server.settings();
    const database = openDatabase(settings);
    await database.transact(async ({ query }) => {
      await query(database.statements.recordMigration, [99, 98]);
      return { commit: true, value: null };
    });
    await expect(open(settings).get(KEY)).rejects.toThrow("newer Sheaf");
  });

  it("forgets batch ids after a day", async () => {
    const settings = server.settings();
    const [store, database] = [open(settings), openDatabase(settings)];
    await addOne(store);
    const batches = `${settings.schema}.catalog_batch`;
    await database.transact(async ({ query }) => {
      await query(`update ${batches} set at = now() - interval '25 hours'`);
      return { commit: true, value: null };
    });
    await addOne(store);
    expect(await database.read(`select batch from ${batches}`)).toHaveLength(1);
  });
});

describe("the settings of a database", () => {
  it("are refused for another machine without encryption, unless an operator says so", () => {
    const away = {
      ...server.settings(),
      hosts: [
        { host: "127.0.0.1", port: 1 },
        { host: "db.example", port: 1 },
      ],
    };
    expect(() => new PostgresDatabase(away)).toThrow(/verify-full/);
    expect(() => new PostgresDatabase({ ...away, tls: {} })).not.toThrow();
    expect(() => new PostgresDatabase({ ...away, allowPlaintext: true })).not.toThrow();
  });

  it("name a schema that can stand in a statement as it is", () => {
    for (const schema of ["", "A", "a;b", 'a"b', "a.b", "1a", "a".repeat(64)])
      expect(() => new PostgresDatabase({ ...server.settings(), schema })).toThrow(RangeError);
  });
});

describe("limits of a database", () => {
  it("reach PostgreSQL, which ends what goes over them", async () => {
    const settings = server.settings();
    const limits = { connections: 2, statementMs: 4_321, lockMs: 123, retryMs: 50, waiting: 1 };
    const [bounded, other] = [
      new PostgresDatabase({ ...settings, limits }),
      new PostgresDatabase({ ...settings, limits: { lockMs: 60_000 } }),
    ];
    onTestFinished(async () => {
      await bounded.close();
      await other.close();
    });
    const shown = async (name: string): Promise<unknown> => (await bounded.read(`show ${name}`))[0]?.[name];
    expect(await shown("statement_timeout")).toBe("4321ms");
    expect(await shown("lock_timeout")).toBe("123ms");
    expect(await shown("idle_in_transaction_session_timeout")).toBe("4321ms");
    const lock = `select 1 from ${settings.schema}.catalog_version for update`;
    await other.transact(async ({ query }) => {
      await query(lock);
      const asked = Array.from({ length: 6 }, () => bounded.read(lock));
      const words: string[] = [];
      for (const outcome of await Promise.allSettled(asked)) {
        expect(outcome).toMatchObject({ reason: { code: "unavailable" } });
        words.push((outcome as { reason: Error }).reason.message);
      }
      expect(words).toContain("too many requests wait for the database");
      expect(words).toContain("the database is too busy");
      return { commit: false, value: null };
    });
    expect(bounded.waits.now).toBe(0);
  });
});
