/** The settings of a database that several servers share. Part of the table in `config.ts`. */
import { userInfo } from "node:os";
import type { HostedEngineOptions } from "@sheaf/engine";
import type { Setting, Settings } from "../config.ts";
import { countSetting } from "./count-setting.ts";
import { isLoopback } from "../is-loopback.ts";
import { readSecretFile, readSmallFile } from "./secret-file.ts";
import { SettingError } from "./setting-error.ts";
import { VERSION } from "../version.ts";

export interface DatabaseSettings {
  /** `null`: everything is in the data folder. */
  readonly database: DatabasePlace | null;
  /** Of the database; the other variables are those of PostgreSQL's own programs. */
  readonly databaseUser: string | null;
  readonly databasePassword: string | null;
  /** The password that the file holds. */
  readonly databasePasswordFile: string | null;
  /** As the environment has it, which may be meant for other programs. */
  readonly databaseTls: string | null;
  /** PEM file. */
  readonly databaseCa: string | null;
  readonly databaseConnections: number;
  readonly databaseWaiting: number;
  readonly databaseConnectMs: number;
  readonly databaseStatementMs: number;
  readonly databaseLockMs: number;
  readonly databaseRetryMs: number;
  readonly databaseAppendAttempts: number;
  /** Bytes. */
  readonly databaseCheckpointBytes: number;
  readonly databaseLogBytes: number;
}

/** What a URL says. */
export interface DatabasePlace {
  readonly hosts: HostedDatabase["hosts"];
  readonly name: string;
  /** `null`: the URL has none. */
  readonly user: string | null;
  readonly tls: string | null;
  readonly schema: string;
}

type HostedDatabase = NonNullable<HostedEngineOptions["database"]>;

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = "sheaf";
/** Of `target_session_attrs`, as libpq has it. */
const TAKES_WRITES = "read-write";
const MOST_HOSTS = 8;
/** It reaches the engine in an argument of a command. */
const MOST_CA_BYTES = 64 * 1024;

export const DATABASE_SETTINGS: {
  readonly [name in keyof DatabaseSettings]: Setting<DatabaseSettings[name]>;
} = {
  database: {
    env: "SHEAF_DATABASE",
    flag: { name: "database", operand: "url" },
    default: null,
    doc: "Experimental. PostgreSQL database that keeps catalog and records, so that several servers serve them: postgres://user@host:5432/name, and ?schema=name for another schema than sheaf. Of several hosts, host1:5432,host2:5432, the one that takes writes is used. The data folder is then a cache that may be lost. The password does not belong in the URL.",
    parse: parseDatabase,
  },
  databaseUser: {
    env: "PGUSER",
    flag: null,
    default: null,
    doc: "User of --database where its URL has none; by default the one that runs the server.",
    parse: (text) => text,
  },
  databasePassword: {
    env: "PGPASSWORD",
    flag: null,
    default: null,
    doc: "Password of --database.",
    parse: (text) => text,
  },
  databasePasswordFile: {
    env: "SHEAF_DATABASE_PASSWORD_FILE",
    flag: { name: "database-password-file", operand: "file" },
    default: null,
    doc: "File with the password of --database, such as a secret that a container or systemd mounts. A line break at its end does not count.",
    parse: (text) => text,
  },
  databaseTls: {
    env: "PGSSLMODE",
    flag: null,
    default: null,
    doc: "How --database is connected to, where its URL has no sslmode: verify-full, the default, encrypts and checks certificate and name; disable, the default on a loopback address, does neither and is refused elsewhere.",
    parse: (text) => text,
  },
  databaseCa: {
    env: "PGSSLROOTCERT",
    flag: null,
    default: null,
    doc: "PEM file with the authorities that the certificate of --database may be from; by default those that Node.js knows.",
    parse: (text) => text,
  },
  databaseConnections: countSetting("database-connections", {
    ...{ operand: "number", initial: 16, least: 3, most: 1_000 },
    doc: "Connections to --database at most, a quarter of them for the catalog. With all servers together, less than max_connections of PostgreSQL.",
  }),
  databaseWaiting: countSetting("database-waiting", {
    ...{ operand: "number", initial: 1_000, least: 1, most: 100_000 },
    doc: "Calls that may wait for a connection to --database; more get 503.",
  }),
  databaseConnectMs: milliseconds(
    "database-connect-ms",
    3_000,
    "Time that connecting to --database may take, and waiting for a connection.",
  ),
  databaseStatementMs: milliseconds(
    "database-statement-ms",
    10_000,
    "Time that one statement may take in --database, and that a transaction may do nothing.",
  ),
  databaseLockMs: milliseconds(
    "database-lock-ms",
    5_000,
    "Time that a statement may wait for a lock in --database, which other servers hold; then 503.",
  ),
  databaseRetryMs: milliseconds(
    "database-retry-ms",
    10_000,
    "How long a call is tried again while --database is away; then 503.",
  ),
  databaseAppendAttempts: countSetting("database-append-attempts", {
    ...{ operand: "number", initial: 64, least: 1, most: 10_000 },
    doc: "How often a write is planned anew because other servers have written the collection; then 429.",
  }),
  databaseCheckpointBytes: countSetting("database-checkpoint-bytes", {
    ...{ operand: "bytes", initial: 64 * MIB, least: 64 * 1024, most: 1024 * GIB },
    doc: "Size of the log of a collection at which its records are written down and it is trimmed; later where they are larger, but before half of --database-log-bytes.",
  }),
  databaseLogBytes: countSetting("database-log-bytes", {
    ...{ operand: "bytes", initial: GIB, least: 128 * MIB, most: 1024 * GIB },
    doc: "Largest log of a collection in --database; writes get 503 until it is trimmed.",
  }),
};

function milliseconds(flag: string, initial: number, doc: string): Setting<number> {
  return countSetting(flag, { operand: "ms", initial, least: 10, most: 10 * 60_000, doc });
}

/** Nothing where there is none. Reads files; throws a `SettingError`. */
export function databaseOf(settings: Settings): Pick<HostedEngineOptions, "database"> {
  const { database, databaseUser, databasePassword, databasePasswordFile, databaseTls, role } = settings;
  if (database === null) return {};
  const { hosts, name, schema } = database;
  const password = databasePasswordFile === null ? databasePassword : readSecretFile(databasePasswordFile);
  return {
    database: {
      role: role === "search" || role === "index" ? role : "all",
      version: VERSION,
      ...{ hosts, database: name, schema, user: database.user ?? databaseUser ?? userInfo().username },
      limits: {
        connections: settings.databaseConnections,
        waiting: settings.databaseWaiting,
        connectMs: settings.databaseConnectMs,
        statementMs: settings.databaseStatementMs,
        lockMs: settings.databaseLockMs,
        retryMs: settings.databaseRetryMs,
      },
      appendAttempts: settings.databaseAppendAttempts,
      checkpointAfterBytes: settings.databaseCheckpointBytes,
      maxLogBytes: settings.databaseLogBytes,
      tls: tlsOf(database.tls ?? databaseTls, hosts, settings.databaseCa),
      ...(password !== null && { password }),
    },
  };
}

function tlsOf(
  mode: string | null,
  hosts: DatabasePlace["hosts"],
  caFile: string | null,
): HostedDatabase["tls"] {
  const away = hosts.find(({ host }) => !isLoopback(host));
  switch (mode ?? (away === undefined ? "disable" : "verify-full")) {
    case "verify-full": {
      if (caFile === null) return {};
      const ca = readSmallFile(caFile);
      if (ca.length > MOST_CA_BYTES)
        throw new SettingError(`PGSSLROOTCERT: ${caFile} has more than ${MOST_CA_BYTES} bytes`);
      return { ca };
    }
    case "disable":
      if (away === undefined) return null;
      throw new SettingError(
        `the connection to PostgreSQL on ${away.host} must be encrypted and verified: sslmode has to be verify-full`,
      );
    default:
      throw new SettingError("sslmode of --database must be verify-full, or disable on a loopback address");
  }
}

/** What it throws never has the text, which may hold a password all the same. */
function parseDatabase(text: string): DatabasePlace {
  const form = "must be a URL such as postgres://user@host:5432/name";
  const parts = /^postgres(?:ql)?:\/\/((?:[^/?#]*@)?)([^/?#@]+)(.*)$/su.exec(text);
  const [, account, hosts = "", rest] = parts ?? [];
  const one = `postgres://${account}host${rest}`;
  if (parts === null || !URL.canParse(one)) throw new SettingError(form);
  const url = new URL(one);
  if (url.password !== "")
    throw new SettingError(
      "must not have a password, which others could read: set PGPASSWORD or --database-password-file",
    );
  const {
    schema = DEFAULT_SCHEMA,
    sslmode = null,
    target_session_attrs: target = TAKES_WRITES,
    ...others
  } = Object.fromEntries(url.searchParams);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new SettingError(
      `has a parameter ${unknown}; those that count are schema, sslmode and target_session_attrs`,
    );
  if (target !== TAKES_WRITES) throw new SettingError(`target_session_attrs can only be ${TAKES_WRITES}`);
  if (!/^[a-z_][a-z0-9_]{0,62}$/u.test(schema))
    throw new SettingError("must have a schema of lower-case letters, digits and underscores");
  const [name, user] = [decoded(url.pathname.slice(1)), decoded(url.username)];
  if (name === "" || url.hash !== "") throw new SettingError(form);
  const places = hosts.split(",").map((place) => hostOf(place, form));
  if (places.length > MOST_HOSTS) throw new SettingError(`must have at most ${MOST_HOSTS} hosts`);
  return { hosts: places, name, user: user === "" ? null : user, tls: sslmode, schema };
}

function hostOf(place: string, form: string): DatabasePlace["hosts"][number] {
  const text = `postgres://${place}`;
  if (place === "" || !URL.canParse(text)) throw new SettingError(form);
  const { hostname, port } = new URL(text);
  const host = decoded(hostname).replace(/^\[|\]$/gu, "");
  if (host === "") throw new SettingError(form);
  return { host, port: port === "" ? DEFAULT_PORT : Number(port) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new SettingError("has an escape (%) that is none", { cause: error });
  }
}
