import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSettings } from "../config.ts";
import { databaseOf } from "./database-settings.ts";
import { VERSION } from "../version.ts";
import { SettingError } from "./setting-error.ts";

const ROOT = { SHEAF_ROOT_KEY: "sixteen-letters!" };

function databaseFrom(database: string, environment: Record<string, string> = {}) {
  return databaseOf(readSettings({ database }, { ...ROOT, ...environment })).database;
}

function file(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "file");
  writeFileSync(path, text);
  return path;
}

const POSTGRES_LIMITS = {
  ...{ connections: 16, waiting: 1_000 },
  ...{ connectMs: 3_000, statementMs: 10_000, lockMs: 5_000, retryMs: 10_000 },
};

describe("--database", () => {
  it("has limits that an operator sets", () => {
    const names = ["CONNECTIONS", "WAITING", "CONNECT_MS", "STATEMENT_MS", "LOCK_MS", "RETRY_MS"];
    const environment = Object.fromEntries(
      names.map((name, i) => [`SHEAF_DATABASE_${name}`, String(100 + i)]),
    );
    const sizes = { SHEAF_DATABASE_CHECKPOINT_BYTES: "70000", SHEAF_DATABASE_LOG_BYTES: String(2 ** 28) };
    const all = { ...environment, ...sizes, SHEAF_DATABASE_APPEND_ATTEMPTS: "7" };
    expect(databaseFrom("postgres://u@127.0.0.1/d", all)).toMatchObject({
      limits: {
        ...{ connections: 100, waiting: 101 },
        ...{ connectMs: 102, statementMs: 103, lockMs: 104, retryMs: 105 },
      },
      ...{ appendAttempts: 7, checkpointAfterBytes: 70_000, maxLogBytes: 2 ** 28 },
    });
    expect(() => databaseFrom("postgres://u@127.0.0.1/d", { SHEAF_DATABASE_CONNECTIONS: "2" })).toThrow(
      SettingError,
    );
  });

  it("is none by default, whatever is set for other programs", () => {
    const environment = { PGPASSWORD: "p", PGSSLMODE: "prefer", PGUSER: "u", PGSSLROOTCERT: "/none" };
    expect(databaseOf(readSettings({}, environment))).toEqual({});
  });

  it("is a URL, with the rest from PostgreSQL's variables", () => {
    expect(databaseFrom("postgres://sheaf@127.0.0.1:5433/data", { PGPASSWORD: "secret" })).toEqual({
      role: "all",
      ...{ hosts: [{ host: "127.0.0.1", port: 5433 }], database: "data", schema: "sheaf", user: "sheaf" },
      ...{ password: "secret", tls: null },
      limits: POSTGRES_LIMITS,
      ...{ appendAttempts: 64, checkpointAfterBytes: 64 * 2 ** 20, maxLogBytes: 2 ** 30, version: VERSION },
    });
    const found = databaseFrom("postgresql://db.example.org/a%20b?schema=two", { PGUSER: "u" });
    expect(found).toMatchObject({ hosts: [{ host: "db.example.org", port: 5432 }] });
    expect(found).toMatchObject({ database: "a b", user: "u" });
    expect(found).toMatchObject({ schema: "two", tls: {} });
    expect(found).not.toHaveProperty("password");
    expect(databaseFrom("postgres://u@[::1]/d")).toMatchObject({ hosts: [{ host: "::1" }], tls: null });
    expect(databaseFrom("postgres://u@localhost/d?sslmode=verify-full")).toMatchObject({ tls: {} });
  });

  it("has several hosts, of which the one that takes writes is used", () => {
    const url = "postgres://u@a.example.org,[::1]:5433,c.example.org:6000/d";
    const hosts = [
      { host: "a.example.org", port: 5432 },
      { host: "::1", port: 5433 },
      { host: "c.example.org", port: 6000 },
    ];
    for (const text of [url, `${url}?target_session_attrs=read-write`])
      expect(databaseFrom(text)).toMatchObject({ hosts, tls: {} });
    expect(databaseFrom("postgres://u@127.0.0.1:1,localhost:2/d")).toMatchObject({ tls: null });
  });

  it("takes password and authorities from files", () => {
    const environment = { SHEAF_DATABASE_PASSWORD_FILE: file("secret\n"), PGSSLROOTCERT: file("PEM") };
    expect(databaseFrom("postgres://u@db.example.org/d", environment)).toMatchObject({
      password: "secret",
      tls: { ca: "PEM" },
    });
    const twice = { ...environment, PGPASSWORD: "secret" };
    expect(() => databaseFrom("postgres://u@db.example.org/d", twice)).toThrow("are both set");
  });

  it.each([
    ["postgres://u:hidden@127.0.0.1/d", "must not have a password"],
    ["mysql://u@127.0.0.1/d", "must be a URL"],
    ["postgres://u@127.0.0.1", "must be a URL"],
    ["postgres://u@127.0.0.1/d?shcema=x", "parameter shcema"],
    ["postgres://u@127.0.0.1/d?schema=Two", "lower-case"],
    ["postgres://u@127.0.0.1/%zz", "escape"],
    ["postgres://u@127.0.0.1/d?sslmode=require", "must be verify-full"],
    ["postgres://u@db.example.org/d?sslmode=disable", "has to be verify-full"],
    ["postgres://u@127.0.0.1,db.example.org/d?sslmode=disable", "on db.example.org"],
    ["postgres://u@127.0.0.1,/d", "must be a URL"],
    ["postgres://u@127.0.0.1,:1/d", "must be a URL"],
    ["postgres://u@a:1,b:hidden/d", "must be a URL"],
    ["postgres://u@a,b/d?target_session_attrs=any", "can only be read-write"],
    [`postgres://u@${"a,".repeat(8)}b/d`, "at most 8 hosts"],
  ])("refuses %s and shows no password", (text, message) => {
    let thrown: unknown;
    try {
      databaseFrom(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SettingError);
    expect(String(thrown)).toContain(message);
    expect(String(thrown)).not.toContain("hidden");
  });

  it.each(["backupFolder", "archive"])(
    "refuses %s beside it, which would be of this server alone",
    (name) => {
      const environment = { SHEAF_ROOT_KEY: "sixteen-letters!" };
      const flags = { database: "postgres://u@127.0.0.1/d", [name]: "/elsewhere" };
      expect(() => readSettings(flags, environment)).toThrow("does not go with --database");
    },
  );

  it("needs a root key that does not lie in the data folder", () => {
    const database = "postgres://u@127.0.0.1/d";
    expect(() => readSettings({ database }, {})).toThrow("needs a root key");
    expect(readSettings({ database, auth: "off" }, {}).auth).toBe(false);
  });
});
