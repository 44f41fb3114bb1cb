/**
 * The engine host: a process that serves one `LocalEngine` to its gateway. It registers in the data folder's lock
 * before it opens anything, emits `ready` when it serves, and leaves when the gateway goes.
 */
import {
  CallersSign,
  IdleGc,
  type RpcServer,
  StandstillWatch,
  optimizeEarly,
  serveParent,
} from "@sheaf/process";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { CatalogReport } from "../catalog/catalog-watch.ts";
import { type EngineLogEntry, describeError } from "../engine-log.ts";
import { nodeRecordsOf } from "../cluster/node-records.ts";
import { LocalEngine } from "../local-engine.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import type { ResultBatch } from "../engine.ts";
import { problemAtStart } from "../storage/postgres/connection-problems.ts";
import { CallerErrors } from "./caller-errors.ts";
import { registerHost } from "./data-lock.ts";
import { clusterOfHost, databaseOfHost, objectsOfHost } from "./host-arguments.ts";
import { INHERITED_LOCK_FD } from "./host-process.ts";
import {
  type DamageEvent,
  HOST_METHODS,
  type HostArguments,
  type HostMethod,
  type TouchEvent,
  isSignalled,
} from "./host-protocol.ts";
import { packIfLong } from "./pack-if-long.ts";
import { tenantOf } from "./tenant-of.ts";

/** Long enough for the last message to leave before the process does. */
const FAREWELL_MS = 100;

optimizeEarly();
// Everything that LMDB makes in the data folder is the owner's alone.
process.umask(0o077);
const { lockToken, database, objects, cluster, ...told } = JSON.parse(
  process.argv[2] ?? "{}",
) as HostArguments;
const secret = { ...databaseOfHost(database, process.env), ...objectsOfHost(objects, process.env) };
const engineOptions = { ...told, ...secret };
const nodes = clusterOfHost(cluster, process.env);
const records = nodes && engineOptions.database && nodeRecordsOf(nodes, engineOptions.database, log);
let opened: LocalEngine | null = null;
const memory = new IdleGc();
const errors = new CallerErrors(log);

const server: RpcServer = serveParent(
  async (method, args, options) => {
    if (opened === null)
      throw new SheafError("unavailable", "the engine is starting", { retryAfterSeconds: 1 });
    return call(opened, method, args, options);
  },
  {
    onParentGone: async () => {
      memory.stop();
      await opened?.close();
      await records?.close();
    },
    ownerOf: tenantOf,
    onSign: (number) => sign?.heard(number),
    onUnexpected: (error) =>
      log({ level: "error", message: "unexpected error", error: describeError(error) }),
  },
);

// Where nobody else writes, what is done late comes before nothing that its caller was told.
const sign = database && new CallersSign(new StandstillWatch(), (number) => server.askCallers(number), null);

try {
  registerHost(new DataFolder(engineOptions.dataFolder).lockFile, lockToken);
  const onTouch = (store: string, touching: boolean): void =>
    server.emit("touch", { store, touching } satisfies TouchEvent);
  const onDamage = (collection: string, isDamaged: boolean): void =>
    server.emit("damage", { collection, isDamaged } satisfies DamageEvent);
  const onCatalog = (report: CatalogReport): void => server.emit("catalog", report);
  const told = { log, onTouch, onDamage, onCatalog };
  const askRecords = records?.ask;
  const callersWait = (): Promise<unknown> | undefined => sign?.wanted;
  const ofHost = { lockFd: INHERITED_LOCK_FD, askRecords, callersWait };
  opened = await LocalEngine.open({ ...engineOptions, ...ofHost, ...told });
  server.emit("ready", null);
} catch (error) {
  const problem = problemAtStart(error);
  const known =
    problem instanceof SheafError ? problem : new SheafError("internal", "the engine could not start");
  server.emit("failed", known.toMessage());
  log({ level: "error", message: known.message, error: describeError(problem) });
  setTimeout(() => process.exit(1), FAREWELL_MS);
}

async function call(
  engine: LocalEngine,
  method: string,
  args: readonly unknown[],
  options: { readonly signal: CancelSignal },
): Promise<unknown> {
  if (!isHostMethod(method)) throw new SheafError("internal", `the engine host has no method ${method}`);
  const target = engine[method] as (this: LocalEngine, ...args: readonly unknown[]) => Promise<unknown>;
  try {
    const result = await target.apply(engine, isSignalled(method) ? [...args, options] : [...args]);
    if (method === "nextBatch") await packIfLong(result as ResultBatch, options.signal);
    return result;
  } catch (error) {
    throw errors.translate(error);
  }
}

function isHostMethod(method: string): method is HostMethod {
  return HOST_METHODS.has(method as HostMethod);
}

function log(entry: EngineLogEntry): void {
  server.emit("log", entry);
}
