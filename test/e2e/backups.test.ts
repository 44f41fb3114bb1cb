/** `sheaf backup` against a real server: how far it says it is, and what the metrics say of the newest one. */
import { execFile } from "node:child_process";
import { readdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, descendants, temporaryFolder } from "./testing/served-sheaf.ts";
import { COMMAND, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
/** They are copied 64 at a time. */
const COUNT = 400;
const AT_ONCE = 20;
const SCRIPT = fileURLToPath(new URL("../../deploy/backup/sheaf-backup.sh", import.meta.url));
const NEWEST = /^sheaf_backup_newest_timestamp_seconds (\S+)$/mu;

interface BackupReply {
  readonly state: string;
  readonly collections: number;
  readonly collections_total: number | null;
}

let folder: string;
let served: ServedSheaf;
beforeAll(async () => {
  folder = await temporaryFolder();
  served = await serve();
  const make = async (i: number): Promise<void> => {
    const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, { name: `copied-${i}` });
    await served.ask(`${COLLECTIONS}/${id}/add`, { ids: ["a"], embeddings: [[i, 1]] });
  };
  for (let i = 0; i < COUNT; i += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, each) => make(i + each)));
});
afterAll(async () => {
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

function serve(): Promise<ServedSheaf> {
  return ServedSheaf.start({
    data: join(folder, "data"),
    args: ["--backup-folder", join(folder, "backups")],
  });
}

/** Seconds since 1970; 0: there is none. */
async function newest(): Promise<number> {
  const text = await (await served.request("/metrics")).text();
  return Number(NEWEST.exec(text)?.[1]);
}

describe("sheaf backup", () => {
  it("says how many collections of all are copied, in the route and in the command", async () => {
    const made = sheafAt(served.url, ["backup", "watched"]);
    const status = async (): Promise<BackupReply | null> => {
      const reply = await served.request("/api/v2/backups/watched");
      return reply.ok ? ((await reply.json()) as BackupReply) : null;
    };
    const find = async () =>
      (await descendants(served.pid)).find(({ command }) => command.includes("backup-process"));
    let copier = await find();
    for (const until = Date.now() + 20_000; copier === undefined && Date.now() < until;)
      copier = await find();
    let seen = await status();
    while (seen === null || (seen.state === "running" && seen.collections === 0)) seen = await status();
    expect(copier, JSON.stringify(seen)).toBeDefined();
    process.kill(copier!.pid, "SIGSTOP");
    try {
      const held = await status();
      expect(held).toMatchObject({ state: "running", collections_total: COUNT });
      expect(held!.collections).toBeGreaterThan(0);
      expect(held!.collections).toBeLessThan(COUNT);
      // A line every five seconds.
      await new Promise((resolve) => setTimeout(resolve, 6_000));
    } finally {
      process.kill(copier!.pid, "SIGCONT");
    }
    const { code, output } = await made;
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(
        new RegExp(`^watched: [1-9]\\d* of ${COUNT} collections, \\d+ KiB so far$`, "mu"),
      ),
    });
    expect(await status()).toMatchObject({
      state: "complete",
      collections: COUNT,
      collections_total: COUNT,
    });
  });

  it("makes the newest one new in the metrics, where all of the server is in it", async () => {
    const before = await newest();
    expect(before).toBeGreaterThan(0);
    const backUp = (...args: readonly string[]): Promise<unknown> =>
      sheafAt(served.url, ["backup", ...args]).then(({ code }) => code);
    expect(await backUp("some", "--tenant", "default_tenant")).toBe(0);
    expect(await backUp("none", "--tenant", "absent")).toBe(1);
    // So its age rises meanwhile.
    expect(await newest()).toBe(before);
    const began = Date.now() / 1_000;
    expect(await backUp("all")).toBe(0);
    const now = await newest();
    expect(now).toBeGreaterThanOrEqual(began);
    await served.stop();
    served = await serve();
    await expect.poll(newest).toBe(now);
  });
});

describe("the script for backups", () => {
  const backups = (): string => join(folder, "backups");
  const run = (...args: readonly string[]): Promise<{ readonly stderr: string }> => {
    const ours = { SHEAF: COMMAND, SHEAF_URL: served.url, SHEAF_KEY: ROOT_KEY };
    const env = { ...process.env, ...ours, SHEAF_BACKUP_FOLDER: backups(), SHEAF_ARCHIVE: "" };
    return promisify(execFile)("sh", [SCRIPT, ...args], { env });
  };
  const made = async (): Promise<string[]> =>
    (await readdir(backups())).filter((name) => /^(?:night|hour)-/u.test(name)).toSorted();

  it("removes what is older than the newest night that is old enough, and no night that is needed", async () => {
    await run("night");
    await run("hour");
    const first = await made();
    expect(first).toHaveLength(2);
    await run("night");
    const all = await made();
    expect(all).toHaveLength(3);
    await run("prune", "1");
    expect(await made()).toEqual(all);
    await run("prune", "0");
    expect(await made()).toEqual(all.filter((name) => !first.includes(name)));
    await expect(run("prune", "1; exit")).rejects.toMatchObject({ code: 2 });
  });

  it("says of the newest one that it is damaged", async () => {
    await run("check");
    const [newest = ""] = (await made()).filter((name) => name.startsWith("night-")).toReversed();
    await truncate(join(backups(), newest, "collections.jsonl"), 10);
    await expect(run("check")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/collections\.jsonl: has 10 bytes.*DAMAGED/su),
    });
  });
});
