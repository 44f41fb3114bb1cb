/** A primary with a synchronous standby: what was acknowledged outlives the primary, and nobody names the new one. */
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { addOne, idsIn, openLogged } from "../log/logged-record-store.suite.ts";
import { PostgresCatalogStore } from "./postgres-catalog-store.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase, type PostgresLimits, type PostgresSettings } from "./postgres-database.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

let primary: PostgresServer;
let standby: PostgresServer;
beforeEach(async () => {
  primary = await PostgresServer.start();
  standby = await primary.startStandby();
});
afterEach(async () => {
  await standby?.close();
  await primary?.close();
});

/** With the standby first, so that the primary has to be found. */
function settings(limits: Partial<PostgresLimits> = {}): PostgresSettings {
  const found = primary.settings(standby.port, primary.port);
  return { ...found, limits: { ...found.limits, ...limits } };
}

function openLog(where: PostgresSettings): PostgresCommitLog {
  const log = new PostgresCommitLog(new PostgresDatabase(where));
  onTestFinished(() => log.close());
  return log;
}

async function failOver(): Promise<void> {
  await primary.kill();
  await standby.promote();
}

describe("a database with several hosts", () => {
  it("goes on at the standby that was promoted, with all that was acknowledged", async () => {
    const where = settings();
    const catalog = new PostgresCatalogStore(new PostgresDatabase(where));
    onTestFinished(() => catalog.close());
    const store = await openLogged(openLog(where));
    const acknowledged: string[] = [];
    const [key, stopping] = [Buffer.from("key"), new AbortController()];
    const write = async (name: string): Promise<void> => {
      for (let i = 0; !stopping.signal.aborted; i++) {
        await addOne(store, `${name} ${i}`);
        acknowledged.push(`${name} ${i}`);
      }
    };
    const writers = ["a", "b", "c"].map(write);
    await catalog.commit({ conditions: [], clears: [], writes: [{ key, value: Buffer.from("before") }] });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    await failOver();
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 20);
    stopping.abort();
    await Promise.all(writers);
    await store.refresh();
    expect(idsIn(store).toSorted()).toEqual(acknowledged.toSorted());
    expect((await catalog.get(key))?.toString()).toBe("before");
    const another = await openLogged(openLog(where));
    await another.refresh();
    expect(idsIn(another)).toEqual(idsIn(store));
  });

  it("finds the primary where another host does not answer at all", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => void silent.once("listening", resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const database = new PostgresDatabase(primary.settings(standby.port, port, primary.port));
    onTestFinished(() => database.close());
    expect(await database.read("select pg_is_in_recovery() as is")).toEqual([{ is: false }]);
  });

  it("reads nothing from a standby, and says that it cannot be reached while there is no primary", async () => {
    const database = new PostgresDatabase(settings({ retryMs: 500 }));
    onTestFinished(() => database.close());
    await database.read("select 1");
    await primary.kill();
    await expect(database.read("select 1")).rejects.toMatchObject({ code: "unavailable" });
    await standby.promote();
    await expect.poll(() => database.read("select 1 as one").catch(() => null)).toEqual([{ one: 1 }]);
  });
});

describe("a write that the standby has not confirmed", () => {
  it("is answered with the words that it may have been made", async () => {
    const where = settings({ statementMs: 3_000, lockMs: 1_000 });
    const one = await openLogged(openLog(where));
    await addOne(one, "before");
    standby.pause();
    const message = "the database did not answer in time; the write may or may not have been made";
    const writes = ["a", "b"].map((id) => addOne(one, id));
    for (const write of writes) await expect(write).rejects.toMatchObject({ code: "unavailable", message });
    standby.unpause();
    await expect.poll(() => one.refresh().then(() => idsIn(one))).toEqual(["before", "a", "b"]);
  });

  it("is not acknowledged, also where the log of a primary that was started again has it", async () => {
    const where = settings();
    const [one, two] = [await openLogged(openLog(where)), await openLogged(openLog(where))];
    await addOne(one, "before");
    await standby.kill();
    let outcome: "acknowledged" | "refused" | null = null;
    const added = addOne(one, "unconfirmed").then(
      () => (outcome = "acknowledged"),
      () => (outcome = "refused"),
    );
    const waiting = "select 1 from pg_stat_activity where wait_event = 'SyncRep'";
    await expect.poll(async () => (await primary.query(waiting)).length).toBeGreaterThan(0);
    await primary.kill();
    await primary.resume();
    // It asks whether its write is there, and has to wait for the standby with the answer.
    await expect.poll(async () => outcome ?? (await primary.query(waiting)).length).not.toBe(0);
    await primary.kill();
    await standby.resume();
    await standby.promote();
    await added;
    await two.refresh();
    const left = outcome === "acknowledged" ? ["before", "unconfirmed"] : ["before"];
    expect(idsIn(two)).toEqual(left);
  });
});
