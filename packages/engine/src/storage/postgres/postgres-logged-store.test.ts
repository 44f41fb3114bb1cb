import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  type LoggedStoreSuite,
  addOne,
  idsIn,
  loggedStoreSuite,
  openLogged,
} from "../log/logged-record-store.suite.ts";
import { partitionViewSuite } from "../log/partition-view.suite.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import { APPEND, type Cut, CuttingProxy } from "./testing/cutting-proxy.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

let server: PostgresServer;
const logs: PostgresCommitLog[] = [];
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(async () => {
  for (const log of logs) await log.close();
  await server?.close();
});

function openLog(maxBytes?: number, settings = server.settings()): PostgresCommitLog {
  const log = new PostgresCommitLog(new PostgresDatabase(settings), maxBytes);
  logs.push(log);
  return log;
}

const onPostgres: LoggedStoreSuite = { name: "log in PostgreSQL", openLog };
loggedStoreSuite(onPostgres);
partitionViewSuite(onPostgres);

describe("a write whose connection is cut", () => {
  it.each<Cut>(["before", "during", "after", "late"])("%s the server commits, is made once", async (cut) => {
    const proxy = await CuttingProxy.start(server.port);
    onTestFinished(() => proxy.close());
    proxy.cutsAt = APPEND;
    const settings = server.settings(proxy.port);
    const one = await openLogged(openLog(undefined, settings));
    const two = await openLogged(openLog(undefined, { ...settings, hosts: server.settings().hosts }));
    onTestFinished(async () => {
      await one.close();
      await two.close();
    });
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      let cuts = 0;
      proxy.onCommit = () => (++cuts === 1 ? cut : null);
      ids.push(`cut ${round}`, `together ${round}`, `with it ${round}`, `whole ${round}`);
      const together = [`cut ${round}`, `together ${round}`, `with it ${round}`];
      await Promise.all(together.map((id) => addOne(one, id)));
      expect(cuts).toBeGreaterThan(0);
      await addOne(two, `whole ${round}`);
    }
    for (const store of [one, two]) {
      await store.refresh();
      expect(idsIn(store)).toEqual(ids);
    }
  });
});

describe("a database without room", () => {
  it.each([
    ["a full disk", "53100", "database_full"],
    ["no memory", "53200", "unavailable"],
    ["no more files", "53000", "unavailable"],
  ])("(%s) refuses a write at once, which is sent once and was not made", async (_, state, code) => {
    const settings = server.settings();
    const lines: unknown[] = [];
    const log = new PostgresCommitLog(new PostgresDatabase(settings, (line) => lines.push(line)));
    logs.push(log);
    const store = await openLogged(log);
    const [database, { schema }] = [new PostgresDatabase(settings), settings];
    onTestFinished(async () => {
      await store.close();
      await database.close();
    });
    await addOne(store, "before");
    // A sequence counts also what is undone.
    const change = (text: string): Promise<unknown> => database.change(text, []);
    await change(`create sequence ${schema}.tries`);
    await change(
      `create function ${schema}.refuse() returns trigger language plpgsql as $$ begin
        perform nextval('${schema}.tries'); raise 'No space left on device' using errcode = '${state}'; end $$`,
    );
    await change(
      `create trigger full_disk before insert on ${schema}.log for each statement execute function ${schema}.refuse()`,
    );
    const refused = { code, message: expect.not.stringContaining("may or may not") };
    for (const id of ["refused", "again"]) await expect(addOne(store, id)).rejects.toMatchObject(refused);
    expect(await database.read(`select last_value from ${schema}.tries`)).toEqual([{ last_value: "2" }]);
    await change(`drop trigger full_disk on ${schema}.log`);
    await addOne(store, "after");
    expect(idsIn(store)).toEqual(["before", "after"]);
    const told = { level: "error", message: expect.stringContaining("the database has no room") };
    expect(lines.filter((line) => (line as typeof told).level === "error")).toMatchObject(
      state === "53100" ? [told] : [],
    );
  });
});
