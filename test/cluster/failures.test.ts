/**
 * What servers on a database must bear, one failure after the other: each row of the table in docs/internals/several-machines.md.
 * `test/torture/cluster` does the same at random, under load.
 */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresPair } from "../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { PASSWORD, urlOf } from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { ServedSheaf, type ServeOptions } from "../e2e/testing/served-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";

let database: PostgresPair;
let one: ServedSheaf;
let two: ServedSheaf;

const start = (options: ServeOptions = {}): Promise<ServedSheaf> =>
  ServedSheaf.start({
    ...options,
    group: true,
    args: ["--database", urlOf(database.ports)],
    env: { PGPASSWORD: PASSWORD },
  });

beforeAll(async () => {
  database = await PostgresPair.start();
  [one, two] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all([one?.dispose(), two?.dispose()]);
  await database?.close();
});

async function makeCollection(name: string): Promise<string> {
  const { id } = await one.ask<{ id: string }>(COLLECTIONS, { name });
  return `${COLLECTIONS}/${id}`;
}

function add(server: ServedSheaf, collection: string, ...ids: readonly string[]): Promise<unknown> {
  return server.ask(`${collection}/add`, { ids, embeddings: ids.map((_, i) => [1, i]) });
}

async function idsIn(server: ServedSheaf, collection: string): Promise<readonly string[]> {
  return (await server.ask<{ ids: string[] }>(`${collection}/get`, { include: [] })).ids;
}

/** What each server says; `null`: it does not answer yet. */
function idsAt(collection: string): Promise<readonly (readonly string[] | null)[]> {
  return Promise.all([one, two].map((server) => idsIn(server, collection).catch(() => null)));
}

const both = (ids: readonly string[]): readonly (readonly string[])[] => [ids, ids];

async function kill(server: ServedSheaf): Promise<void> {
  const exited = once(server.process, "exit");
  process.kill(-server.pid, "SIGKILL");
  await exited;
}

describe("servers on a database", () => {
  it("take a write up elsewhere, whole or not at all, where the server that had it is killed", async () => {
    const collection = await makeCollection("owner");
    await add(two, collection, "before");
    // It waits for the standby when its server is killed.
    database.standby.pause();
    const lost = add(two, collection, "a", "b").catch(() => null);
    const waiting = "select 1 from pg_stat_activity where wait_event = 'SyncRep'";
    await expect.poll(async () => (await database.primary.query(waiting)).length).toBeGreaterThan(0);
    await kill(two);
    await lost;
    database.standby.unpause();
    await expect.poll(async () => (await database.primary.query(waiting)).length).toBe(0);
    const left = await idsIn(one, collection);
    expect([["before"], ["before", "a", "b"]]).toContainEqual(left);
    await add(one, collection, "after");
    two = await start({ data: two.data });
    await expect.poll(() => idsAt(collection)).toEqual(both([...left, "after"]));
  });

  it("plan a write of a server that was paused again, on what others have written", async () => {
    const collection = await makeCollection("paused");
    await add(two, collection, "a");
    process.kill(-two.pid, "SIGSTOP");
    const late = add(two, collection, "late");
    await add(one, collection, "b");
    await one.ask(`${collection}/delete`, { ids: ["a"] });
    process.kill(-two.pid, "SIGCONT");
    await late;
    await expect.poll(() => idsAt(collection)).toEqual(both(["b", "late"]));
  });

  it("read a cache anew where a disk is lost", async () => {
    const collection = await makeCollection("disk");
    await add(two, collection, "a", "b");
    await kill(two);
    await rm(two.data, { recursive: true });
    two = await start({ data: two.data });
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "b"]));
  });

  it("end where their data folder is removed below them, and read it anew", async () => {
    const collection = await makeCollection("removed");
    await add(two, collection, "a");
    const exited = once(two.process, "exit");
    await rm(two.data, { recursive: true });
    await exited;
    expect(two.process.exitCode).toBe(1);
    expect(two.output).toContain(`the data folder ${two.data} was removed`);
    two = await start({ data: two.data });
    await expect.poll(() => idsAt(collection)).toEqual(both(["a"]));
  });

  it("answer 503 without a primary, and write again once a standby was promoted", async () => {
    const collection = await makeCollection("promoted");
    await add(one, collection, "a");
    await database.standby.kill();
    await database.primary.kill();
    const refused = await one.request(`${collection}/add`, { json: { ids: ["b"], embeddings: [[1, 1]] } });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    await refused.body?.cancel();
    await database.standby.resume();
    await database.failOver();
    await add(one, collection, "c");
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "c"]));
    await database.restoreStandby();
    await add(two, collection, "d");
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "c", "d"]));
  });

  it("go on with what a database holds that was set back under them", async () => {
    const collection = await makeCollection("set-back");
    const vectors = { embeddings: [[1, 2, 3]] };
    await add(one, collection, "a", "b");
    // Its log is made once it is used.
    const unused = await makeCollection("unused");
    await database.primary.keep();
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "b"]));
    const other = await makeCollection("later");
    await one.ask(`${other}/add`, { ids: ["x"], ...vectors });
    for (let i = 0; i < 20; i++) await add(i % 2 === 0 ? one : two, collection, `lost ${i}`);
    await add(one, unused, "lost");
    expect(await idsAt(unused)).toEqual(both(["lost"]));
    await database.rollBack();
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "b"]));
    await expect.poll(() => idsAt(unused)).toEqual(both([]));
    await add(two, unused, "new");
    expect(await idsAt(unused)).toEqual(both(["new"]));
    await add(two, collection, "c");
    // Also once servers have told the catalog what they had counted before, and with nothing of it in memory.
    await one.stop();
    one = await start({ data: one.data });
    await expect.poll(() => idsAt(collection)).toEqual(both(["a", "b", "c"]));
    const gone = await one.request(`${other}/get`, { json: {} });
    expect(gone.status).toBe(404);
    await gone.body?.cancel();
  });
});
