/** Two servers on one database: each sees what the other does, and neither has anything that must not be lost. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { type ServeOptions, ServedSheaf, descendants, temporaryFolder } from "../e2e/testing/served-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const PASSES_AFTER_MS = 30_000;
/** As Prometheus waits by default. */
const SCRAPE_MS = 10_000;

let database: PostgresServer;
let one: ServedSheaf;
let two: ServedSheaf;

const start = (options: ServeOptions = {}): Promise<ServedSheaf> =>
  ServedSheaf.start({
    ...options,
    args: ["--database", `${database.url}?schema=shared`, ...(options.args ?? [])],
    env: { PGPASSWORD: PASSWORD, ...options.env },
  });

beforeAll(async () => {
  database = await PostgresServer.start();
  [one, two] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all([one?.dispose(), two?.dispose()]);
  await database?.close();
});

async function makeCollection(server: ServedSheaf, name: string): Promise<string> {
  const { id } = await server.ask<{ id: string }>(COLLECTIONS, { name });
  return `${COLLECTIONS}/${id}`;
}

function add(server: ServedSheaf, collection: string, ids: readonly string[]): Promise<unknown> {
  const documents = ids.map((id) => `document ${id}`);
  return server.ask(`${collection}/add`, { ids, documents, embeddings: ids.map((_, i) => [1, i]) });
}

async function idsIn(server: ServedSheaf, collection: string): Promise<readonly string[]> {
  return (await server.ask<{ ids: string[] }>(`${collection}/get`, { include: [] })).ids;
}

describe("two servers on one database", () => {
  it("see each other's writes with the next read, and search them", async () => {
    const collection = await makeCollection(one, "seen");
    await add(one, collection, ["a", "b"]);
    expect(await idsIn(two, collection)).toEqual(["a", "b"]);
    await add(two, collection, ["c"]);
    await two.ask(`${collection}/delete`, { ids: ["a"] });
    expect(await idsIn(one, collection)).toEqual(["b", "c"]);
    const query = { query_embeddings: [[1, 0]], n_results: 1, include: ["documents"] };
    expect(await one.ask(`${collection}/query`, query)).toMatchObject({
      ids: [["c"]],
      documents: [["document c"]],
    });
  });

  it("know each other's keys, and end them soon after one has", async () => {
    const { id, key } = await one.ask<{ id: string; key: string }>("/api/v2/keys", {
      ...{ name: "shared", tenant: "default_tenant", scopes: ["read"] },
    });
    const statusOf = async (server: ServedSheaf): Promise<number> => {
      const response = await server.request("/api/v2/auth/identity", { headers: { "x-service-token": key } });
      await response.body?.cancel();
      return response.status;
    };
    await expect.poll(() => statusOf(two)).toBe(200);
    expect((await one.request(`/api/v2/keys/${id}`, { method: "DELETE" })).ok).toBe(true);
    expect(await statusOf(one)).toBe(401);
    await expect.poll(() => statusOf(two), { timeout: PASSES_AFTER_MS }).toBe(401);
  });

  it("know soon that a collection was dropped, or is another one of its name", async () => {
    const collection = await makeCollection(one, "dropped");
    await add(one, collection, ["a"]);
    expect(await idsIn(two, collection)).toEqual(["a"]);
    expect((await two.request(`${COLLECTIONS}/dropped`, { method: "DELETE" })).ok).toBe(true);
    const statusOf = async (server: ServedSheaf): Promise<number> => {
      const response = await server.request(`${collection}/get`, { json: {} });
      await response.body?.cancel();
      return response.status;
    };
    expect(await statusOf(two)).toBe(404);
    await expect.poll(() => statusOf(one), { timeout: PASSES_AFTER_MS }).toBe(404);
    const again = await makeCollection(one, "dropped");
    expect(again).not.toBe(collection);
    expect(await idsIn(two, again)).toEqual([]);
  });

  it("lose nothing that was acknowledged where one is killed, also not with its data folder", async () => {
    const victim = await start();
    const collection = await makeCollection(one, "killed");
    const acknowledged: string[] = [];
    const killing = new AbortController();
    const writer = async (number: number): Promise<void> => {
      for (let i = 0; !killing.signal.aborted; i++) {
        const id = `${number}:${i}`;
        try {
          await add(victim, collection, [id]);
          acknowledged.push(id);
        } catch {
          // It is being killed.
        }
      }
    };
    const writers = [0, 1, 2].map(writer);
    while (acknowledged.length < 20) await sleep(5);
    const exited = once(victim.process, "exit");
    victim.process.kill("SIGKILL");
    killing.abort();
    await exited;
    await Promise.all(writers);
    const left = await idsIn(two, collection);
    expect(left).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(left).size).toBe(left.length);
    await rm(victim.data, { recursive: true, force: true });
    const reborn = await start({ data: victim.data });
    expect(await idsIn(reborn, collection)).toEqual(left);
    await add(reborn, collection, ["after"]);
    expect(await idsIn(one, collection)).toEqual([...left, "after"]);
    await reborn.dispose();
  });

  it("answer 503 while the database is away, and go on where they were", async () => {
    const collection = await makeCollection(one, "away");
    await add(one, collection, ["a"]);
    await database.stop();
    const refused = await one.request(`${collection}/get`, { json: {} });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    await refused.body?.cancel();
    // As long as a collector of metrics waits.
    const scrape = async (): Promise<string> => {
      const init = { signal: AbortSignal.timeout(SCRAPE_MS) };
      return (await one.request("/metrics", init)).text();
    };
    await expect.poll(scrape).toMatch(/^sheaf_database_catalog_age_seconds (?:[1-9]|\d{2})/m);
    await database.resume();
    await expect.poll(() => idsIn(one, collection).catch(() => [])).toEqual(["a"]);
    await add(two, collection, ["b"]);
    expect(await idsIn(one, collection)).toEqual(["a", "b"]);
  });

  it("have the password in no argument and no line of the log", async () => {
    const all = [...(await descendants(one.pid)), ...(await descendants(two.pid))];
    expect(all.some(({ command }) => command.includes("engine-host"))).toBe(true);
    expect(all.filter(({ command }) => command.includes(PASSWORD))).toEqual([]);
    expect(one.output + two.output).not.toContain(PASSWORD);
  });

  it("have the limits of their settings, and measure what they do", async () => {
    const args = ["--database-lock-ms", "1234", "--database-log-bytes", String(2 ** 28)];
    const limited = await start({ args, env: { SHEAF_DATABASE_CONNECTIONS: "5" } });
    const commands = (await descendants(limited.pid)).map(({ command }) => command);
    const host = commands.find((command) => command.includes("engine-host"));
    for (const part of ['"lockMs":1234', '"maxLogBytes":268435456', '"connections":5'])
      expect(host).toContain(part);
    const collection = await makeCollection(limited, "limited");
    await add(limited, collection, ["a"]);
    const metrics = await limited.request("/metrics");
    const text = await metrics.text();
    expect(text).toMatch(/^sheaf_database_appends [1-9]/m);
    expect(text).toMatch(/^sheaf_database_append_seconds 0\.\d/m);
    await limited.dispose();
  });

  it("refuse what does not work with a database yet", async () => {
    const backup = await one.request("/api/v2/backups", { json: { name: "b" } });
    expect(backup.status).toBe(412);
    expect(await backup.text()).toContain("make a backup of that");
    const refusedStart = async (args: readonly string[], env = {}, exitCode = 2): Promise<string> => {
      const served = await ServedSheaf.launch({ args, env, data: await temporaryFolder() });
      if (served.process.exitCode === null) await once(served.process, "exit");
      expect(served.process.exitCode).toBe(exitCode);
      await rm(served.data, { recursive: true, force: true });
      return served.output;
    };
    const url = ["--database", database.url];
    expect(await refusedStart(url, { SHEAF_ROOT_KEY: "" })).toContain("needs a root key");
    expect(await refusedStart([...url, "--data", one.data], { PGPASSWORD: PASSWORD }, 1)).toContain("in use");
    const unset = await refusedStart(url, { SHEAF_LOG_LEVEL: "silent" });
    expect(unset).toMatch(/^sheaf: the database at 127\.0\.0\.1:\d+ asks for a password.*\n$/);
    const wrong = await refusedStart(url, { PGPASSWORD: "other", SHEAF_LOG_LEVEL: "silent" }, 1);
    expect(wrong).toMatch(/^sheaf: the database at 127\.0\.0\.1:\d+ refuses user sheaf: wrong password.*\n$/);
    const secret = await refusedStart(["--database", "postgres://u:hidden-secret@127.0.0.1/d"]);
    expect(secret).toContain("must not have a password");
    expect(secret).not.toContain("hidden-secret");
    const backups = [...url, "--backup-folder", one.data];
    expect(await refusedStart(backups, { PGPASSWORD: PASSWORD })).toContain("does not go with --database");
    const plain = ["--database", "postgres://u@db.example.org/d?sslmode=disable"];
    expect(await refusedStart(plain)).toContain("verify-full");
  });
});
