import { randomUUID } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { IndexJobs } from "../../publication/index-jobs.ts";
import { type LogHead, firstHead } from "../log/commit-log.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase, type PostgresSettings } from "./postgres-database.ts";
import { type IndexJobRules, PostgresIndexJobs } from "./postgres-index-jobs.ts";
import { PostgresNodeTable } from "./postgres-node-table.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

const RULES: IndexJobRules = {
  ...{ claimMs: 60_000, checkpointAfterBytes: 1_000, maxLogBytes: 1e9 },
  ...{ operations: 100, afterMs: 3_600_000, leastRecords: 10, quietMs: 300_000 },
};
const STATE = new Uint8Array(0);

let server: PostgresServer;
let settings: PostgresSettings;
let database: PostgresDatabase;
let log: PostgresCommitLog;

beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());
beforeEach(() => {
  settings = server.settings();
  database = new PostgresDatabase(settings);
  log = new PostgresCommitLog(database);
  return () => database.close();
});

const node = (name: string, rules: Partial<IndexJobRules> = {}): PostgresIndexJobs =>
  new PostgresIndexJobs(database, name, { ...RULES, ...rules });

interface Written {
  readonly operations: number;
  readonly records?: number;
  readonly bytes?: number;
}

/** Appends to the log of a collection, which is made where there is none. */
async function written(
  collection: string,
  { operations, records = operations, bytes = 1 }: Written,
): Promise<LogHead> {
  await log.create(collection, { epoch: "epoch", state: STATE, owner: "tenant" });
  const from = (await log.heads([collection]))[0] ?? firstHead("epoch");
  const parts = [{ partition: 0, body: Buffer.alloc(bytes) }];
  const batch = { id: randomUUID(), sequence: from.sequence + operations, parts };
  const usage = { records, bytes };
  expect(await log.append(collection, from, { batches: [batch], state: STATE, usage })).toBe("done");
  return { epoch: "epoch", sequence: batch.sequence, batch: batch.id };
}

/** As if nothing had been heard of the nodes for two hours. */
async function age(): Promise<void> {
  const { schema } = settings;
  await database.change(
    `update ${schema}.index_job set at = at - interval '2 hours', until = until - interval '2 hours'`,
    [],
  );
  await database.change(`update ${schema}.node set seen = seen - interval '2 hours'`, []);
}

describe("jobs of index nodes in PostgreSQL", () => {
  it("are collections that nobody has looked at for so many operations, the neediest first", async () => {
    await written("few", { operations: 99 });
    await written("small", { operations: 500, records: 9 });
    await written("some", { operations: 150 });
    await written("many", { operations: 300 });
    const [one, two] = [node("one"), node("two")];
    expect(await one.take()).toEqual({ collection: "many", epoch: "epoch", sequence: 300, isQuiet: false });
    const some = await two.take();
    expect(some).toMatchObject({ collection: "some", epoch: "epoch", sequence: 150 });
    // Nothing else has ever been looked at; of fewer operations that counts, too.
    expect(await one.take()).toMatchObject({ collection: "few" });
    expect(await one.take()).toBeNull();
    await two.done(some!);
    await written("some", { operations: 99 });
    expect(await one.take()).toBeNull();
    await written("some", { operations: 1 });
    expect(await one.take()).toMatchObject({ collection: "some", epoch: "epoch", sequence: 250 });
  });

  it("are collections that nobody has looked at for so long, if there is anything new", async () => {
    await written("c", { operations: 150 });
    const one = node("one");
    await one.done((await one.take())!);
    await age();
    expect(await one.take()).toBeNull();
    await written("c", { operations: 1 });
    expect(await one.take()).toMatchObject({ collection: "c", sequence: 151 });
  });

  it("are collections, also small ones, whose logs need a checkpoint", async () => {
    const state = await written("c", { operations: 1, bytes: 999 });
    const one = node("one");
    expect(await one.take()).toBeNull();
    const trimmedTo = await written("c", { operations: 1 });
    await one.done((await one.take())!);
    // As long as it is not trimmed.
    expect(await one.take()).toMatchObject({ collection: "c" });
    await one.done({ collection: "c", ...state });
    expect(await log.trim("c", { ...trimmedTo, place: "c/x", bytes: 5_000 })).toBe("done");
    await written("c", { operations: 1, bytes: 4_999 });
    expect(await one.take()).toBeNull();
    await written("c", { operations: 1 });
    expect(await one.take()).toMatchObject({ collection: "c" });
    // Half of what a log may have is enough, however large the checkpoint.
    await one.done({ collection: "c", ...trimmedTo });
    expect(
      await log.trim("c", { ...(await written("c", { operations: 1 })), place: "c/y", bytes: 1e8 }),
    ).toBe("done");
    await written("c", { operations: 1, bytes: 6_000 });
    expect(await one.take()).toBeNull();
    expect(await node("one", { maxLogBytes: 12_000 }).take()).toMatchObject({ collection: "c" });
  });

  it("are collections that nobody writes any more, whose logs are worth a checkpoint", async () => {
    const aged = `update ${settings.schema}.log_head set at = now() - interval '6 minutes'`;
    await written("c", { operations: 1, bytes: 124 });
    const one = node("one");
    await database.change(aged, []);
    expect(await one.take()).toBeNull();
    const state = await written("c", { operations: 1 });
    expect(await one.take()).toBeNull();
    await database.change(aged, []);
    const job = (await one.take())!;
    expect(job).toMatchObject({ collection: "c", isQuiet: true });
    await one.done(job);
    expect(await log.trim("c", { ...state, place: "c/x", bytes: 16_000 })).toBe("done");
    await written("c", { operations: 1, bytes: 999 });
    await database.change(aged, []);
    expect(await one.take()).toBeNull();
    await written("c", { operations: 1 });
    await database.change(aged, []);
    expect(await one.take()).toMatchObject({ isQuiet: true });
  });

  it("go to one node, also where two find them at once", async () => {
    await written("c", { operations: 100 });
    const nodes = ["one", "two"].map((name) => node(name));
    await nodes[0]!.done((await nodes[0]!.take())!);
    await written("c", { operations: 100 });
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    const taken = await database.transact(async ({ query }) => {
      await query(`select 1 from ${settings.schema}.index_job for update`);
      const taking = nodes.map((each) => each.take());
      await expect.poll(async () => (await database.read(waiting)).length).toBe(nodes.length);
      return { commit: false, value: { taking } };
    });
    const jobs = await Promise.all(taken.taking);
    expect(jobs.filter((job) => job !== null)).toMatchObject([
      { collection: "c", epoch: "epoch", sequence: 200 },
    ]);
  });

  it("stay with a node that gives signs of life, and come back to who is the next where it does not", async () => {
    await written("kept", { operations: 100 });
    await written("lost", { operations: 200 });
    const [one, two] = [node("one"), node("two")];
    const lost = (await one.take())!;
    const kept = (await one.take())!;
    await age();
    await one.keep([kept.collection]);
    expect(await two.take()).toEqual(lost);
    expect(await two.take()).toBeNull();
    // It was paused: what it says of a claim that has passed counts for nothing.
    await one.done(lost);
    await written("lost", { operations: 500 });
    expect(await one.take()).toBeNull();
    await two.failed(lost);
    expect(await one.take()).toBeNull();
    await age();
    expect(await one.take()).toMatchObject({ collection: "lost" });
  });

  it("are given back by a node that starts again or leaves, which forgets collections that are gone", async () => {
    await written("c", { operations: 100 });
    const [one, two] = [node("one"), node("two")];
    const nodes = new PostgresNodeTable(database);
    await one.take();
    await node("one").begin();
    await two.keep([]);
    expect(await nodes.hasIndexNode(60_000)).toBe(true);
    expect(await two.take()).toMatchObject({ collection: "c" });
    await two.leave();
    expect(await nodes.hasIndexNode(60_000)).toBe(false);
    expect(await one.take()).toMatchObject({ collection: "c" });
    await log.drop("c");
    await node("one").begin();
    expect(await database.read(`select * from ${settings.schema}.index_job`)).toEqual([]);
  });

  it("are left alone for a while where the collection is gone", async () => {
    await written("dropped", { operations: 1, bytes: 200 });
    const jobs = node("one", { quietMs: 0 });
    let asked = 0;
    const work = (): Promise<void> => {
      asked++;
      return Promise.reject(new SheafError("not_found", "the collection does not exist"));
    };
    const working = new IndexJobs({ jobs, work, onProblem: (error) => expect.fail(String(error)) });
    await expect.poll(() => jobs.counts.failed).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await working.close();
    expect([asked, jobs.counts]).toEqual([1, { done: 0, failed: 1 }]);
  });
});
