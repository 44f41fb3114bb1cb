/**
 * Every setting of the server in one table: its environment variable, its flag, its default and its words. `--help`
 * and the reference page come from the table, and the environment is read here and nowhere else. A flag wins over the
 * environment, which wins over the file of `--config`, which wins over the default.
 */
import type { DiskReserve, IndexSettings } from "@sheaf/engine";
import { LIMITS } from "@sheaf/protocol";
import { BACKUP_SETTINGS, type BackupSettings } from "./settings/backup-settings.ts";
import { BOUND_SETTINGS, type BoundSettings } from "./settings/bound-settings.ts";
import { CLUSTER_SETTINGS, type ClusterSettings, type Role, parseRole } from "./settings/cluster-settings.ts";
import { CONNECTION_SETTINGS, type ConnectionSettings } from "./settings/connection-settings.ts";
import { type ConfigFile, readConfigFile } from "./settings/config-file.ts";
import { DATABASE_SETTINGS, type DatabaseSettings } from "./settings/database-settings.ts";
import { parseRootKey, readSecretFile } from "./settings/secret-file.ts";
import { TLS_SETTINGS, type TlsSettings } from "./settings/tls-settings.ts";
import { OBJECT_SETTINGS, type ObjectSettings } from "./settings/object-settings.ts";
import { REPLY_SETTINGS, type ReplySettings } from "./settings/reply-settings.ts";
import { MODEL_SETTINGS, type ModelSettings } from "./settings/model-settings.ts";
import { countSetting } from "./settings/count-setting.ts";
import { parseDiskReserve } from "./settings/parse-disk-reserve.ts";
import { parseFolder } from "./settings/parse-folder.ts";
import { parseGibibytes } from "./settings/parse-gibibytes.ts";
import { parseList } from "./settings/parse-list.ts";
import { parsePurgeAfter } from "./settings/parse-days.ts";
import { parseIndexSettings, parseSwitch } from "./settings/parse-switch.ts";
import { refuseConflicts } from "./settings/setting-conflicts.ts";
import { STORE_SETTINGS, type StoreSettings } from "./settings/store-settings.ts";
import { SettingError } from "./settings/setting-error.ts";

type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface Settings
  extends
    BackupSettings,
    BoundSettings,
    ClusterSettings,
    ConnectionSettings,
    DatabaseSettings,
    ModelSettings,
    ObjectSettings,
    ReplySettings,
    StoreSettings,
    TlsSettings {
  readonly host: string;
  /** 0: a free one, printed at the start. */
  readonly port: number;
  readonly dataFolder: string;
  readonly auth: boolean;
  readonly role: Role;
  /** The operator's own root key; `null`: one is made. */
  readonly rootKey: string | null;
  /** The key that the file holds. */
  readonly rootKeyFile: string | null;
  readonly configFile: string | null;
  readonly allowReset: boolean;
  readonly logLevel: LogLevel;
  readonly corsAllowOrigins: readonly string[];
  /** How long a rotated key goes on where its rotation does not say. */
  readonly keyOverlapSeconds: number;
  /** Requests that take longer are logged as slow; 0: none are. */
  readonly slowRequestMs: number;
  /** Port of `metricsHost` that serves the metrics without a key; `null`: none. */
  readonly metricsPort: number | null;
  /** What is kept free on the disk of the data folder. */
  readonly diskReserve: DiskReserve;
  /** Of all indexes, in bytes. */
  readonly indexMemory: number;
  /** For rows that are in no index file yet, in bytes; `null`: half of `indexMemory`, and 2 GiB at most. */
  readonly unsealedMemory: number | null;
  /** What it was called before; `null`: not set. */
  readonly vectorMemory: number | null;
  /** Until bytes of deleted records have left the data folder; `null`: they may stay. */
  readonly purgeAfterMs: number | null;
  /** Whether indexes are kept in files, and how large their segments are. */
  readonly index: IndexSettings;
  /** Waiting awake for callers that are alone, where there is a core to spare. */
  readonly busyWait: boolean;
}

export interface Setting<T = unknown> {
  readonly env: string;
  /** Long flag and its operand; `null` for secrets, which do not belong on a command line. */
  readonly flag: { readonly name: string; readonly operand: string } | null;
  /** As an operator would write it; `null`: not set. */
  readonly default: string | null;
  readonly doc: string;
  readonly isList?: boolean;
  /** Throws a `SettingError` that says what is expected. */
  parse(text: string): T;
}

type SettingTable = { readonly [name in keyof Settings]: Setting<Settings[name]> };

export const SETTINGS: SettingTable = {
  host: {
    env: "SHEAF_HOST",
    flag: { name: "host", operand: "address" },
    default: "127.0.0.1",
    doc: "Address to listen on; 0.0.0.0 listens on every interface.",
    parse: (text) => text,
  },
  port: {
    env: "SHEAF_PORT",
    flag: { name: "port", operand: "number" },
    default: "8000",
    doc: "Port to listen on; 0 selects a free port and prints it.",
    parse: parsePort,
  },
  dataFolder: {
    env: "SHEAF_DATA",
    flag: { name: "data", operand: "folder" },
    default: "./sheaf-data",
    doc: "Data folder. Created if missing, with mode 0700.",
    parse: parseFolder,
  },
  auth: {
    env: "SHEAF_AUTH",
    flag: { name: "auth", operand: "on|off" },
    default: "on",
    doc: "Whether requests need an API key. `off` is allowed on a loopback address only.",
    parse: parseSwitch,
  },
  role: {
    env: "SHEAF_ROLE",
    flag: { name: "role", operand: "role" },
    default: "all",
    doc: "What this server does: all, embed (stores no collections), search (runs no models), or, experimental, gateway (stores nothing itself, and asks search and embed nodes) or index (serves nothing, and makes indexes and checkpoints for the others of a database).",
    parse: parseRole,
  },
  rootKey: {
    env: "SHEAF_ROOT_KEY",
    flag: null,
    default: null,
    doc: "The root key, 16 to 512 printable characters. Without it a key is generated at the first start and stored in the data folder.",
    parse: parseRootKey,
  },
  rootKeyFile: {
    env: "SHEAF_ROOT_KEY_FILE",
    flag: { name: "root-key-file", operand: "file" },
    default: null,
    doc: "File with the root key, such as a secret that a container or systemd mounts. A line break at its end does not count.",
    parse: (text) => parseRootKey(readSecretFile(text)),
  },
  configFile: {
    env: "SHEAF_CONFIG",
    flag: { name: "config", operand: "file" },
    default: null,
    doc: 'JSON file of settings, by the names of their flags: {"port": 8000, "data": "/var/lib/sheaf"}. Flags and variables win over it.',
    parse: (text) => text,
  },
  allowReset: {
    env: "SHEAF_ALLOW_RESET",
    flag: { name: "allow-reset", operand: "on|off" },
    default: "off",
    doc: "Whether POST /api/v2/reset may delete all data.",
    parse: parseSwitch,
  },
  logLevel: {
    env: "SHEAF_LOG_LEVEL",
    flag: { name: "log-level", operand: "level" },
    default: "info",
    doc: "Log level: trace, debug, info, warn, error or silent.",
    parse: (text) => parseChoice(text, ["trace", "debug", "info", "warn", "error", "silent"]),
  },
  corsAllowOrigins: {
    env: "SHEAF_CORS_ALLOW_ORIGINS",
    flag: { name: "cors-allow-origins", operand: "origins" },
    default: "",
    doc: "Origins allowed by CORS, separated by commas; * allows every origin.",
    isList: true,
    parse: parseOrigins,
  },
  ...CONNECTION_SETTINGS,
  ...TLS_SETTINGS,
  ...MODEL_SETTINGS,
  keyOverlapSeconds: countSetting("key-overlap-seconds", {
    operand: "seconds",
    initial: 86_400,
    doc: "How long a rotated API key stays valid unless the rotation says otherwise; at most 30 days.",
    most: LIMITS.keyOverlapSeconds,
  }),
  ...BOUND_SETTINGS,
  ...REPLY_SETTINGS,
  ...BACKUP_SETTINGS,
  ...STORE_SETTINGS,
  ...{ ...DATABASE_SETTINGS, ...OBJECT_SETTINGS, ...CLUSTER_SETTINGS },
  slowRequestMs: countSetting("slow-request-ms", {
    operand: "milliseconds",
    initial: 1_000,
    doc: "Requests that take longer are logged as slow, with the time spent in each stage; 0 disables this.",
  }),
  metricsPort: {
    env: "SHEAF_METRICS_PORT",
    flag: { name: "metrics-port", operand: "number" },
    default: null,
    doc: "Port of --metrics-host that serves GET /metrics without a key. On the main port it needs an admin key.",
    parse: parsePort,
  },
  diskReserve: {
    env: "SHEAF_DISK_RESERVE",
    flag: { name: "disk-reserve", operand: "bytes|share" },
    default: "10%",
    doc: "What is kept free on the disk of the data folder, and on that of the archive, in bytes or as a share of its size (10%): a write that would take it is answered with 507, while reads and deletes go on.",
    parse: parseDiskReserve,
  },
  indexMemory: {
    env: "SHEAF_INDEX_MEMORY",
    flag: { name: "index-memory", operand: "GiB" },
    default: "3",
    doc: "Memory for the indexes of all collections: vectors, their codes, copies of codes that filters use, ids, metadata, sparse postings, and records that are in no index file yet; fractions are allowed (0.5). What does not fit is read from disk, which is slower. A million records of 384 dimensions need 0.5 GiB, and are fastest with 3. A quarter, 0.125 GiB at most, is left to the writing of index files.",
    parse: parseGibibytes,
  },
  unsealedMemory: {
    env: "SHEAF_UNSEALED_MEMORY",
    flag: { name: "unsealed-memory", operand: "GiB" },
    default: null,
    doc: "Memory for records that are in no index file yet, over all collections: ids, metadata and vectors; by default half of --index-memory without what is left to the writing of index files, and 2 GiB at most. It counts there, too. From three quarters of it on, unused collections are closed and large writers slowed until index files are written; at the bound they wait, and then get 503.",
    parse: parseGibibytes,
  },
  vectorMemory: {
    env: "SHEAF_VECTOR_MEMORY",
    flag: { name: "vector-memory", operand: "GiB" },
    default: null,
    doc: "Deprecated: the former name of --index-memory, used where that is not set.",
    parse: parseGibibytes,
  },
  purgeAfterMs: {
    env: "SHEAF_PURGE_AFTER",
    flag: { name: "purge-after", operand: "days" },
    default: "7",
    doc: "Until the bytes of deleted and replaced records have left the data folder, in days; fractions are allowed (0.5). Each collection with deletes is compacted that often; while its store is copied, requests to it wait. off keeps free pages, which later writes use.",
    parse: parsePurgeAfter,
  },
  index: {
    env: "SHEAF_INDEX_FILES",
    flag: null,
    default: "on",
    doc: "Keeps the indexes of collections in files, so that a collection opens without reading all of its records. off removes the files of each collection that is opened and makes its index of the records. indexer (experimental) has the files written by a process of its own, which bounds memory and unsealed records during fast loads and slows these down. Two numbers (32/128) set the rows of a segment that is filled and of the largest one, for tests.",
    parse: parseIndexSettings,
  },
  busyWait: {
    env: "SHEAF_BUSY_WAIT",
    flag: { name: "busy-wait", operand: "on|off" },
    default: "on",
    doc: "Busy polling: the server spins for up to 0.4 ms for the next request of a single client, instead of sleeping. Lower latency for more processor time. Never used on fewer than two cores.",
    parse: parseSwitch,
  },
};

/** Texts of flags by setting name, as the command line gives them. */
export type FlagTexts = { readonly [name in keyof Settings]?: string | undefined };
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether `npx`, or `npm exec`, has started this process. */
export function isBelowNpx(environment: Environment = process.env): boolean {
  return environment["npm_command"] === "exec";
}

/** Variables that look like settings and are none: most often a misspelt one, which sets nothing. */
export function unknownVariables(environment: Environment = process.env): readonly string[] {
  const known = new Set([
    ...Object.values(SETTINGS).map(({ env }) => env),
    ...Object.values<string>(ADDRESS_VARIABLES),
  ]);
  return Object.keys(environment).filter((name) => name.startsWith("SHEAF_") && !known.has(name));
}

/** As `readSettings`, beside what the file of `--config` says. Throws a `SettingError` for that file, too. */
export async function loadSettings(
  flags: FlagTexts,
  environment: Environment = process.env,
): Promise<Settings> {
  const path = readSetting(SETTINGS.configFile, { flag: flags.configFile, environment });
  if (path === null) return readSettings(flags, environment);
  const isReplaced = (name: keyof Settings) => isGiven(SETTINGS[name], { flag: flags[name], environment });
  return readSettings(flags, environment, await readConfigFile(path, SETTINGS, isReplaced));
}

/** Reads all settings; throws a `SettingError` that names the flag, the variable, or the place in the file. */
export function readSettings(
  flags: FlagTexts,
  environment: Environment = process.env,
  file: ConfigFile = NO_FILE,
): Settings {
  const sources = (name: keyof Settings): Sources => ({ flag: flags[name], environment, file, name });
  const names = Object.keys(SETTINGS) as (keyof Settings)[];
  const read = Object.fromEntries(
    names.map((name) => [name, readSetting<unknown>(SETTINGS[name], sources(name))]),
  ) as unknown as Settings;
  refuseConflicts(read, (name) => sourceName(SETTINGS[name], sources(name)));
  const former = isGiven(SETTINGS.indexMemory, sources("indexMemory")) ? null : read.vectorMemory;
  return {
    ...read,
    indexMemory: former ?? read.indexMemory,
    rootKey: read.rootKey ?? read.rootKeyFile,
    hfToken: read.hfToken ?? read.hfTokenFile,
  };
}

/** Where the text of one setting may come from. */
interface Sources {
  readonly flag: string | undefined;
  readonly environment: Environment;
  readonly file?: ConfigFile;
  readonly name?: keyof Settings;
}

const NO_FILE: ConfigFile = { path: "", texts: {} };

interface Source {
  /** As the user gave it. */
  readonly name: string;
  readonly text: string;
}

/** The one that counts; `null`: the setting is left out. An empty variable counts as not set. */
function givenSource(
  { flag, env }: Setting,
  { flag: given, environment, file, name }: Sources,
): Source | null {
  const variable = environment[env];
  if (given !== undefined) return { name: `--${flag?.name}`, text: given };
  if (variable !== undefined && variable !== "") return { name: env, text: variable };
  const text = file === undefined || name === undefined ? undefined : file.texts[name];
  return text === undefined ? null : { name: `${file?.path}: ${flag?.name ?? env}`, text };
}

function isGiven(setting: Setting, sources: Sources): boolean {
  return givenSource(setting, sources) !== null;
}

function sourceName(setting: Setting, sources: Sources): string {
  return givenSource(setting, sources)?.name ?? setting.env;
}

/** `null`: not set, and without a default. */
function readSetting<T>(setting: Setting<T>, sources: Sources): T | null {
  const initial = setting.default === null ? null : { name: setting.env, text: setting.default };
  const source = givenSource(setting, sources) ?? initial;
  if (source === null) return null;
  try {
    return setting.parse(source.text);
  } catch (error) {
    if (error instanceof SettingError)
      throw new SettingError(`${source.name}: ${error.message}`, { cause: error });
    throw error;
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new SettingError("must be a port number, 0 to 65535");
  return port;
}

function parseChoice<const T extends string>(text: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw new SettingError(`must be one of ${choices.join(", ")}`);
  return choice;
}

function parseOrigins(text: string): readonly string[] {
  const origins = parseList(text);
  for (const origin of origins) {
    const valid = origin === "*" || (URL.canParse(origin) && new URL(origin).origin === origin);
    if (!valid) throw new SettingError(`"${origin}" is not an origin such as https://example.org`);
  }
  return origins;
}

/** Where the commands that speak to a server find it. */
export interface ServerAddress {
  readonly url: string;
  /** `null`: none is sent. */
  readonly key: string | null;
}

export const ADDRESS_VARIABLES = { url: "SHEAF_URL", key: "SHEAF_KEY" } as const;
const DEFAULT_URL = "http://127.0.0.1:8000";

/** A flag wins over the environment; throws a `SettingError` for what is no URL. */
export function readServerAddress(
  flags: { readonly url?: string | undefined; readonly key?: string | undefined },
  environment: Environment = process.env,
): ServerAddress {
  const read = (name: keyof typeof ADDRESS_VARIABLES): string | undefined =>
    flags[name] ?? (environment[ADDRESS_VARIABLES[name]] || undefined);
  const url = read("url") ?? DEFAULT_URL;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new SettingError(`"${url}" is not a URL of a server`);
  return { url: url.replace(/\/+$/, ""), key: read("key") ?? null };
}

export const QDRANT_KEY_VARIABLE = "QDRANT_API_KEY";

/** Of the server that `sheaf import qdrant` reads. */
export function readQdrantKey(environment: Environment = process.env): string | null {
  return environment[QDRANT_KEY_VARIABLE] || null;
}
