import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { batch, commitLogSuite, readAll } from "../log/commit-log.suite.ts";
import { type LogHead, firstHead, headAfter } from "../log/commit-log.ts";
import { addOne, openLogged } from "../log/logged-record-store.suite.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import { APPEND, type Cut, CuttingProxy } from "./testing/cutting-proxy.ts";
import { PostgresServer } from "./testing/postgres-server.ts";
import { waitingFor } from "./testing/waiting-for.ts";

const START = firstHead("epoch");
const STATE = Buffer.from("state");

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

commitLogSuite({
  name: "log in PostgreSQL",
  open: (maxBytes) => new PostgresCommitLog(new PostgresDatabase(server.settings()), maxBytes),
});

describe("an append whose connection is cut", () => {
  it.each<Cut>(["before", "during", "after", "late"])(
    "%s the server commits, is unknown, and in the log once after it was planned again",
    async (cut) => {
      const proxy = await CuttingProxy.start(server.port);
      onTestFinished(() => proxy.close());
      proxy.cutsAt = APPEND;
      const log = new PostgresCommitLog(new PostgresDatabase(server.settings(proxy.port)));
      onTestFinished(() => log.close());
      await log.create("c", { epoch: "epoch", state: STATE });
      const headNow = async (): Promise<LogHead> => (await log.heads(["c"]))[0]!;
      const ids: string[] = [];
      for (let round = 1; round <= 4; round++) {
        let cuts = 0;
        proxy.onCommit = () => (++cuts === 1 ? cut : null);
        const id = randomUUID();
        ids.push(id);
        const head = await headNow();
        expect(await log.append("c", head, { batches: [batch(round, "first", id)], state: STATE })).toBe(
          "unknown",
        );
        // As a writer does: what is not in the log is planned again, under its id.
        for (let isThere = false; !isThere; isThere = (await log.find("c", id)) !== null) {
          const now = await headNow();
          const again = { batches: [batch(now.sequence + 1, "second", id)], state: STATE };
          if ((await log.find("c", id)) === null) await log.append("c", now, again);
        }
        // The late one comes to nothing.
        if (cut === "late") await new Promise((resolve) => setTimeout(resolve, 400));
        expect((await readAll(log, START)).map((one) => one.id)).toEqual(ids);
      }
    },
  );
});

/** An empty log "c" in a schema of its own, and its database for what the log does not tell. */
async function newLog() {
  const settings = server.settings();
  const [log, database] = [
    new PostgresCommitLog(new PostgresDatabase(settings)),
    new PostgresDatabase(settings),
  ];
  onTestFinished(async () => {
    await log.close();
    await database.close();
  });
  await log.create("c", { epoch: "epoch", state: STATE });
  return { settings, log, database };
}

it("keeps the ids of batches for a day after they were trimmed", async () => {
  const { settings, log, database } = await newLog();
  const [old, young] = [batch(1), batch(2)];
  await log.append("c", START, { batches: [old, young], state: STATE });
  await database.change(
    `update ${settings.schema}.log_batch set at = now() - interval '25 hours' where seq = 1`,
    [],
  );
  await log.trim("c", { ...headAfter("epoch", [young]), place: "c/1", bytes: 1 });
  expect(await log.find("c", old.id)).toBeNull();
  expect(await log.find("c", young.id)).toBe(2);
});

it("finds the batch of a state that was trimmed without a look at what else the table has", async () => {
  const { settings, log, database } = await newLog();
  const [old, young] = [batch(1), batch(2)];
  await log.append("c", START, { batches: [old, young], state: STATE });
  await log.trim("c", { ...headAfter("epoch", [young]), place: "c/1", bytes: 1 });
  const table = `${settings.schema}.log_batch`;
  const added = "select 'c', 'batch ' || n, n from generate_series(10, 20000) n";
  await database.change(`insert into ${table} (collection, batch, seq) ${added}`, []);
  await database.change(`analyze ${table}`, []);
  expect(await log.batchAt("c", 1)).toBe(old.id);
  const statement = database.statements.log.batchAt.replaceAll("$1::text", "'c'");
  const plan = await database.read(`explain ${statement.replaceAll("$2::bigint", "1")}`);
  expect(JSON.stringify(plan)).toContain("log_batch_seq");
});

it("stores bodies as they are, for a server that compresses them takes longer than one that writes them", async () => {
  const { settings, log, database } = await newLog();
  await log.append("c", START, { batches: [batch(1, "a text ".repeat(10_000))], state: STATE });
  const [row] = await database.read(
    `select pg_column_size(body) as stored, length(body) as bytes from ${settings.schema}.log`,
  );
  expect(row).toEqual({ stored: 70_000, bytes: 70_000 });
});

it("sweeps logs whose collection is long gone and what a drop has left, and no other", async () => {
  const settings = server.settings();
  const database = new PostgresDatabase(settings);
  const log = new PostgresCommitLog(new PostgresDatabase(settings));
  onTestFinished(async () => {
    await log.close();
    await database.close();
  });
  const [kept, gone, forked, dropped] = Array.from({ length: 4 }, () => randomUUID()) as [
    string,
    string,
    string,
    string,
  ];
  for (const collection of [kept, gone, forked, dropped]) {
    await log.create(collection, { epoch: "epoch", state: STATE });
    await log.append(collection, START, { batches: [batch(1)], state: STATE });
  }
  const change = (text: string, values: readonly unknown[]): Promise<unknown> =>
    database.change(text.replaceAll("$schema", settings.schema), values);
  const old =
    "update $schema.log_head set at = now() - interval '2 hours' where collection = any ($1::text[])";
  await change(old, [[kept, gone]]);
  await change("delete from $schema.log_head where collection = $1::text", [dropped]);
  const asked: string[] = [];
  await log.sweep(async (ids) => {
    asked.push(...ids);
    return ids.filter((id) => id !== kept);
  });
  expect(asked.toSorted()).toEqual([kept, gone].toSorted());
  for (const table of ["log", "log_batch", "log_head"]) {
    const rows = await database.read(`select collection from ${settings.schema}.${table} order by 1`);
    expect(rows.map(({ collection }) => collection)).toEqual([kept, forked].toSorted());
  }
});

it("keeps the bounds of an owner where many append at once, some before they are counted", async () => {
  const settings = server.settings();
  const database = new PostgresDatabase(settings);
  const logs = [settings, settings].map((one) => new PostgresCommitLog(new PostgresDatabase(one)));
  onTestFinished(async () => {
    for (const closed of [...logs, database]) await closed.close();
  });
  const collections = Array.from({ length: 6 }, () => randomUUID());
  for (const collection of collections)
    await logs[0]!.create(collection, { epoch: "epoch", state: STATE, owner: "o" });
  const most = { records: 20, bytes: 0 };
  let isBounded = false;
  let done = 0;
  const write = async (log: PostgresCommitLog, collection: string): Promise<void> => {
    for (let over = 0; over < 3;) {
      const [head] = await log.heads([collection]);
      const quota = { owner: "o", most: isBounded ? most : { records: 0, bytes: 0 } };
      const usage = { records: 1, bytes: 3 };
      const append = { batches: [batch(head!.sequence + 1)], state: STATE, usage, quota };
      const outcome = await log.append(collection, head!, append);
      if (outcome === "done") done += 1;
      if (outcome === "over") over += 1;
      isBounded ||= done >= 5;
    }
  };
  await Promise.all(collections.flatMap((collection) => logs.map((log) => write(log, collection))));
  expect(done).toBe(20);
  expect(await logs[1]!.usageOf("o")).toEqual({ records: 20, bytes: 60 });
  await Promise.all(collections.map((collection) => logs[0]!.drop(collection)));
  expect(await logs[1]!.usageOf("o")).toEqual({ records: 0, bytes: 0 });
  const rows = await database.read(`select records::int, bytes::int from ${settings.schema}.log_owner`);
  expect(rows).toEqual([{ records: 0, bytes: 0 }]);
});

it("counts what was written before anything was, with the next opening", async () => {
  const settings = server.settings();
  const database = new PostgresDatabase(settings);
  const log = new PostgresCommitLog(new PostgresDatabase(settings));
  const store = await openLogged(log);
  await addOne(store, "a");
  await addOne(store, "b");
  await store.close();
  const counted = await log.usageOf("tenant");
  expect(counted).toMatchObject({ records: 2 });
  await database.change(
    `update ${settings.schema}.log_head set owner = null, kept_records = null, kept_bytes = null`,
    [],
  );
  expect(await log.usageOf("tenant")).toEqual({ records: 0, bytes: 0 });
  const again = await openLogged(log);
  onTestFinished(async () => {
    for (const closed of [again, log, database]) await closed.close();
  });
  expect(await log.usageOf("tenant")).toEqual(counted);
});

it("judges appends that come at once one after the other", async () => {
  const settings = server.settings();
  const database = new PostgresDatabase(settings);
  const log = new PostgresCommitLog(new PostgresDatabase(settings));
  onTestFinished(async () => {
    await log.close();
    await database.close();
  });
  const quota = { owner: "o", most: { records: 2, bytes: 0 } };
  const usage = { records: 1, bytes: 1 };
  const append = (collection: string): Promise<string> =>
    log.append(collection, START, { batches: [batch(1)], state: STATE, usage, quota });
  const [first, ...rest] = ["a", "b", "c", "d"] as const;
  for (const collection of [first, ...rest])
    await log.create(collection, { epoch: "epoch", state: STATE, owner: "o" });
  expect([await append(first), await append(first)]).toEqual(["moved", "done"]);
  expect(log.meter).toMatchObject({ appends: 2, moved: 1 });
  let appends: Promise<string[]> = Promise.resolve([]);
  await database.transact(async ({ query }) => {
    await query(database.statements.log.lockOwner, ["o"]);
    appends = Promise.all(rest.map(append));
    await expect.poll(() => waitingFor(database, settings.schema)).toBe(rest.length);
    return { commit: true, value: null };
  });
  expect((await appends).toSorted()).toEqual(["done", "over", "over"]);
  expect(await log.usageOf("o")).toEqual({ records: 2, bytes: 2 });
});
