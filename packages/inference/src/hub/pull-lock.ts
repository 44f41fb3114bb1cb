/**
 * Keeps two processes from pulling one model at once. The holder touches its file every few seconds; one that no longer
 * does, or whose process is gone, is not waited for. Nothing but wasted work depends on it: blobs are checked by hash.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { errorCode, isObject } from "../graph/model-file.ts";

const TOUCH_MS = 5_000;
const STALE_MS = 60_000;

/** `work` while nobody else holds the lock. 503 with Retry-After, naming the holder, if somebody does. */
export async function withPullLock<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lockFile), { recursive: true });
  await acquire(lockFile);
  const touch = setInterval(() => {
    // A lock that was removed by hand is nothing to stop a download for.
    utimes(lockFile, new Date(), new Date()).catch(() => clearInterval(touch));
  }, TOUCH_MS);
  touch.unref();
  try {
    return await work();
  } finally {
    clearInterval(touch);
    await rm(lockFile, { force: true });
  }
}

async function acquire(lockFile: string): Promise<void> {
  const holder = JSON.stringify({ host: hostname(), pid: process.pid });
  for (let attempt = 1; attempt <= 2; attempt++) {
    try {
      await writeFile(lockFile, holder, { flag: "wx" });
      return;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    if (!(await isStale(lockFile))) break;
    await removeStale(lockFile);
  }
  throw new SheafError("unavailable", `another process is pulling this model (${lockFile})`, {
    retryAfterSeconds: 5,
  });
}

async function isStale(lockFile: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(lockFile);
    if (Date.now() - mtimeMs > STALE_MS) return true;
    const holder: unknown = JSON.parse(await readFile(lockFile, "utf8"));
    if (!isObject(holder) || holder["host"] !== hostname() || typeof holder["pid"] !== "number") return false;
    return !isAlive(holder["pid"]);
  } catch (error) {
    // Gone since, or not written yet.
    return errorCode(error) === "ENOENT";
  }
}

/** Renaming first lets only one of several remove it. */
async function removeStale(lockFile: string): Promise<void> {
  const aside = `${lockFile}.${randomUUID()}`;
  try {
    await rename(lockFile, aside);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  await rm(aside, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
