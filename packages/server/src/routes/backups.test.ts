/** Backups over HTTP: who may make them, where they go, and what is said of them. */
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Principal } from "../auth/principal.ts";
import { folderShelf } from "../services/backups/backup-shelf.ts";
import { type Answer, type TestApp, startTestApp } from "../testing/test-app.ts";

const BOUND: Principal = { id: "bound", tenant: "acme", database: null, scopes: new Set(["admin"]) };
const READER: Principal = { id: "reader", tenant: null, database: null, scopes: new Set(["read"]) };
const BACKUPS = "/api/v2/backups";

let folder: string;
let test: TestApp;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-backups-test-"));
});
afterEach(async () => {
  await test.close();
  await rm(folder, { recursive: true, force: true });
});

const start = async (backupFolder: string | null): Promise<void> => {
  const backupShelf = backupFolder === null ? null : folderShelf(backupFolder);
  test = await startTestApp({ backupShelf }, { bound: BOUND, reader: READER });
};
const make = (json: object, key?: string): Promise<Answer> =>
  test.ask(`POST ${BACKUPS}`, { json, ...(key !== undefined && { key }) });
const ended = async (name: string): Promise<unknown> => {
  const state = async (): Promise<unknown> =>
    ((await test.ask(`GET ${BACKUPS}/${name}`)).body as { state: string }).state;
  await expect.poll(state, { timeout: 60_000 }).not.toBe("running");
  return (await test.ask(`GET ${BACKUPS}/${name}`)).body;
};

describe("backups", () => {
  it("are made in the background, listed and measured", async () => {
    await start(folder);
    await test.makeCollection({ name: "kept" });
    expect((await test.ask("GET /metrics")).text).toContain("sheaf_backup_missing 1");
    const { status, body } = await make({ name: "first" });
    expect([status, body]).toMatchObject([
      202,
      { name: "first", state: "running", tenant: null, error: null, collections_total: null },
    ]);
    expect(await make({ name: "meanwhile" })).toMatchObject({ status: 412 });
    expect(await ended("first")).toMatchObject({
      state: "complete",
      collections: 1,
      collections_total: 1,
      damaged: 0,
      incremental: null,
      keys: true,
    });
    expect(await make({ name: "first" })).toMatchObject({ status: 409 });
    expect(await make({ name: "second", incremental: "absent" })).toMatchObject({ status: 404 });
    expect(await make({ name: "second", incremental: "first", keys: false })).toMatchObject({
      status: 202,
    });
    expect(await ended("second")).toMatchObject({ state: "complete", incremental: "first", keys: false });
    const names = ((await test.ask(`GET ${BACKUPS}`)).body as readonly { name: string }[]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(["second", "first"]);
    expect(await test.ask(`DELETE ${BACKUPS}/first`)).toMatchObject({ status: 412 });
    expect(await test.ask(`DELETE ${BACKUPS}/absent`)).toMatchObject({ status: 404 });
    const { text } = await test.ask("GET /metrics");
    expect(text).toMatch(/sheaf_backups_total\{result="complete"\} 2/u);
    expect(text).toMatch(/sheaf_backup_newest_timestamp_seconds [1-9]/u);
    expect(text).toContain("sheaf_backup_missing 0");
    await rm(join(folder, "first"), { recursive: true });
    expect((await test.ask(`GET ${BACKUPS}`)).body).toMatchObject([
      { name: "second", state: "failed", error: expect.stringMatching(/cannot be restored: .*first is no/u) },
    ]);
  });

  it("are refused while the engine is not done with one of which nobody here knows", async () => {
    await start(folder);
    const request = { target: join(folder, "other"), base: null, tenant: null, keys: true };
    const other = test.engine.makeBackup(request);
    expect(await make({ name: "one" })).toMatchObject({ status: 412 });
    await other;
    expect(await make({ name: "two" })).toMatchObject({ status: 202 });
    expect(await ended("two")).toMatchObject({ state: "complete" });
  });

  it("that are cancelled, or fail, say why and are in nobody's way", async () => {
    await start(folder);
    await make({ name: "one" });
    expect(await test.ask(`DELETE ${BACKUPS}/one`)).toMatchObject({ status: 200 });
    expect(await ended("one")).toMatchObject({ state: "failed", error: "it was cancelled" });
    expect(await make({ name: "one", tenant: "absent" })).toMatchObject({ status: 404 });
    await make({ name: "one" });
    expect(await ended("one")).toMatchObject({ state: "complete", error: null });
    await writeFile(join(folder, "one", "backup.json"), "{}");
    expect(await ended("one")).toMatchObject({ state: "failed", error: expect.stringContaining("checksum") });
  });

  it("are for admin keys that are bound to no tenant, and for servers with a folder", async () => {
    await start(null);
    for (const key of ["bound", "reader"]) {
      expect((await make({ name: "a" }, key)).status).toBe(403);
      expect((await test.ask(`GET ${BACKUPS}`, { key })).status).toBe(403);
    }
    const refused = await make({ name: "a" });
    expect(refused).toMatchObject({
      status: 412,
      body: { message: expect.stringContaining("--backup-folder") },
    });
    expect((await test.ask(`GET ${BACKUPS}`)).status).toBe(412);
    expect((await make({ name: "../a" })).status).toBe(400);
  });

  it("lead nowhere else by a link", async () => {
    await start(join(folder, "backups"));
    await mkdir(join(folder, "backups"));
    await mkdir(join(folder, "elsewhere"));
    for (const to of ["../elsewhere", "../absent"]) {
      await symlink(to, join(folder, "backups", "link"));
      const words = { message: expect.stringContaining("leads out of the folder for backups") };
      expect(await make({ name: "link" })).toMatchObject({ status: 412, body: words });
      expect(await make({ name: "one", incremental: "link" })).toMatchObject({ status: 412, body: words });
      await rm(join(folder, "backups", "link"));
    }
    expect(await readdir(join(folder, "elsewhere"))).toEqual([]);
  });
});
