/**
 * One server per data folder. The lock is the kernel's, on a file that stays: it belongs to the open file, which the
 * gateway's engine hosts inherit, so the folder is free once all of them have ended, however they did. It also holds
 * between containers, whose processes do not see each other. What the file says, gateway and engine host by process id
 * and start time, is for messages, and for ending a host that outlives its gateway.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import { tryLock } from "fs-native-extensions";
import { errorCode } from "../storage/lmdb/commit-cause.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { type ProcessIdentity, currentProcess, isRunning } from "./process-identity.ts";

const HOST_LEAVES_WITHIN_MS = 5_000;
const POLL_MS = 20;
/** A file that is longer is no lock. */
const MAX_BYTES = 4_096;

export interface DataLock {
  /** Names this acquisition; the engine host registers with it. */
  readonly token: string;
  /** Of the locked file, for engine hosts to inherit. */
  readonly fd: number;
  /** Whether the file still lies where it was: not after its folder was removed, or the disk below it. */
  isInPlace(): boolean;
  /** Engine hosts that still run keep the folder. */
  release(): void;
}

interface LockHolder {
  readonly token: string;
  readonly gateway: ProcessIdentity;
  readonly host: ProcessIdentity | null;
  /** Builds before had no lock of the kernel: the processes alone say whether the folder is in use. */
  readonly kernel?: boolean;
}

/**
 * Takes the lock for this process; its folder is made if needed. `failed_precondition` if a running server has it, and on
 * file systems without locks.
 * @param hostLeavesWithinMs How long a host that lost its gateway may take to leave.
 */
export async function acquireDataLock(
  path: string,
  hostLeavesWithinMs = HOST_LEAVES_WITHIN_MS,
): Promise<DataLock> {
  makeFolder(dirname(path));
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY_FILE);
  try {
    await lock(fd, path, hostLeavesWithinMs);
    const before = read(fd);
    if (before !== null && before.kernel !== true) {
      if (isRunning(before.gateway)) throw inUse(path, before);
      if (before.host !== null) await endHost(before.host, hostLeavesWithinMs);
    }
    await requireCatalogClosed(dirname(path), hostLeavesWithinMs);
    const token = randomUUID();
    write(fd, { token, gateway: currentProcess(), host: null, kernel: true });
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      ftruncateSync(fd);
      closeSync(fd);
    };
    return { token, fd, isInPlace: () => !held || liesAt(path, fd), release };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Which process holds the folder, a server or its engine host, in words; `null`: nobody uses it. */
export function runningServer(path: string): string | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const holder = read(fd);
    const running = [holder?.gateway, holder?.host].find((held) => held && isRunning(held));
    if (holder?.kernel !== true && running) return wordsOf(running);
    if (lockFile(fd, path, { shared: true })) return null;
    const held = running ?? holder?.gateway;
    return held === undefined ? "another process" : wordsOf(held);
  } finally {
    closeSync(fd);
  }
}

/** Called by an engine host before it opens anything. Throws if its gateway no longer holds the folder. */
export function registerHost(path: string, token: string): void {
  const fd = openSync(path, "r+");
  try {
    const holder = read(fd);
    if (holder === null || holder.token !== token) {
      throw new SheafError("failed_precondition", `${path} is no longer held by this engine host's gateway`);
    }
    write(fd, { ...holder, host: currentProcess() });
  } finally {
    closeSync(fd);
  }
}

/** Whoever has the lock and runs is refused for; a host whose gateway died is waited for, and ended then. */
async function lock(fd: number, path: string, hostLeavesWithinMs: number): Promise<void> {
  const until = performance.now() + hostLeavesWithinMs;
  while (!lockFile(fd, path)) {
    const holder = read(fd);
    if (holder !== null && isRunning(holder.gateway)) throw inUse(path, holder);
    if (performance.now() >= until) {
      const host = holder?.host ?? null;
      if (host === null || !isRunning(host)) throw inUse(path, holder);
      await endHost(host, 0);
    }
    await pause(POLL_MS);
  }
}

/**
 * Whoever has the catalog open has locked a file of LMDB, too. So a server whose lock file was removed, and with it the lock on
 * it, still keeps others out.
 */
async function requireCatalogClosed(folder: string, waitMs: number): Promise<void> {
  const path = join(folder, "catalog", "lock.mdb");
  for (const until = performance.now() + waitMs; existsSync(path) && isLocked(path); await pause(POLL_MS))
    if (performance.now() >= until)
      throw new SheafError(
        "failed_precondition",
        `${folder} is in use: a process that lock.json says nothing of has its catalog open; was that file removed while a server ran? Stop the server, or use another data folder`,
      );
}

function isLocked(path: string): boolean {
  const fd = openSync(path, "r+");
  try {
    return !lockFile(fd, path);
  } finally {
    closeSync(fd);
  }
}

/** Whether it could be locked, for as long as it is open. Throws `failed_precondition` on file systems without locks. */
export function lockFile(fd: number, path: string, options?: { readonly shared: boolean }): boolean {
  try {
    return tryLock(fd, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SheafError(
      "failed_precondition",
      `${dirname(path)} is on a file system that cannot lock files (${reason}), so nothing would keep a second server out; ` +
        "use a folder on a local disk",
    );
  }
}

function liesAt(path: string, fd: number): boolean {
  const own = fstatSync(fd);
  const there = statSync(path, { throwIfNoEntry: false });
  return there?.ino === own.ino && there.dev === own.dev;
}

/** In place, so that the lock stays with the file; on a full disk, too. Whoever reads meanwhile looks at the first line. */
function write(fd: number, holder: LockHolder): void {
  const text = `${JSON.stringify(holder)}\n`;
  writeSync(fd, text, 0);
  ftruncateSync(fd, Buffer.byteLength(text));
  fsyncSync(fd);
}

/** `null`: it says nothing. */
function read(fd: number): LockHolder | null {
  const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, MAX_BYTES));
  const [line = ""] = bytes.toString("utf8", 0, readSync(fd, bytes, 0, bytes.length, 0)).split("\n");
  try {
    const value: unknown = JSON.parse(line);
    return isHolder(value) ? value : null;
  } catch {
    return null;
  }
}

async function endHost(host: ProcessIdentity, leavesWithinMs: number): Promise<void> {
  const until = performance.now() + leavesWithinMs;
  while (isRunning(host) && performance.now() < until) await pause(POLL_MS);
  if (isRunning(host)) process.kill(host.pid, "SIGKILL");
  while (isRunning(host)) await pause(POLL_MS);
}

function inUse(path: string, holder: LockHolder | null): SheafError {
  const engine = holder?.host ? `, engine host ${holder.host.pid}` : "";
  const who = holder === null ? "" : `: ${wordsOf(holder.gateway)}${engine}`;
  return new SheafError(
    "failed_precondition",
    `${dirname(path)} is in use by another Sheaf server${who}; stop that one, or use another data folder`,
  );
}

/** An id of another container may be that of some other process here. */
function wordsOf(held: ProcessIdentity): string {
  const elsewhere = isRunning(held) ? "" : " (of another container, or ended while its children go on)";
  return `process ${held.pid}${elsewhere}`;
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== "object" || value === null) return false;
  const { token, gateway, host } = value as Record<keyof LockHolder, unknown>;
  return typeof token === "string" && isIdentity(gateway) && (host === null || isIdentity(host));
}

function isIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { pid, started } = value as Record<keyof ProcessIdentity, unknown>;
  return typeof pid === "number" && typeof started === "string";
}
