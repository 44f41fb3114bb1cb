/**
 * One server per data folder. The lock file names its gateway and its engine host by process id and start time. A
 * second server refuses and says who holds the folder. One that finds the gateway dead gives that gateway's host
 * time to leave, ends it if it does not, and takes the folder over.
 */
import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { type ProcessIdentity, currentProcess, isRunning } from "./process-identity.ts";

const HOST_LEAVES_WITHIN_MS = 5_000;
const POLL_MS = 20;

export interface DataLock {
  /** Names this acquisition; the engine host registers with it. */
  readonly token: string;
  release(): Promise<void>;
}

interface LockHolder {
  readonly token: string;
  readonly gateway: ProcessIdentity;
  readonly host: ProcessIdentity | null;
}

/**
 * Takes the lock for this process; its folder is made if needed. `failed_precondition` if a running server has it.
 * @param hostLeavesWithinMs How long a host that lost its gateway may take to leave.
 */
export async function acquireDataLock(
  path: string,
  hostLeavesWithinMs = HOST_LEAVES_WITHIN_MS,
): Promise<DataLock> {
  const token = randomUUID();
  const own: LockHolder = { token, gateway: currentProcess(), host: null };
  makeFolder(dirname(path));
  while (!create(path, own)) {
    const holder = read(path);
    if (holder === null) continue;
    if (isRunning(holder.gateway)) throw inUse(path, holder);
    if (holder.host !== null) await endHost(holder.host, hostLeavesWithinMs);
    discard(path, holder.token);
  }
  return {
    token,
    async release() {
      if (read(path)?.token === token) rmSync(path, { force: true });
    },
  };
}

/** Process id of the server that holds the folder, or of its engine host; `null`: nobody uses it. */
export function runningServer(path: string): number | null {
  const holder = read(path);
  if (holder === null) return null;
  const running = [holder.gateway, holder.host].find((held) => held !== null && isRunning(held));
  return running?.pid ?? null;
}

/** Called by an engine host before it opens anything. Throws if its gateway no longer holds the folder. */
export function registerHost(path: string, token: string): void {
  const holder = read(path);
  if (holder === null || holder.token !== token) {
    throw new SheafError("failed_precondition", `${path} is no longer held by this engine host's gateway`);
  }
  replace(path, { ...holder, host: currentProcess() });
}

/** `false`: there is one already. The file appears with its whole content or not at all. */
function create(path: string, holder: LockHolder): boolean {
  const temporary = writeTemporary(path, holder);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function replace(path: string, holder: LockHolder): void {
  try {
    renameSync(writeTemporary(path, holder), path);
  } catch (error) {
    if (!isCode(error, "ENOSPC")) throw error;
    // A full disk has no room for a second file, but still has the first one's block.
    writeFileSync(path, toText(holder), { flag: "r+", flush: true });
  }
}

function writeTemporary(path: string, holder: LockHolder): string {
  const temporary = `${path}.${randomUUID()}`;
  try {
    writeFileSync(temporary, toText(holder), { flush: true, mode: OWNER_ONLY_FILE });
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return temporary;
}

/** Always longer than what it replaces: a host is added, never taken away. */
function toText(holder: LockHolder): string {
  return `${JSON.stringify(holder)}\n`;
}

/** `null`: there is none. */
function read(path: string): LockHolder | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
  const holder = parse(text);
  if (holder !== null) return holder;
  throw new SheafError(
    "failed_precondition",
    `${path} is not a lock of Sheaf; remove it if no server uses the folder`,
  );
}

/** Moves a dead holder's lock away. Of two that try, one moves it; what a late one moved by mistake it puts back. */
function discard(path: string, token: string): void {
  if (read(path)?.token !== token) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (isCode(error, "ENOENT")) return;
    throw error;
  }
  try {
    if (read(aside)?.token !== token) linkSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}

async function endHost(host: ProcessIdentity, leavesWithinMs: number): Promise<void> {
  const until = performance.now() + leavesWithinMs;
  while (isRunning(host) && performance.now() < until) await pause(POLL_MS);
  if (isRunning(host)) process.kill(host.pid, "SIGKILL");
  while (isRunning(host)) await pause(POLL_MS);
}

function inUse(path: string, { gateway, host }: LockHolder): SheafError {
  const engine = host === null ? "" : `, engine host ${host.pid}`;
  return new SheafError(
    "failed_precondition",
    `${dirname(path)} is in use by another Sheaf server: process ${gateway.pid}${engine}`,
  );
}

function parse(text: string): LockHolder | null {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : null;
  } catch {
    return null;
  }
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

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
