import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { batch, commitLogSuite, readAll } from "../log/commit-log.suite.ts";
import { type LogHead, firstHead, headAfter } from "../log/commit-log.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import { type Cut, CuttingProxy } from "./testing/cutting-proxy.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

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
      proxy.cutsAt = "with moved as";
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

it("keeps the ids of batches for a day after they were trimmed", async () => {
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
  const [old, young] = [batch(1), batch(2)];
  await log.append("c", START, { batches: [old, young], state: STATE });
  await database.change(
    `update ${settings.schema}.log_batch set at = now() - interval '25 hours' where seq = 1`,
    [],
  );
  await log.trim("c", { ...headAfter("epoch", [young]), log: "c/1", bytes: 1 });
  expect(await log.find("c", old.id)).toBeNull();
  expect(await log.find("c", young.id)).toBe(2);
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
