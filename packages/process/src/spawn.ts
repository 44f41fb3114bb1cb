/**
 * Starts children and workers of Sheaf from a module URL. From sources (`.ts`) the child registers tsx and the
 * `@sheaf/source` condition; from dist (`.js`) it needs neither. Nothing else in Sheaf starts a process or a thread.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** File descriptor of the socket between a child and its parent. */
export const CHANNEL_FD = 3;

export interface SpawnOptions {
  readonly args?: readonly string[];
  /** Added to the parent's environment; a key must be listed here to reach the child changed. */
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
}

/**
 * Starts a Node process whose fd 3 is one end of a unix socket pair: it closes by itself when either side dies, by
 * SIGKILL too, and leaves no file behind. stdout and stderr are the parent's.
 */
export function spawnProcess(module: URL, options: SpawnOptions = {}): ChildProcess {
  const path = fileURLToPath(module);
  const nodeArgs = [...sourceArgs(path), ...(options.nodeArgs ?? [])];
  return spawn(process.execPath, [...nodeArgs, path, ...(options.args ?? [])], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
    env: { ...process.env, ...options.env },
  });
}

/** Starts a worker thread; `data` arrives as `workerData`. */
export function spawnWorker(module: URL, data: unknown): Worker {
  return new Worker(module, { workerData: data, execArgv: sourceArgs(module.pathname) });
}

/** The parent's end of the socket to a child made by `spawnProcess`. */
export function childSocket(child: ChildProcess): Duplex {
  const socket = child.stdio[CHANNEL_FD];
  assert(socket instanceof Duplex, "the child was not made by spawnProcess");
  return socket;
}

function sourceArgs(path: string): string[] {
  return path.endsWith(".ts") ? ["--conditions=@sheaf/source", "--import", import.meta.resolve("tsx")] : [];
}
