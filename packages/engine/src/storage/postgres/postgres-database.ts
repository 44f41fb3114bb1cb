/**
 * A PostgreSQL database: its connections, its tables, and what its errors mean. A statement either has an answer, or it has
 * certainly done nothing, or nobody can tell: `CommitUnknown`. Only a COMMIT whose answer was lost is the last, because a
 * COMMIT is sent once every statement before it was answered.
 */
import {
  type ClientBase,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
} from "pg";
import { SheafError } from "@sheaf/protocol";
import type { EngineLog } from "../../engine-log.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionProblems, connectionProblem, requireTried } from "./connection-problems.ts";
import {
  CommitUnknown,
  NoConnection,
  commitOutcome,
  isForbidden,
  isMadeTwice,
  isTransient,
  isWarning,
  isWithoutRoom,
  meaningOf,
} from "./postgres-errors.ts";
import { type PostgresHost, PrimaryFinder, requirePrimary } from "./primary-finder.ts";
import { preparedNames } from "./prepared-statements.ts";
import { RoomProblem } from "./room-problem.ts";
import { type Statements, statementsIn } from "./statements.ts";

export interface PostgresSettings {
  /** At least one. Of several, the one that takes writes is used; which one that is may change at any time. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  readonly password?: string | undefined;
  /** Where the tables are; made if it is absent. */
  readonly schema: string;
  /** `null`: not encrypted, which only a server on this machine may be. The server's certificate and name are checked. */
  readonly tls: { readonly ca?: string } | null;
  /** An operator says by name that an unencrypted connection to another machine is meant. */
  readonly allowPlaintext?: boolean;
  readonly limits?: Partial<PostgresLimits>;
}

export interface PostgresLimits {
  readonly connections: number;
  /** Callers that wait for a connection; beyond, 503. */
  readonly waiting: number;
  readonly connectMs: number;
  /** One statement, and how long a transaction may do nothing while it holds locks. */
  readonly statementMs: number;
  readonly lockMs: number;
  /** How long one call is tried again while the database is away. */
  readonly retryMs: number;
}

export const POSTGRES_LIMITS: PostgresLimits = {
  ...{ connections: 16, waiting: 1_000 },
  ...{ connectMs: 3_000, statementMs: 10_000, lockMs: 5_000, retryMs: 10_000 },
};

/** Beyond the server's own limit of a statement: then the server is not there any more. */
const ANSWER_MS = 2_000;
const IDLE_MS = 30_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

export type Row = Readonly<Record<string, unknown>>;

export interface Connection {
  readonly query: (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
}

/** What a transaction has come to: it is committed or rolled back, as `commit` says. */
export interface Verdict<T> {
  readonly commit: boolean;
  readonly value: T;
}

export class PostgresDatabase {
  readonly statements: Statements;
  /** Of statements that are prepared, by their text. */
  readonly #names: ReadonlyMap<string, string>;
  readonly #limits: PostgresLimits;
  readonly #pool: Pool;
  /** `null`: there is one host, and it is the primary. */
  readonly #primary: PrimaryFinder | null;
  readonly #problems: ConnectionProblems;
  readonly #log: EngineLog;
  readonly #room: RoomProblem;
  #migrated: Promise<void> | null = null;
  #waits = 0;

  /**
   * Connects when it is first used. Throws `invalid_argument` for a connection that is not encrypted and should be.
   *
   * @param room Of those that use the same database, one.
   */
  constructor(settings: PostgresSettings, log: EngineLog = () => {}, room = new RoomProblem(log)) {
    this.#problems = new ConnectionProblems(log);
    this.#log = log;
    this.#room = room;
    requireEncryption(settings);
    this.statements = statementsIn(settings.schema);
    this.#names = preparedNames(this.statements);
    this.#limits = { ...POSTGRES_LIMITS, ...settings.limits };
    const [first, ...others] = settings.hosts;
    const config = poolConfig(settings, this.#limits);
    const isOne = others.length === 0;
    this.#primary = isOne ? null : new PrimaryFinder(settings.hosts, config);
    // The pool waits for the promise, which its types do not say.
    const onConnect = requirePrimary as (client: ClientBase) => void;
    this.#pool = new Pool({ ...config, ...first, ...(!isOne && { onConnect }) });
    // A connection that ends while it is idle, or between two statements, is found out by its next use.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      this.#problems.connected();
    });
  }

  /** One statement that only reads. Tried again where the connection was lost. */
  read(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.retry(() => this.once(text, values));
  }

  /** As `read`, and tried once. */
  async once(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    await this.#ready();
    return this.#withClient((client) => rowsOf(client, this.#queryOf(text, values)));
  }

  /** One statement that commits by itself, once. Throws as `transact`. */
  async change(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    await this.#ready();
    return this.#withClient(async (client) => (await settled(client, this.#queryOf(text, values))).rows);
  }

  /**
   * One transaction, once. Throws `CommitUnknown`; after any other error it is certain that nothing was committed.
   */
  async transact<T>(run: (connection: Connection) => Promise<Verdict<T>>): Promise<T> {
    await this.#ready();
    return this.#withClient((client) => this.#transact(client, run));
  }

  /**
   * Calls `attempt` again while its errors pass by themselves, then throws what such an error means to a caller.
   *
   * @param isUnknown Whether an earlier attempt may have been committed.
   */
  async retry<T>(attempt: () => Promise<T>, isUnknown: () => boolean = () => false): Promise<T> {
    const until = performance.now() + this.#limits.retryMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        if (isWithoutRoom(error)) this.#room.tell(error);
        const wait = pause * (0.5 + Math.random());
        const isLast = performance.now() + wait >= until;
        const mayPass = error instanceof CommitUnknown || isTransient(error);
        if (isLast || !mayPass) throw meaningOf(error, isUnknown());
        await sleep(wait);
      }
    }
  }

  /** After the statements under way. */
  close(): Promise<void> {
    return this.#pool.end();
  }

  async #ready(): Promise<void> {
    const migrated = (this.#migrated ??= this.#withClient((client) => this.#prepare(client)));
    try {
      await migrated;
    } catch (error) {
      if (this.#migrated === migrated) this.#migrated = null;
      throw error;
    }
  }

  /** Callers that wait for a connection now, and how many have had to, since the start. */
  get waits(): { readonly now: number; readonly ever: number } {
    return { now: this.#pool.waitingCount, ever: this.#waits };
  }

  #queryOf(text: string, values: readonly unknown[] = []): QueryConfig {
    const name = this.#names.get(text);
    return { text, values: [...values], ...(name !== undefined && { name }) };
  }

  async #withClient<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#pool.idleCount === 0 && this.#pool.totalCount >= this.#limits.connections) this.#waits += 1;
    if (this.#pool.waitingCount >= this.#limits.waiting)
      throw new SheafError("unavailable", "too many requests wait for the database", {
        retryAfterSeconds: 1,
      });
    const client = await this.#connect();
    try {
      const value = await use(client);
      client.release();
      return value;
    } catch (error) {
      // Whatever state it is in. It is also what rolls back.
      client.release(true);
      throw error;
    }
  }

  /** To another host where the one that was the primary fails. Throws `NoConnection`, which is in the log then. */
  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      const found = await this.#primary?.find();
      if (!found) throw this.#problem(error);
      Object.assign(this.#pool.options, found);
      return this.#pool.connect();
    }
  }

  #problem(error: unknown): unknown {
    const { host = "", port = 0, user = "", password } = this.#pool.options;
    const hasPassword = password !== undefined;
    const isOne = this.#primary === null;
    const problem = connectionProblem(error, { host, port, user, hasPassword, isOne });
    if (problem instanceof NoConnection) this.#problems.tell(problem);
    return problem;
  }

  async #transact<T>(client: PoolClient, run: (connection: Connection) => Promise<Verdict<T>>): Promise<T> {
    await client.query(this.statements.begin);
    const { commit, value } = await run({
      query: (text, values) => rowsOf(client, this.#queryOf(text, values)),
    });
    if (!commit) await client.query("rollback");
    else if ((await settled(client, { text: "commit" })).command === "ROLLBACK")
      throw new SheafError("internal", "the database rolled a transaction back");
    return value;
  }

  async #prepare(client: PoolClient): Promise<void> {
    const { hasMigrations, serverVersion } = this.statements;
    const [server] = await rowsOf(client, { text: serverVersion });
    const { host = "", port = 0 } = this.#pool.options;
    requireTried(Number(server?.["version"]), { host, port });
    if (
      (await rowsOf(client, { text: hasMigrations })).length > 0 &&
      (await this.#missing(client)).length === 0
    )
      return;
    try {
      await this.#migrate(client);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      const words =
        "the user of the database may not make or change its tables: start one server as their owner, then give this user the rights of its role";
      throw new SheafError("internal", words, { cause: error });
    }
  }

  /** Several programs may begin at once: they take turns at the table of migrations. */
  async #migrate(client: PoolClient): Promise<void> {
    const sql = this.statements;
    const hasSchema = (await rowsOf(client, { text: sql.hasSchema })).length > 0;
    for (const statement of [...(hasSchema ? [] : [sql.createSchema]), sql.createMigrations]) {
      await client.query(statement).catch((error: unknown) => {
        if (!isMadeTwice(error)) throw error;
      });
    }
    await client.query(sql.begin);
    await client.query(sql.lockMigrations);
    const missing = await this.#missing(client);
    for (const { number, oldest, statements } of missing) {
      for (const statement of statements) await client.query(statement);
      await client.query(sql.recordMigration, [number, oldest]);
    }
    await client.query("commit");
    const [first] = missing;
    if (first === undefined) return;
    const what = first.number === 1 ? "made the tables" : "changed the tables";
    this.#log({ level: "info", message: `${what} of the database: format ${sql.migrations.length}` });
  }

  /** Throws where a newer program has made the tables into what this one does not know. */
  async #missing(client: PoolClient): Promise<readonly NumberedMigration[]> {
    const sql = this.statements;
    const [found] = await rowsOf(client, { text: sql.readMigrations });
    const [newest, oldest] = [Number(found?.["newest"]), Number(found?.["oldest"])];
    if (oldest > sql.migrations.length)
      throw new SheafError("internal", `the database needs a newer Sheaf: its tables have format ${newest}`);
    return sql.migrations.map((each, i) => ({ ...each, number: i + 1 })).slice(newest);
  }
}

type NumberedMigration = Statements["migrations"][number] & { readonly number: number };

/** Sends what commits. Throws `CommitUnknown`; after any other error it is certain that nothing was committed. */
async function settled(
  client: PoolClient,
  query: QueryConfig,
): Promise<QueryResult<Record<string, unknown>>> {
  // A commit whose wait for the standby was cancelled is reported as done, with a warning.
  let isWarned = false;
  const onNotice = (notice: unknown): void => void (isWarned ||= isWarning(notice));
  client.on("notice", onNotice);
  try {
    const result = await client.query<Record<string, unknown>>(query);
    if (!isWarned) return result;
  } catch (error) {
    if (commitOutcome(error) === "undone") throw error;
    throw new CommitUnknown("the commit was not answered", { cause: error });
  } finally {
    client.off("notice", onNotice);
  }
  throw new CommitUnknown("the commit was answered with a warning");
}

async function rowsOf(client: PoolClient, query: QueryConfig): Promise<readonly Row[]> {
  const { rows } = await client.query<Record<string, unknown>>(query);
  return rows;
}

function poolConfig(settings: PostgresSettings, limits: PostgresLimits): PoolConfig {
  const { database, user, password, tls } = settings;
  return {
    ...{ database, user, password, application_name: "sheaf", keepAlive: true },
    ssl: tls === null ? false : { ...tls, rejectUnauthorized: true },
    ...{ max: limits.connections, idleTimeoutMillis: IDLE_MS, connectionTimeoutMillis: limits.connectMs },
    ...{ statement_timeout: limits.statementMs, idle_in_transaction_session_timeout: limits.statementMs },
    ...{ lock_timeout: limits.lockMs, query_timeout: limits.statementMs + ANSWER_MS },
  };
}

function requireEncryption({ hosts, tls, allowPlaintext = false }: PostgresSettings): void {
  if (tls !== null || allowPlaintext) return;
  const away = hosts.find(({ host }) => !host.startsWith("/") && !isLoopback(host));
  if (away === undefined) return;
  const reason = `the connection to PostgreSQL on ${away.host} must be encrypted and verified (verify-full)`;
  throw new SheafError("invalid_argument", reason);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
