/**
 * Starts children and workers of Sheaf from a module URL. From sources (`.ts`) the child registers tsx and the
 * `@sheaf/source` condition; from dist (`.js`) it needs neither. Nothing else in Sheaf starts a process or a thread.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { type ResourceLimits, Worker } from "node:worker_threads";

/** File descriptor of the socket between a child and its parent. */
export const CHANNEL_FD = 3;

const SOURCE_CONDITION = "--conditions=@sheaf/source";

/** On Node 20 `--import` does not reach a worker's loader, so this worker registers tsx itself before its module. */
const SOURCE_WORKER = `
  const [api, module] = process.argv.slice(2);
  import(api).then(({ register }) => {
    register();
    return import(module);
  });
`;

export interface SpawnOptions {
  readonly args?: readonly string[];
  /** Added to the parent's environment; a key must be listed here to reach the child changed. */
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** `pipe`: the parent reads what the child writes there. By default it is the parent's own. */
  readonly stderr?: "inherit" | "pipe";
  /** Open files of the parent that the child keeps open while it runs, behind the channel. */
  readonly inherited?: readonly number[];
}

/**
 * Starts a Node process whose fd 3 is one end of a unix socket pair: it closes by itself when either side dies, by
 * SIGKILL too, and leaves no file behind. stdout is the parent's.
 */
export function spawnProcess(module: URL, options: SpawnOptions = {}): ChildProcess {
  const path = fileURLToPath(module);
  const nodeArgs = [...sourceArgs(path), ...(options.nodeArgs ?? [])];
  return spawn(process.execPath, [...nodeArgs, path, ...(options.args ?? [])], {
    stdio: ["ignore", "inherit", options.stderr ?? "inherit", "pipe", ...(options.inherited ?? [])],
    env: { ...process.env, ...options.env },
  });
}

export interface ProgramOptions {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Added to the parent's environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts a program of others, found by its path or on PATH. Its output is for whoever started it. */
export function spawnProgram(command: string, { args, cwd, env }: ProgramOptions): ChildProcess {
  return spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
}

/** Starts a worker thread; `data` arrives as `workerData`. Over its limits it ends, and nothing else does. */
export function spawnWorker(module: URL, data: unknown, resourceLimits: ResourceLimits = {}): Worker {
  if (!isSource(module.pathname))
    return new Worker(module, { workerData: data, resourceLimits, execArgv: [] });
  return new Worker(SOURCE_WORKER, {
    eval: true,
    workerData: data,
    resourceLimits,
    argv: [import.meta.resolve("tsx/esm/api"), module.href],
    execArgv: [SOURCE_CONDITION],
  });
}

/**
 * URL of the module `path` (relative, without extension) as the caller itself runs: `.ts` from sources, `.js` from dist.
 * @example siblingModule(import.meta.url, "./tokenizer.worker")
 */
export function siblingModule(callerUrl: string, path: string): URL {
  return new URL(`${path}${callerUrl.endsWith(".ts") ? ".ts" : ".js"}`, callerUrl);
}

/** The parent's end of the socket to a child made by `spawnProcess`. */
export function childSocket(child: ChildProcess): Duplex {
  const socket = child.stdio[CHANNEL_FD];
  assert(socket instanceof Duplex, "the child was not made by spawnProcess");
  return socket;
}

function sourceArgs(path: string): string[] {
  return isSource(path) ? [SOURCE_CONDITION, "--import", import.meta.resolve("tsx")] : [];
}

function isSource(path: string): boolean {
  return path.endsWith(".ts");
}
