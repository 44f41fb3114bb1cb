/** The server outlives its log: a full disk below it, and a reader that stops reading. */
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { expect, it } from "vitest";
import { ServedSheaf, type ServeOptions } from "../e2e/testing/served-sheaf.ts";
import { makeSmallDisk } from "./testing/small-disk.ts";

const PATH = "/api/v2/tenants/default_tenant";
/** Each leaves a line of about 250 bytes: more than a pipe and the buffer behind it hold. */
const MANY = 8_000;
const AT_ONCE = 50;
const LOUD = { SHEAF_LOG_LEVEL: "info" };

async function withServer(options: ServeOptions, use: (served: ServedSheaf) => Promise<void>): Promise<void> {
  const served = await ServedSheaf.start({ ...options, env: LOUD });
  try {
    await use(served);
    expect(await served.stop()).toBe(0);
  } finally {
    await served.dispose();
  }
}

/** @returns the statuses there were */
async function get(served: ServedSheaf, times: number): Promise<readonly number[]> {
  const statuses = new Set<number>();
  for (let done = 0; done < times; done += AT_ONCE) {
    const asked = Array.from({ length: AT_ONCE }, async () => {
      const response = await served.request(PATH);
      await response.arrayBuffer();
      statuses.add(response.status);
    });
    await Promise.all(asked);
  }
  return [...statuses];
}

function messages(log: string): { msg: string; lines?: number }[] {
  return log
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { msg: string; lines?: number });
}

it("starts, serves and stops where no line of the log can be written", async () => {
  const full = openSync("/dev/full", "w");
  try {
    await withServer({ stderr: full }, async (served) => {
      expect(await get(served, 200)).toEqual([200]);
    });
  } finally {
    closeSync(full);
  }
});

it("tells of the lines that are missing once its disk has room again", async () => {
  const disk = makeSmallDisk();
  const file = join(disk.folder, "log");
  const log = openSync(file, "w");
  try {
    await withServer({ stderr: log }, async (served) => {
      expect(await get(served, 50)).toEqual([200]);
      disk.fill();
      expect(await get(served, 500)).toEqual([200]);
      disk.free();
      expect(await get(served, 50)).toEqual([200]);
    });
    const gaps = messages(
      readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line === "" || line.endsWith("}"))
        .join("\n"),
    ).filter(({ lines }) => lines !== undefined);
    if (disk.kind === "a small tmpfs") expect(gaps).toHaveLength(1);
    for (const { lines } of gaps) expect(lines).toBeGreaterThan(400);
  } finally {
    closeSync(log);
    rmSync(file, { force: true });
    disk.dispose();
  }
});

it("does not wait for a reader that stops reading, and tells it what it missed", async () => {
  await withServer({ stderr: "unread" }, async (served) => {
    expect(await get(served, MANY)).toEqual([200]);
    let log = "";
    (served.process.stderr as Readable).on("data", (chunk: Buffer) => (log += chunk.toString()));
    await expect
      .poll(async () => {
        expect(await get(served, AT_ONCE)).toEqual([200]);
        return log.includes("lines of the log are missing here");
      })
      .toBe(true);
    const read = messages(log.slice(0, log.lastIndexOf("\n") + 1));
    const missing = read.reduce((sum, { lines = 0 }) => sum + lines, 0);
    expect(missing).toBeGreaterThan(100);
    expect(read.length + missing).toBeGreaterThan(MANY - AT_ONCE);
  });
});

it("goes on after the reader of its log has gone", async () => {
  await withServer({ stderr: "unread" }, async (served) => {
    (served.process.stderr as Readable).destroy();
    expect(await get(served, 200)).toEqual([200]);
  });
});
