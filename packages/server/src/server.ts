/**
 * One running server: the HTTP app, the engine host and the embedder, started together and stopped in order. It answers
 * 503 until the engine serves, so that whoever waits for it can tell starting from absent.
 */
import { rm } from "node:fs/promises";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Server as TlsServer } from "node:tls";
import {
  type ClusterEngine,
  type HostedEngine,
  type TenantQuotas,
  createHostedEngine,
  engineService,
  makeLockedFolder,
  prepareDataFolder,
} from "@sheaf/engine";
import { ClusterGateway } from "./cluster/cluster-gateway.ts";
import { ClusterNode, engineLog } from "./cluster/cluster-node.ts";
import { FolderWatch } from "./folder-watch.ts";
import { type Role, clusterOf } from "./settings/cluster-settings.ts";
import { databaseOf } from "./settings/database-settings.ts";
import { bucketAt, isBucket, objectsOf } from "./settings/object-settings.ts";
import { archiveOf } from "./settings/archive-of.ts";
import { type Embedder, type EmbedderOptions, embedService } from "@sheaf/inference";
import { IdleGc, hasSpareCore } from "@sheaf/process";
import { DEFAULT_TASKS, SheafError } from "@sheaf/protocol";
import type { Logger } from "pino";
import { collectDefaultMetrics } from "prom-client";
import type { App } from "./app.ts";
import { type RootKey, loadRootKey } from "./auth/root-key.ts";
import { RootKeySlot } from "./auth/root-key-slot.ts";
import type { Settings } from "./config.ts";
import { BrowserGuard } from "./http/browser-guard.ts";
import { listen, requireFree } from "./http/listen.ts";
import { type TlsFiles, type TlsIdentity, readTlsIdentity } from "./tls/tls-identity.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { ListenSettings } from "./listen-error.ts";
import { type MetricsListener, listenForMetrics } from "./metrics/metrics-listener.ts";
import { ServerMetrics } from "./metrics/server-metrics.ts";
import { embedderOptions } from "./embedder-options.ts";
import { makeEmbedders } from "./make-embedders.ts";
import { readTasksFile } from "./tasks-file.ts";
import { EngineSlot, refuseCalls, refuseEngine } from "./request/engine-source.ts";
import { type BackupShelf, bucketShelf, folderShelf } from "./services/backups/backup-shelf.ts";
import { CatalogFeed } from "./services/catalog-feed.ts";
import type { UsageBounds } from "./services/usage-service.ts";

/** How long requests in flight may go on after a stop; the rest of the 10 s is for the children. */
const DRAIN_MS = 8_000;
/** For the answers of the requests that were ended to reach their callers. */
const LAST_ANSWERS_MS = 300;

/** What has to be ended beside the app. */
interface Parts {
  readonly embedder: Embedder;
  readonly memory: IdleGc;
  /** Of a server that keeps nothing. */
  readonly gateway: ClusterGateway | null;
  readonly folder: FolderWatch;
  /** What gateways call. */
  node: ClusterNode | null;
  engine: HostedEngine | ClusterEngine | null;
  metricsListener: MetricsListener | null;
}

export interface RunningServer {
  /** Where it listens. */
  readonly url: string;
  /** Port of the metrics; `null`: none of their own. */
  readonly metricsPort: number | null;
  /** `null`: auth is off, or the key is the operator's own. */
  readonly rootKey: RootKey | null;
  /** Resolves where the data folder was removed below the server, or another one took its place: it serves no more then. */
  readonly folderLost: Promise<void>;
  /** From here on it says that it is ready. */
  open(): void;
  /** Reads the files of the certificate again, for new connections. What cannot be used is logged, and the old one stays. */
  reloadTls(): void;
  /** Finishes what is in flight, ends the children, and resolves within 10 s. */
  stop(): Promise<void>;
}

/**
 * Throws where a setting, the port or the data folder cannot be used; nothing is left running then. What `embedding`
 * holds goes before what the settings say; it is for programs that carry a server inside, such as the benchmarks.
 */
export async function startServer(
  settings: Settings,
  logger: Logger,
  embedding: EmbedderOptions = {},
): Promise<RunningServer> {
  if (settings.role !== "gateway") return start(settings, logger, embedding);
  // For replies that do not fit into memory, and files of models. Nothing of it is missed afterwards.
  const folder = await makeLockedFolder(tmpdir(), "sheaf-gateway-");
  try {
    const server = await start({ ...settings, dataFolder: folder.path }, logger, embedding);
    const stopped = async (): Promise<void> => {
      await server.stop();
      await folder.remove();
    };
    return { ...server, stop: stopped };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

async function start(settings: Settings, logger: Logger, embedding: EmbedderOptions): Promise<RunningServer> {
  const tasks = settings.tasksFile === null ? DEFAULT_TASKS : await readTasksFile(settings.tasksFile);
  const models = { ...(await embedderOptions(settings)), ...embedding };
  const tls = tlsFiles(settings);
  const identity = tls === null ? null : firstIdentity(tls, logger);
  const metrics = new ServerMetrics();
  collectDefaultMetrics({ register: metrics.registry });
  await requireFreePorts(settings);
  const { role } = settings;
  const catalog = settings.database === null || isClosed(role) ? null : new CatalogFeed();
  const { embedder, local, shared } = makeEmbedders(settings, models, { logger, metrics });
  const gateway =
    settings.role === "gateway" && shared !== null ? new ClusterGateway(settings, shared, logger) : null;
  const starting = startEngine(settings, { logger, metrics, gateway, catalog });
  // Its process comes up while the framework is loaded, which takes as long as all other modules, and the app is made.
  await nextTurn();
  const { createApp } = await import("./app.ts");
  const lifecycle = new Lifecycle();
  const [slot, rootKeySlot] = [new EngineSlot(), new RootKeySlot()];
  const parts = partsOf(shared ?? local, gateway);
  const app = createApp({
    ...settings,
    tls: identity,
    embedder,
    tasks,
    metrics,
    lifecycle,
    engineAnswers: () => role === "embed" || parts.engine?.responsive === true,
    logger,
    engine: role === "embed" ? refuseEngine : role === "index" ? refuseCalls : slot.get,
    measured: role === "embed" ? refuseEngine : slot.get,
    ...{ spoolFolder: spoolOf(settings), catalog, backupShelf: backupShelf(settings) },
    ...{ isDatabase: settings.database !== null, usageBounds: quotasOf(settings) },
    nodes: async () => parts.gateway?.list() ?? parts.node?.list() ?? null,
    keys: settings.auth ? rootKeySlot : null,
    ...(settings.busyWait && hasSpareCore() && gateway === null && { expectCall: expectCallsOf(parts) }),
  });
  let rootKey: RootKey | null = null;
  try {
    await listen(app.http, listenSettings(settings));
    parts.metricsListener = await openMetrics(settings, app, logger);
    parts.engine = await starting;
    if (parts.engine !== null) {
      // What a crash left of replies; the data folder is locked by now.
      await rm(spoolOf(settings), { recursive: true, force: true });
      slot.set(parts.engine);
    }
    if (settings.nodeListen !== null) {
      const service = parts.engine === null ? embedService(local) : engineService(parts.engine);
      parts.node = await ClusterNode.start(settings, { service, embedder: shared }, logger);
    }
    // Last: whoever is shown a new key has a server that uses it.
    if (settings.auth && settings.rootKey === null) rootKey = await loadRootKey(settings.dataFolder);
    rootKeySlot.set(settings.rootKey ?? rootKey?.key ?? "");
  } catch (error) {
    parts.engine ??= await starting.catch(() => null);
    await stop(app, lifecycle, parts);
    throw error;
  }
  return {
    url: listenerUrl(app, settings),
    metricsPort: parts.metricsListener?.port ?? null,
    rootKey,
    folderLost: parts.folder.lost,
    open: () => lifecycle.advance("serving"),
    reloadTls: () => reloadTls(tls, app, logger),
    stop: () => stop(app, lifecycle, parts),
  };
}

function backupShelf(settings: Settings): BackupShelf | null {
  const { backupFolder } = settings;
  if (backupFolder === null) return null;
  return isBucket(backupFolder)
    ? bucketShelf(bucketAt(backupFolder, settings))
    : folderShelf(resolve(backupFolder));
}

/** It answers no calls on collections. */
function isClosed(role: Role): boolean {
  return role === "embed" || role === "index";
}

function partsOf(embedder: Embedder, gateway: ClusterGateway | null): Parts {
  const later = { node: null, engine: null, metricsListener: null };
  const folder = new FolderWatch(() => hasItsFolder(parts));
  const parts: Parts = { embedder, memory: new IdleGc(), gateway, folder, ...later };
  return parts;
}

function hasItsFolder({ engine }: Readonly<Parts>): boolean {
  return engine === null || !("hasFolder" in engine) || engine.hasFolder;
}

function firstIdentity(tls: TlsFiles, logger: Logger): TlsIdentity {
  const identity = readTlsIdentity(tls);
  if (identity.endsAt < Date.now())
    logger.warn({ endedAt: new Date(identity.endsAt) }, "the certificate of --tls-cert has expired");
  return identity;
}

function tlsFiles({ tlsCert: cert, tlsKey: key }: Settings): TlsFiles | null {
  return cert === null || key === null ? null : { cert, key };
}

function reloadTls(files: TlsFiles | null, { http }: App, logger: Logger): void {
  if (files === null) return;
  try {
    const identity = readTlsIdentity(files);
    (http.server as Server as TlsServer).setSecureContext({ cert: identity.cert, key: identity.key });
    logger.info({ endsAt: new Date(identity.endsAt) }, "read the certificate again");
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    logger.error({ problem }, "the certificate cannot be read again; the one before stays in use");
  }
}

/** A start that finds a port in use leaves no data folder behind. */
async function requireFreePorts(settings: Settings): Promise<void> {
  await requireFree(listenSettings(settings));
  if (settings.metricsPort !== null) await requireFree(metricsSettings(settings, settings.metricsPort));
}

function listenSettings({ host, port }: Settings): ListenSettings {
  return { host, port, flags: { host: "--host", port: "--port" } };
}

function metricsSettings({ metricsHost: host }: Settings, port: number): ListenSettings {
  return { host, port, flags: { host: "--metrics-host", port: "--metrics-port" } };
}

/** Whatever auth is: a page whose name resolves to the address of this port would read it. `null`: they have no port of their own. */
async function openMetrics(
  settings: Settings,
  { renderMetrics: render }: App,
  logger: Logger,
): Promise<MetricsListener | null> {
  const hostRule = "must be the address of the connection, --metrics-host or one of --allowed-hosts";
  const { metricsHost, metricsPort, allowedHosts } = settings;
  if (metricsPort === null) return null;
  const guard = new BrowserGuard({
    allowedHosts: [...allowedHosts, metricsHost],
    allowedOrigins: [],
    hostRule,
  });
  const at = metricsSettings(settings, metricsPort);
  return listenForMetrics({ at, render, logger, refusal: (request) => guard.refusal(request) });
}

function spoolOf({ dataFolder }: Settings): string {
  return join(dataFolder, "spool");
}

function quotasOf(settings: Settings): TenantQuotas & UsageBounds {
  return {
    databases: settings.quotaDatabases,
    collections: settings.quotaCollections,
    keys: settings.quotaKeys,
    records: settings.quotaRecords,
    bytes: settings.quotaBytes,
    tokensPerDay: settings.quotaTokensPerDay,
  };
}

interface EngineSurroundings {
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly gateway: ClusterGateway | null;
  readonly catalog: CatalogFeed | null;
}

/** Gives `null` on a server that keeps nothing. */
function startEngine(
  settings: Settings,
  { logger, metrics, gateway, catalog }: EngineSurroundings,
): Promise<HostedEngine | ClusterEngine | null> {
  for (const warning of prepareDataFolder(settings.dataFolder, settings.diskReserve)) logger.warn(warning);
  if (settings.vectorMemory !== null)
    logger.warn(
      "--vector-memory (SHEAF_VECTOR_MEMORY) is deprecated: use --index-memory (SHEAF_INDEX_MEMORY)",
    );
  if (settings.role === "search" && settings.nodeListen === null)
    logger.warn("no gateway finds this search node: --node-listen is not set");
  if (settings.role === "embed") return Promise.resolve(null);
  if (gateway !== null) {
    metrics.watchNodes(() => gateway.measure);
    return heard(gateway.start(catalog));
  }
  metrics.childStarted("engine host");
  return heard(
    createHostedEngine({
      dataFolder: settings.dataFolder,
      quotas: quotasOf(settings),
      indexMemory: settings.indexMemory,
      ...(settings.unsealedMemory !== null && { unsealedMemory: settings.unsealedMemory }),
      ...(settings.purgeAfterMs !== null && { purgeAfterMs: settings.purgeAfterMs }),
      index: settings.index,
      ...archiveOf(settings),
      ...databaseOf(settings),
      ...clusterOf(settings),
      ...(catalog !== null && { onCatalog: catalog.tell }),
      ...objectsOf(settings),
      shareStores: settings.shareStores,
      diskReserve: settings.diskReserve,
      log: engineLog(logger),
      onHostDeath: () => metrics.childEnded("engine host"),
    }),
  );
}

/** Whoever waits for it later hears why it failed. */
function heard<T>(starting: Promise<T>): Promise<T> {
  starting.catch(() => {});
  return starting;
}

function expectCallsOf(parts: Readonly<Parts>): (kind: string) => void {
  return (kind) => {
    if (parts.engine !== null && "expectCall" in parts.engine) parts.engine.expectCall(kind);
  };
}

async function stop(
  { http, deadlines, ledger }: App,
  lifecycle: Lifecycle,
  parts: Readonly<Parts>,
): Promise<void> {
  lifecycle.advance("draining");
  const left = parts.node?.leave(DRAIN_MS);
  const closed = http.close();
  const grace = setTimeout(() => {
    deadlines.abortAll(new SheafError("unavailable", "the server is shutting down"));
    setTimeout(() => http.server.closeAllConnections(), LAST_ANSWERS_MS);
  }, DRAIN_MS);
  await deadlines.idle();
  // What is open now has no request on it.
  http.server.closeAllConnections();
  await closed;
  clearTimeout(grace);
  parts.memory.stop();
  parts.folder.close();
  await ledger.close();
  await parts.metricsListener?.close();
  await left;
  await Promise.all([parts.node?.close(), parts.gateway?.close()]);
  await Promise.all([parts.engine?.close(), parts.embedder.close()]);
}

function listenerUrl({ http }: App, { host, tlsCert }: Settings): string {
  const address = http.server.address() as AddressInfo;
  const shown = host.includes(":") ? `[${host}]` : host;
  return `${tlsCert === null ? "http" : "https"}://${shown}:${address.port}`;
}
