/**
 * The server under torture: boots the built command in a process group of its own, kills parts of it, and sorts what a
 * caller hears into answered, unavailable (503 while the engine restarts) and broken (the gateway died).
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ServedSheaf, descendants } from "../e2e/testing/served-sheaf.ts";
import { Violation } from "./violation.ts";

export type Victim = "gateway" | "host" | "group";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  readonly key?: string;
}

export type Answer =
  | { readonly outcome: "answered"; readonly status: number; readonly body: unknown }
  | { readonly outcome: "unavailable" | "broken" };

/** What requests are sent to: a server, or several of them. */
export interface Target {
  /** Collections may be closed for a moment, and are opened again. */
  readonly isInterrupted: boolean;
  send(request: Request): Promise<Answer>;
}

interface LockFile {
  readonly gateway: { readonly pid: number };
  readonly host: { readonly pid: number } | null;
}

const ANSWER_MS = 30_000;
const VANISH_MS = 30_000;
const POLL_MS = 10;
/** Another program may take the port between its choice and its use; that is no failed boot. */
const PORT_ATTEMPTS = 5;
const UNAVAILABLE = 503;
const ERROR_LEVEL = 50;
const HOST_MODULE = "engine-host";
/** What a killed child makes a healthy server say. */
const EXPECTED_ERROR = /^the engine host ended with SIGKILL$/u;
/** What it says of an index file that is damaged. */
const EXPECTED_LOSS = /^work in the background of a collection failed, its requests go on$/u;
/** What it says of work in the background while the database is away. */
const DATABASE_AWAY = /"error":"the database (?:is too busy|cannot be reached|was lost)/u;
/** What it says of the index that it shares, or makes for others, while the object store or the database is away. */
const UNSHARED =
  /^(?:the index that servers share could not be had or|what other servers could take of a collection)/u;
const STORE_AWAY = /"error":"(?:the object store cannot be used now|the upload of index file .* is lost)/u;
/** What it says of the store itself then. */
const STORE_REFUSES = /^the object store cannot be used: /u;

let starts = 0;

export interface TorturedOptions {
  /** As `SHEAF_INDEX_FILES`. */
  readonly indexFiles: string;
  /** As `SHEAF_SHARED_STORES`; of several, with commas between, each start takes the next. */
  readonly sharedStores: string;
  /** Index files are damaged while it runs. */
  readonly losesIndexFiles: boolean;
  /** More of the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export class TorturedServer implements Target {
  readonly isInterrupted: boolean;
  readonly #served: ServedSheaf;
  readonly #losesIndexFiles: boolean;
  #gatewayKilled = false;

  private constructor(served: ServedSheaf, { losesIndexFiles, sharedStores }: TorturedOptions) {
    this.#served = served;
    this.#losesIndexFiles = losesIndexFiles;
    this.isInterrupted = losesIndexFiles || movesOften(sharedStores);
  }

  /** Starts the command and does not wait for it. */
  static async launch(data: string, options: TorturedOptions): Promise<TorturedServer> {
    const { indexFiles, sharedStores } = options;
    const choices = sharedStores.split(",");
    const env = {
      SHEAF_INDEX_FILES: indexFiles,
      SHEAF_SHARED_STORES: choices[starts++ % choices.length] ?? "on",
      // Shared files are copied all the time, too: each of them every second.
      ...(movesOften(sharedStores) && { SHEAF_PURGE_AFTER: "0.0001" }),
      ...options.env,
    };
    return new TorturedServer(await ServedSheaf.launch({ data, env, group: true }), options);
  }

  /** Starts the command and waits until it serves; a start that fails is a violation. */
  static async boot(data: string, options: TorturedOptions): Promise<TorturedServer> {
    for (let attempt = 1; ; attempt++) {
      const server = await TorturedServer.launch(data, options);
      try {
        await server.#served.waitUntilReady();
        return server;
      } catch (error) {
        const { output } = server.#served;
        await server.kill("group");
        if (!/port \d+ is in use/u.test(output) || attempt === PORT_ATTEMPTS) {
          throw new Violation(`the server does not start on ${data}`, [String(error)]);
        }
      }
    }
  }

  /** Sends SIGKILL. `false`: there is no such process yet. */
  async kill(victim: Victim): Promise<boolean> {
    const { process: gateway, pid } = this.#served;
    if (victim === "host") {
      const host = await this.#hostPid();
      return host !== null && signal(host);
    }
    this.#gatewayKilled = true;
    if (gateway.exitCode !== null || gateway.signalCode !== null) return false;
    const exited = once(gateway, "exit");
    const sent = signal(victim === "group" ? -pid : pid);
    await exited;
    return sent;
  }

  /** What it has logged. */
  get output(): string {
    return this.#served.output;
  }

  /** All of its processes, where they are. */
  pause(): void {
    process.kill(-this.#served.pid, "SIGSTOP");
  }

  unpause(): void {
    process.kill(-this.#served.pid, "SIGCONT");
  }

  /** The engine host that runs, as the lock of the data folder has it, or one that starts; `null`: there is none. */
  async #hostPid(): Promise<number | null> {
    const { pid, data } = this.#served;
    const text = await readFile(join(data, "lock.json"), "utf8").catch(() => null);
    const lock = text === null || text === "" ? null : (JSON.parse(text) as LockFile);
    const registered = lock?.gateway.pid === pid ? (lock.host?.pid ?? null) : null;
    if (registered !== null) {
      const command = await readFile(`/proc/${registered}/cmdline`, "utf8").catch(() => "");
      if (command.includes(data)) return registered;
    }
    return (await descendants(pid)).find(({ command }) => command.includes(HOST_MODULE))?.pid ?? null;
  }

  /** Resolves when the engine answers again. */
  async untilAnswered(probe: Request): Promise<void> {
    const deadline = performance.now() + ANSWER_MS;
    while (performance.now() < deadline) {
      if ((await this.send(probe)).outcome === "answered") return;
      await sleep(POLL_MS);
    }
    throw new Violation(`the engine host did not come back within ${ANSWER_MS} ms`, [this.#served.output]);
  }

  async send({ method, path, json, key }: Request): Promise<Answer> {
    const timeout = AbortSignal.timeout(ANSWER_MS);
    try {
      const response = await this.#served.request(path, {
        method,
        ...(json === undefined ? {} : { json }),
        ...(key === undefined ? {} : { headers: { "x-service-token": key } }),
        signal: timeout,
      });
      const text = await response.text();
      if (response.status === UNAVAILABLE) {
        const wait = Number(response.headers.get("retry-after"));
        if (!(wait >= 1)) throw new Violation(`${method} ${path}: 503 without Retry-After`, [text]);
        return { outcome: "unavailable" };
      }
      return { outcome: "answered", status: response.status, body: JSON.parse(text) as unknown };
    } catch (error) {
      if (error instanceof Violation) throw error;
      if (timeout.aborted) throw new Violation(`${method} ${path}: no answer in ${ANSWER_MS} ms`);
      if (!this.#gatewayKilled) {
        throw new Violation(`${method} ${path}: the connection broke, and nobody killed the gateway`, [
          describe(error),
        ]);
      }
      return { outcome: "broken" };
    }
  }

  /** Throws if the server logged an error that a kill does not explain. */
  checkLog(): void {
    const lines = this.#served.output.split("\n").slice(0, -1);
    const errors = lines.filter((line) => {
      const entry = parseEntry(line);
      if (entry === null) return !line.startsWith("Sheaf listens on");
      if (this.#losesIndexFiles && EXPECTED_LOSS.test(entry.msg))
        return !line.includes("index file is damaged");
      if (EXPECTED_LOSS.test(entry.msg) && DATABASE_AWAY.test(line)) return false;
      if (UNSHARED.test(entry.msg) && (STORE_AWAY.test(line) || DATABASE_AWAY.test(line))) return false;
      if (STORE_REFUSES.test(entry.msg)) return false;
      return entry.level >= ERROR_LEVEL && !EXPECTED_ERROR.test(entry.msg);
    });
    if (errors.length > 0) throw new Violation("the server logged errors", errors);
  }

  /** Throws if an engine host on this folder outlives its gateway. */
  async checkProcesses(): Promise<void> {
    const own = await this.#hostPid();
    const deadline = performance.now() + VANISH_MS;
    for (;;) {
      const hosts = (await descendants(1)).filter(
        ({ pid, command }) =>
          pid !== own && command.includes(HOST_MODULE) && command.includes(this.#served.data),
      );
      if (hosts.length === 0) return;
      if (performance.now() > deadline) {
        throw new Violation(
          "engine hosts outlive their gateway",
          hosts.map(({ pid, command }) => `${pid} ${command}`),
        );
      }
      await sleep(POLL_MS);
    }
  }

  /** Ends it as an operator would, which must work. */
  async stop(): Promise<void> {
    this.#gatewayKilled = true;
    const code = await this.#served.stop();
    if (code !== 0) throw new Violation(`the server ended with ${code} on SIGTERM`, [this.#served.output]);
  }
}

/** `false`: it has gone already. */
function signal(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

function parseEntry(line: string): { readonly level: number; readonly msg: string } | null {
  try {
    const { level, msg } = JSON.parse(line) as { level: number; msg?: string };
    return { level, msg: msg ?? "" };
  } catch {
    return null;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.message}: ${String(error.cause)}` : String(error);
}

/** Limits that are named are small ones. */
function movesOften(sharedStores: string): boolean {
  return sharedStores.includes("/");
}
