/** Starts the real command on a loopback port for tests, and looks at its process tree from outside. */
import { type ChildProcess, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../scripts/free-port.ts";

const COMMAND = fileURLToPath(new URL("../../../packages/server/bin/sheaf.mjs", import.meta.url));
export const ROOT_KEY = "a-root-key-for-tests-only";
/** Variable with the URL of a database that all servers of a test keep their data in, each in a schema of its own. */
export const TEST_DATABASE = "TEST_DATABASE";
/** The default reserve is a tenth of the disk: tests must not fail because a machine's disk is nearly full. */
const DISK_RESERVE_BYTES = 32 * 1024 * 1024;
const READY_MS = 60_000;

export interface ServeOptions {
  readonly data?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A process group of its own, so that a signal can reach the whole of it. */
  readonly group?: boolean;
  /** Files that it may have open, each of its processes. */
  readonly descriptors?: number;
  /** A program with arguments that runs it. */
  readonly under?: readonly string[];
  /** A file that gets stderr, or a pipe that nobody reads unless the test does. */
  readonly stderr?: number | "unread";
}

export class ServedSheaf {
  readonly url: string;
  readonly data: string;
  readonly process: ChildProcess;
  #output = "";

  private constructor(url: string, data: string, child: ChildProcess, readStderr: boolean) {
    this.url = url;
    this.data = data;
    this.process = child;
    child.stdout?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    if (readStderr) child.stderr?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  /** Runs `sheaf serve` without waiting for it. */
  static async launch(options: ServeOptions = {}): Promise<ServedSheaf> {
    const data = options.data ?? (await temporaryFolder());
    const port = await freePort();
    const { descriptors, under = [] } = options;
    const limited = descriptors === undefined ? [] : ["prlimit", `--nofile=${descriptors}`];
    const [command, ...args] = [...limited, ...under, process.execPath];
    const child = spawn(
      command,
      [
        ...args,
        COMMAND,
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
        "--data",
        data,
        ...(options.args ?? []),
        ...sharedDatabase(data),
      ],
      {
        stdio: ["ignore", "pipe", typeof options.stderr === "number" ? options.stderr : "pipe"],
        detached: options.group === true,
        env: {
          ...process.env,
          SHEAF_ROOT_KEY: ROOT_KEY,
          SHEAF_LOG_LEVEL: "warn",
          SHEAF_DISK_RESERVE: String(DISK_RESERVE_BYTES),
          ...options.env,
        },
      },
    );
    return new ServedSheaf(`http://127.0.0.1:${port}`, data, child, options.stderr !== "unread");
  }

  /** Runs `sheaf serve` and waits for its heartbeat. */
  static async start(options: ServeOptions = {}): Promise<ServedSheaf> {
    const served = await ServedSheaf.launch(options);
    await served.waitUntilReady();
    return served;
  }

  /** stdout and stderr so far. */
  get output(): string {
    return this.#output;
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  async waitUntilReady(): Promise<void> {
    const deadline = performance.now() + READY_MS;
    while (performance.now() < deadline) {
      if (this.process.exitCode !== null) throw new Error(`the server ended: ${this.#output}`);
      const status = await fetch(`${this.url}/api/v2/heartbeat`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      await sleep(20);
    }
    throw new Error(`no heartbeat after ${READY_MS} ms: ${this.#output}`);
  }

  request(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
    const { json, ...rest } = init;
    return fetch(`${this.url}${path}`, {
      method: json === undefined ? "GET" : "POST",
      ...rest,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      headers: {
        "x-service-token": ROOT_KEY,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(rest.headers as Record<string, string> | undefined),
      },
    });
  }

  /** Sends JSON, expects a success, gives the parsed answer. */
  async ask<T>(path: string, json?: unknown): Promise<T> {
    const response = await this.request(path, json === undefined ? {} : { json });
    const body = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`);
    return JSON.parse(body) as T;
  }

  /** To it and all of its children, if it was started with `group`. */
  signalGroup(name: NodeJS.Signals): void {
    process.kill(-this.pid, name);
  }

  async killGroup(): Promise<void> {
    const exited = once(this.process, "exit");
    this.signalGroup("SIGKILL");
    await exited;
  }

  /** Ends with SIGTERM and gives the exit code. */
  async stop(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const exited = once(this.process, "exit");
      this.process.kill("SIGTERM");
      await exited;
    }
    return this.process.exitCode;
  }

  /** Ends and removes the data. */
  async dispose(): Promise<void> {
    await this.stop();
    await rm(this.data, { recursive: true, force: true });
  }
}

/** A schema for each data folder, in the database that a test of several servers has named; else nothing. */
function sharedDatabase(data: string): readonly string[] {
  const url = process.env[TEST_DATABASE];
  const schema = `t_${hash("sha256", data).slice(0, 32)}`;
  return url === undefined ? [] : ["--database", `${url}?schema=${schema}`];
}

export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "sheaf-test-"));
}

export interface ProcessInfo {
  readonly pid: number;
  readonly command: string;
}

/** Living processes below one, read from /proc; zombies do not count. */
export async function descendants(pid: number): Promise<readonly ProcessInfo[]> {
  const all = await processTable();
  const found: ProcessInfo[] = [];
  const queue = [pid];
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift()) {
    for (const entry of all.filter(({ parentPid }) => parentPid === parent)) {
      found.push({ pid: entry.pid, command: entry.command });
      queue.push(entry.pid);
    }
  }
  return found;
}

/** Waits until none of the processes lives, at most `timeoutMs`; gives those that still do. */
export async function waitUntilGone(
  processes: readonly ProcessInfo[],
  timeoutMs = 30_000,
): Promise<readonly ProcessInfo[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const alive = new Set((await processTable()).map(({ pid }) => pid));
    const left = processes.filter(({ pid }) => alive.has(pid));
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(20);
  }
}

async function processTable(): Promise<{ pid: number; parentPid: number; command: string }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const entries = await Promise.all(
    pids.map(async (pid) => {
      try {
        const stat = await readFile(`/proc/${pid}/stat`, "utf8");
        const [state = "", parent = "0"] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
        return state === "Z" ? [] : [{ pid: Number(pid), parentPid: Number(parent), command }];
      } catch {
        // It ended between the listing and the reading.
        return [];
      }
    }),
  );
  return entries.flat();
}
