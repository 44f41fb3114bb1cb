/** Everything a handler or a hook may call, made once per server. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CatalogReport, DiskReserve, Engine, EngineStatistics, ListedNode } from "@sheaf/engine";
import type { Embedder } from "@sheaf/inference";
import { DEFAULT_TASKS, SheafError, type TaskTable } from "@sheaf/protocol";
import type { Logger } from "pino";
import { AccessWatch } from "../auth/access-watch.ts";
import { MadeKeyStore } from "../auth/made-key-store.ts";
import { ServerMetrics } from "../metrics/server-metrics.ts";
import { StageClock } from "../metrics/stage-clock.ts";
import { DEFAULT_REPLY_SETTINGS } from "../settings/reply-settings.ts";
import { ActivityLedger } from "../auth/activity-ledger.ts";
import { BackupService } from "./backups/backup-service.ts";
import type { BackupShelf } from "./backups/backup-shelf.ts";
import type { CatalogFeed } from "./catalog-feed.ts";
import { CheckService } from "./check-service.ts";
import { CollectionPlans } from "./collection-plans.ts";
import { EmbedService } from "./embed-service.ts";
import { type EngineSource, isRefusing } from "../request/engine-source.ts";
import { DEFAULT_DEADLINE_SECONDS, DeadlineRegistry } from "../request/request-context.ts";
import { ListReplies } from "../replies/list-replies.ts";
import { type ReplyBounds, ReplyStore } from "../replies/reply-store.ts";
import { ResultReplies } from "../replies/result-replies.ts";
import { GetService } from "./get-service.ts";
import { HighlightService } from "./highlight-service.ts";
import { KeyService } from "./key-service.ts";
import { ModelService } from "./model-service.ts";
import { SearchService } from "./search-service.ts";
import { TransactionService } from "./transaction-service.ts";
import { type UsageBounds, UsageService } from "./usage-service.ts";
import { WriteService } from "./write-service.ts";

export interface ServiceOptions extends Partial<ReplyBounds> {
  /** Other servers change what the engine keeps, too, and it reports that here; by default none do. */
  readonly catalog?: CatalogFeed | null;
  /** One that refuses on a server whose role serves no collections. */
  readonly engine: EngineSource;
  /** Whose statistics are among the metrics; `engine` by default. */
  readonly measured?: EngineSource;
  readonly embedder: Embedder;
  /** Tasks of models that take instructions. Default: the built-in ones. */
  readonly tasks?: TaskTable;
  /** Where what is measured goes; of its own by default. */
  readonly metrics?: ServerMetrics;
  readonly logger?: Logger;
  /** How long a rotated key goes on where its rotation does not say. Default a day. */
  readonly keyOverlapSeconds?: number;
  /** Milliseconds since 1970; the system's clock by default. */
  readonly now?: () => number;
  /** Where replies wait that do not fit into memory; in the folder for temporary files by default. */
  readonly spoolFolder?: string;
  /** Where backups are made; `null`, the default: none are. */
  readonly backupShelf?: BackupShelf | null;
  /** The records are in a database, whose backups are not made here; by default they are not. */
  readonly isDatabase?: boolean;
  /** What is kept free on its disk. */
  readonly diskReserve?: DiskReserve;
  /** By default the server is in no cluster. */
  readonly nodes?: ListNodes;
  /** What a tenant may have; anything by default. */
  readonly usageBounds?: UsageBounds;
}

/** The nodes of the cluster; `null`: the server knows none. */
export type ListNodes = () => Promise<readonly ListedNode[] | null>;

const UNBOUNDED: UsageBounds = { databases: 0, collections: 0, records: 0, bytes: 0, tokensPerDay: 0 };
const DAY_SECONDS = 24 * 3_600;

export interface Services {
  readonly engine: EngineSource;
  readonly embed: EmbedService;
  readonly get: GetService;
  readonly replies: ResultReplies;
  readonly lists: ListReplies;
  readonly highlights: HighlightService;
  readonly search: SearchService;
  readonly check: CheckService;
  readonly write: WriteService;
  readonly transactions: TransactionService;
  readonly models: ModelService;
  readonly usage: UsageService;
  readonly keys: KeyService;
  readonly backups: BackupService;
  readonly nodes: ListNodes;
  readonly ledger: ActivityLedger;
  readonly access: AccessWatch;
  /** `null`: a server that keeps nothing knows the root key only. */
  readonly madeKeys: MadeKeyStore | null;
  readonly metrics: ServerMetrics;
  readonly clock: StageClock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The metrics as text, with what the engine says of itself while it serves. */
  readonly renderMetrics: () => Promise<string>;
}

/** @param requests Those in flight, of which some end with what the services remove. */
export function createServices(
  options: ServiceOptions,
  requests = new DeadlineRegistry(DEFAULT_DEADLINE_SECONDS),
): Services {
  const {
    metrics = new ServerMetrics(),
    tasks = DEFAULT_TASKS,
    logger,
    now = Date.now,
    keyOverlapSeconds = DAY_SECONDS,
  } = options;
  const onProblem = (error: unknown): void =>
    logger?.warn({ err: error }, "what was used when could not be stored; trying again");
  const inUse = (): ReadonlySet<string> => keysInUse(requests);
  const clock = new StageClock((stage, seconds) => metrics.stage(stage, seconds));
  const embedder = clock.timed("embed", options.embedder);
  const keeps = !isRefusing(options.engine);
  const ledger = new ActivityLedger({ engine: keeps ? options.engine : null, now, onProblem });
  const access = new AccessWatch(requests, now);
  const onEnd = access.keysEnd;
  const isShared = options.catalog != null;
  const madeKeys = keeps ? new MadeKeyStore({ ...options, isShared, ledger, now, onEnd, inUse }) : null;
  let known: { readonly serving: Engine; readonly wrapped: Engine } | null = null;
  const engine: EngineSource = () => {
    const serving = options.engine();
    if (known?.serving !== serving) {
      const keysWatched = madeKeys?.watch(serving) ?? serving;
      const watched = plans.watch(replies.watch(access.watch(keysWatched)));
      known = { serving, wrapped: clock.timed("engine", watched) };
    }
    return known.wrapped;
  };
  const plans = new CollectionPlans(engine, isShared);
  options.catalog?.listen((report) => hearReport(report, plans, madeKeys));
  const store = new ReplyStore({
    ...DEFAULT_REPLY_SETTINGS,
    ...options,
    folder: options.spoolFolder ?? join(tmpdir(), "sheaf-spool"),
    diskReserve: options.diskReserve ?? 0,
  });
  metrics.watchReplies(store);
  const replies = new ResultReplies(engine, store);
  const get = new GetService(engine);
  const highlights = new HighlightService(embedder);
  const write = new WriteService({ engine, embedder, tasks, plans, get });
  return {
    engine,
    backups: createBackups(options, engine, metrics),
    nodes: options.nodes ?? (() => Promise.resolve(null)),
    ledger,
    access,
    madeKeys,
    metrics,
    clock,
    now,
    renderMetrics: async () => metrics.text(await statistics(options.measured ?? options.engine)),
    usage: new UsageService({ engine, ledger, bounds: options.usageBounds ?? UNBOUNDED }),
    keys: new KeyService({ engine, ledger, now, overlapSeconds: keyOverlapSeconds }),
    embed: new EmbedService(embedder, tasks),
    get,
    replies,
    lists: new ListReplies(store),
    highlights,
    search: new SearchService({ engine, embedder, tasks }, highlights),
    check: new CheckService({ engine, embedder, tasks }),
    write,
    models: new ModelService({ engine, embedder, tasks }),
    transactions: new TransactionService({ engine, write, highlights }),
  };
}

function hearReport(report: CatalogReport, plans: CollectionPlans, madeKeys: MadeKeyStore | null): void {
  madeKeys?.hear(report);
  if (report.isChanged) plans.forget();
}

/** Ids of keys that requests in flight were admitted by. */
function keysInUse(requests: DeadlineRegistry): ReadonlySet<string> {
  return new Set(Array.from(requests.admitted(), ([, { key }]) => key.id));
}

function createBackups(
  { backupShelf = null, isDatabase = false, now = Date.now, logger }: ServiceOptions,
  engine: EngineSource,
  metrics: ServerMetrics,
): BackupService {
  const backups = new BackupService({
    ...{ engine, now, shelf: backupShelf, isDatabase },
    onEnd: ({ state, ...ended }) => {
      metrics.backupEnded(state === "complete");
      logger?.[state === "complete" ? "info" : "error"](ended, `a backup ended: ${state}`);
    },
  });
  metrics.watchBackups(() => backups.measure);
  return backups;
}

/** `null`: the engine does not serve now, or there is none. */
async function statistics(engine: EngineSource): Promise<EngineStatistics | null> {
  try {
    return await engine().statistics();
  } catch (error) {
    if (error instanceof SheafError) return null;
    throw error;
  }
}
