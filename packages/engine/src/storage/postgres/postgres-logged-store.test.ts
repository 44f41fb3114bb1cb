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
