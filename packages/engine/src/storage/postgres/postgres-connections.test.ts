/** What operators and callers hear where there is no connection to the database, and when there is one again. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { EngineLogEntry } from "../../engine-log.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { problemAtStart } from "./connection-problems.ts";
import { PostgresDatabase, type PostgresSettings } from "./postgres-database.ts";
import { PostgresNodeTable } from "./postgres-node-table.ts";
import { PASSWORD, PostgresServer } from "./testing/postgres-server.ts";

const CLOSED_PORT = 1;

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

function open(settings: PostgresSettings): { database: PostgresDatabase; log: EngineLogEntry[] } {
  const log: EngineLogEntry[] = [];
  const limits = { ...settings.limits, retryMs: 300 };
  const database = new PostgresDatabase({ ...settings, limits }, (entry) => void log.push(entry));
  onTestFinished(() => database.close());
  return { database, log };
}

describe("a database that cannot be used", () => {
  it.each<[string, (settings: PostgresSettings) => Partial<PostgresSettings>, string, string]>([
    ["a missing password", () => ({ password: undefined }), "invalid_argument", "set PGPASSWORD or"],
    ["a wrong password", () => ({ password: "other" }), "unavailable", "refuses user sheaf: wrong password"],
    ["an unknown database", () => ({ database: "absent" }), "unavailable", '"absent" does not exist'],
    ["a server without TLS", () => ({ tls: {} }), "unavailable", "does not offer TLS"],
    [
      "nothing that listens",
      () => ({ hosts: [{ host: "127.0.0.1", port: CLOSED_PORT }] }),
      "unavailable",
      "cannot be reached: 127.0.0.1:1: connect ECONNREFUSED",
    ],
    [
      "a name that is none",
      () => ({ hosts: [{ host: "absent.invalid", port: CLOSED_PORT }], allowPlaintext: true }),
      "unavailable",
      "absent.invalid:1: getaddrinfo E",
    ],
  ])("is told at the start and in the log once, with host and cause: %s", async (_, change, code, words) => {
    const settings = server.settings();
    const { database, log } = open({ ...settings, ...change(settings) });
    const ask = (): Promise<unknown> => database.read("select 1").catch((error: unknown) => error);
    const refused = await ask();
    expect(refused).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    // Callers of the API need not know where it is.
    expect(String(refused)).not.toMatch(/127\.0\.0\.1|invalid|sheaf:/);
    expect(problemAtStart(refused)).toMatchObject({ code, message: expect.stringContaining(words) });
    await ask();
    expect(log).toMatchObject([{ message: expect.stringContaining(words) }]);
  });

  it("is refused by its name where it is older than what was tried, and nothing is made there", async () => {
    // It says so as an older one does.
    await server.query(
      "create schema older",
      "create function older.current_setting(text) returns text language sql as $$ select '140012' $$",
      `create role older login superuser password '${PASSWORD}'`,
      "alter role older set search_path = older, pg_catalog",
    );
    const settings = { ...server.settings(), user: "older" };
    const opened = createLocalEngine({ dataFolder: temporaryFolder(), database: settings });
    await expect(opened).rejects.toMatchObject({
      code: "failed_precondition",
      message: `the database at 127.0.0.1:${server.port} is PostgreSQL 14.12, and Sheaf needs 15 or later: nothing older was tried`,
    });
    const made = `select 1 from pg_namespace where nspname = '${settings.schema}'`;
    expect(await server.query(made)).toEqual([]);
  });

  it("is told by 503 and an error in the log where the password is another one later", async () => {
    const settings = { ...server.settings(), user: "late" };
    await server.query(
      `create role late login password '${PASSWORD}'`,
      "grant create on database postgres to late",
    );
    const log: EngineLogEntry[] = [];
    const engine = await createLocalEngine({
      ...{ dataFolder: temporaryFolder(), database: settings },
      log: (entry) => void log.push(entry),
    });
    onTestFinished(() => engine.close());
    await engine.createTenant("before");
    await server.query(
      "alter role late password 'another'",
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'late'",
    );
    await expect(engine.createTenant("meanwhile")).rejects.toMatchObject({ code: "unavailable" });
    expect(log).toContainEqual({
      level: "error",
      message: expect.stringContaining("refuses user late: wrong password"),
    });
    await server.query(`alter role late password '${PASSWORD}'`);
    await expect.poll(() => engine.createTenant("after").then(() => true, String)).toBe(true);
    expect(log).toContainEqual({ level: "info", message: "the database can be reached again" });
  });

  it("says of what was sent that nobody can tell whether it was made, where no standby answers", async () => {
    const settings = server.settings();
    const { database } = open({ ...settings, limits: { ...settings.limits, statementMs: 200 } });
    const nodes = new PostgresNodeTable(database);
    await nodes.seen();
    const wait = (names: string): Promise<unknown> =>
      server.query(`alter system set synchronous_standby_names = '${names}'`, "select pg_reload_conf()");
    await wait("*");
    try {
      const node = { url: "127.0.0.1:1", role: "search" } as const;
      await expect
        .poll(() => nodes.register("id", node).then(() => "registered", String))
        .toContain("SheafError: the database was lost; the change may or may not have been made");
    } finally {
      await wait("");
    }
  });
});
