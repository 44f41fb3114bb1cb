import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, cpSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { acquireDataLock, registerHost, runningServer } from "./data-lock.ts";
import { type ProcessIdentity, currentProcess, isRunning } from "./process-identity.ts";

/** Long past, so that no running process can have it. */
const ENDED: ProcessIdentity = { pid: 1, started: "long ago" };

function lockPath(): string {
  return join(temporaryFolder(), "data", "lock.json");
}

/** A process that does nothing and can be mistaken for a hanging host. */
async function idleProcess(): Promise<{ readonly child: ChildProcess; readonly identity: ProcessIdentity }> {
  const script = "process.on('SIGTERM', () => {}); process.stdout.write('up'); setInterval(() => {}, 1000);";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return { child, identity: { pid: child.pid as number, started: startOf(child.pid as number) } };
}

/** As the lock itself reads it: a second witness. */
function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return `${boot}:${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
}

function writeLock(path: string, holder: object): void {
  writeFileSync(path, JSON.stringify({ token: "old", ...holder }));
}

describe("data lock", () => {
  it("is held until it is released", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    await expect(acquireDataLock(path)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(`is in use by another Sheaf server: process ${process.pid}`),
    });
    expect(runningServer(path)).toBe(`process ${process.pid}`);
    lock.release();
    expect(runningServer(path)).toBeNull();
    (await acquireDataLock(path)).release();
  });

  it("says whether its file is where it was", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    onTestFinished(() => lock.release());
    expect(lock.isInPlace()).toBe(true);
    renameSync(dirname(path), `${dirname(path)}-moved`);
    expect(lock.isInPlace()).toBe(false);
    // Another file of that name.
    const next = await acquireDataLock(path);
    onTestFinished(() => next.release());
    expect(lock.isInPlace()).toBe(false);
    expect(next.isInPlace()).toBe(true);
  });

  it("is not to be had by removing its file while a process has the catalog open", async () => {
    const path = lockPath();
    const catalog = join(dirname(path), "catalog");
    mkdirSync(catalog, { recursive: true });
    const lmdb = createRequire(import.meta.url).resolve("lmdb");
    const script = `require(${JSON.stringify(lmdb)}).open({ path: ${JSON.stringify(catalog)}, noSubdir: false }).put("a", 1)
      .then(() => console.log("up")); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    await expect(acquireDataLock(path, 50)).rejects.toThrow("has its catalog open");
    child.kill("SIGKILL");
    await once(child, "exit");
    (await acquireDataLock(path)).release();
  });

  it("names the engine host too", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    registerHost(path, lock.token);
    await expect(acquireDataLock(path)).rejects.toThrow(`process ${process.pid}, engine host ${process.pid}`);
    lock.release();
  });

  it("lets no host register for a gateway that lost the folder", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    expect(() => registerHost(path, "another")).toThrow("no longer held");
    lock.release();
    expect(() => registerHost(path, lock.token)).toThrow("no longer held");
  });

  it("is taken over from a gateway that died", async () => {
    const path = lockPath();
    (await acquireDataLock(path)).release();
    writeLock(path, { gateway: { ...currentProcess(), started: "before this one" }, host: ENDED });
    const lock = await acquireDataLock(path);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: lock.token, host: null });
    expect(readdirSync(join(path, ".."))).toEqual(["lock.json"]);
    lock.release();
  });

  it("waits for a dead gateway's host, then ends it", async () => {
    const path = lockPath();
    (await acquireDataLock(path)).release();
    const { child, identity } = await idleProcess();
    const exited = once(child, "exit");
    writeLock(path, { gateway: ENDED, host: identity });
    const lock = await acquireDataLock(path, 100);
    expect(await exited).toEqual([null, "SIGKILL"]);
    lock.release();
  });

  it("never ends a process that only has the host's old id", async () => {
    const path = lockPath();
    (await acquireDataLock(path)).release();
    const { child, identity } = await idleProcess();
    writeLock(path, { gateway: ENDED, host: { ...identity, started: "long ago" } });
    (await acquireDataLock(path, 100)).release();
    expect(child.exitCode ?? child.signalCode).toBeNull();
    expect(isRunning(identity)).toBe(true);
  });

  it("goes to one of several that find it dead", async () => {
    const path = lockPath();
    (await acquireDataLock(path)).release();
    writeLock(path, { gateway: ENDED, host: null });
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => acquireDataLock(path)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("is held by whoever keeps the file open, whatever its content says", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    // As a server in another container, whose process ids mean nothing here.
    writeLock(path, { gateway: ENDED, host: null, kernel: true });
    await expect(acquireDataLock(path, 50)).rejects.toThrow("in use by another Sheaf server");
    expect(runningServer(path)).toMatch(/^process 1 \(of another container/u);
    lock.release();
    writeFileSync(path, "what a crash left");
    (await acquireDataLock(path)).release();
  });

  it("stays with a host that inherited it until that host ends", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "ignore", "ignore", lock.fd],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    closeSync(lock.fd);
    writeLock(path, { gateway: ENDED, host: null, kernel: true });
    await expect(acquireDataLock(path, 50)).rejects.toThrow("in use");
    child.kill("SIGKILL");
    await once(child, "exit");
    (await acquireDataLock(path, 50)).release();
  });

  it("does not come along with a copy of the folder", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    const copy = join(temporaryFolder(), "copy");
    cpSync(join(path, ".."), copy, { recursive: true });
    const copied = join(copy, "lock.json");
    expect([runningServer(path), runningServer(copied)]).toEqual([`process ${process.pid}`, null]);
    (await acquireDataLock(copied)).release();
    lock.release();
  });

  it("is not taken from a server of a build without a lock of the kernel", async () => {
    const path = lockPath();
    (await acquireDataLock(path)).release();
    writeLock(path, { gateway: currentProcess(), host: null });
    await expect(acquireDataLock(path)).rejects.toThrow(`process ${process.pid}`);
    expect(runningServer(path)).toBe(`process ${process.pid}`);
  });

  it("is not disturbed by those who only look", async () => {
    const path = lockPath();
    const lock = await acquireDataLock(path);
    for (let i = 0; i < 3; i++) expect(runningServer(path)).toBe(`process ${process.pid}`);
    await expect(acquireDataLock(path)).rejects.toThrow("in use");
    lock.release();
  });
});
