/** The HTTP application: every route over the services it calls. Nothing here listens, spawns or reads settings. */
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { ByteBudget, EXTENSIONS } from "@sheaf/protocol";
import type { Authentication } from "./auth/authorize.ts";
import { firstOf } from "./auth/key-store.ts";
import { BodyTurns } from "./bodies/body-turns.ts";
import { BodyWorkers } from "./bodies/body-workers.ts";
import {
  DEFAULT_DEADLINE_SECONDS,
  DeadlineRegistry,
  type DeadlineSeconds,
} from "./request/request-context.ts";
import { FairTurns } from "./request/fair-turns.ts";
import { type ConnectionOptions, createHttpApp } from "./http/http-app.ts";
import { AdaptiveBusyPoll } from "./http/adaptive-busy-poll.ts";
import { observeRequests } from "./http/observe-requests.ts";
import { registerRoutes } from "./http/register-routes.ts";
import type { Route } from "./http/route.ts";
import { SlowReceivers } from "./http/slow-receivers.ts";
import { type TrafficBounds, TrafficLimits } from "./http/traffic-limits.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { DEFAULT_REPLY_SETTINGS, type ReplySettings } from "./settings/reply-settings.ts";
import { backupRoutes } from "./routes/backups.ts";
import { collectionModelRoutes } from "./routes/collection-models.ts";
import { collectionRoutes } from "./routes/collections.ts";
import { databaseRoutes } from "./routes/databases.ts";
import { documentationRoutes } from "./routes/documentation.ts";
import { embedRoutes } from "./routes/embed.ts";
import { forkRoutes } from "./routes/forks.ts";
import { keyRoutes } from "./routes/keys.ts";
import { ConsoleFiles } from "./routes/console/console-files.ts";
import { consoleRoutes } from "./routes/console/console.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { countRoutes } from "./routes/counts.ts";
import { recordRoutes } from "./routes/records.ts";
import { resourceNameRoutes } from "./routes/resource-names.ts";
import { searchRoutes } from "./routes/search.ts";
import { currentKeyRoutes } from "./routes/state/current-key.ts";
import { metricsHistoryRoutes } from "./routes/state/metrics-history.ts";
import { modelRoutes } from "./routes/state/models.ts";
import { nodeRoutes } from "./routes/state/nodes.ts";
import { usageRoutes } from "./routes/state/usage.ts";
import { systemRoutes } from "./routes/system.ts";
import { tenantRoutes } from "./routes/tenants.ts";
import { transactionRoutes } from "./routes/transactions.ts";
import { unimplementedRoutes } from "./routes/unimplemented.ts";
import type { ActivityLedger } from "./auth/activity-ledger.ts";
import { type ServiceOptions, type Services, createServices } from "./services/services.ts";

/** Bounds of traffic that are left out do not hold. */
export interface AppOptions
  extends ServiceOptions, ConnectionOptions, Partial<TrafficBounds>, Partial<ReplySettings> {
  /** Keys beside those that were made: the root key. `null`: auth is off. */
  readonly keys: Authentication;
  readonly lifecycle: Lifecycle;
  /** Whether the engine answers now; by default it always does. */
  readonly engineAnswers?: () => boolean;
  readonly logger: Logger;
  readonly allowReset: boolean;
  /** Whether extensions are refused; default false. */
  readonly strict?: boolean;
  readonly corsAllowOrigins: readonly string[];
  /** Where the console is; `null`: nowhere. By default where the build puts it. */
  readonly consoleFolder?: string | null;
  /** Requests that take longer are logged as slow. Default 0: none. */
  readonly slowRequestMs?: number;
  /** Time one request may take; by default that of the limits. */
  readonly requestSeconds?: number;
  /** The same for one that embeds many texts or copies a collection; never less than `requestSeconds`. */
  readonly bulkRequestSeconds?: number;
  /** Bytes of bodies in progress, of one tenant that has several and of all; by default without bound. */
  readonly bodyBytesPerTenant?: number;
  readonly bodyBytes?: number;
  /** Waits awake for callers that are alone, and tells this of the calls of theirs that are about to come. */
  readonly expectCall?: (kind: string) => void;
}

export interface App {
  readonly http: FastifyInstance;
  /** The requests in flight. */
  readonly deadlines: DeadlineRegistry;
  /** To be closed after the last request and before the engine. */
  readonly ledger: ActivityLedger;
  /** Everything that it answers to. */
  readonly routes: readonly Route[];
  /** The metrics as text. */
  readonly renderMetrics: () => Promise<string>;
}

export function createApp(options: AppOptions): App {
  const deadlines = new DeadlineRegistry(deadlineSeconds(options));
  const services = createServices(options, deadlines);
  const { ledger, access, madeKeys } = services;
  const keys = options.keys === null || madeKeys === null ? options.keys : firstOf(options.keys, madeKeys);
  const traffic = new TrafficLimits(options, ledger);
  const caller = options.expectCall === undefined ? null : new AdaptiveBusyPoll(options.expectCall);
  const { metrics, clock, renderMetrics } = services;
  const { bodyBytesPerTenant = Infinity, bodyBytes = Infinity } = options;
  const bodies = new ByteBudget({ what: "request bodies", perTenant: bodyBytesPerTenant, whole: bodyBytes });
  const turns = new BodyTurns(bodyBytesPerTenant);
  const workers = new BodyWorkers();
  metrics.watchBodies(() => ({ bytes: bodies.held, queued: workers.queued }));
  const http = createHttpApp({ ...options, keys, deadlines, access, traffic, caller, bodies, turns, clock });
  http.addHook("onClose", () => workers.close());
  const { logger, slowRequestMs = 0 } = options;
  observeRequests(http, { metrics, clock, logger, slowRequestMs });
  const routes = routesOf(services, options);
  const receivers = new SlowReceivers({
    ...DEFAULT_REPLY_SETTINGS,
    ...options,
    onCut: () => metrics.receiverCut(),
  });
  const { strict = false } = options;
  registerRoutes(http, routes, { clock, workers, parseTurns: new FairTurns(1), receivers, strict });
  return { http, deadlines, ledger, routes, renderMetrics };
}

function deadlineSeconds({ requestSeconds, bulkRequestSeconds }: AppOptions): DeadlineSeconds {
  const request = requestSeconds ?? DEFAULT_DEADLINE_SECONDS.request;
  return { request, bulk: Math.max(request, bulkRequestSeconds ?? DEFAULT_DEADLINE_SECONDS.bulk) };
}

type RouteOptions = Pick<
  AppOptions,
  "keys" | "lifecycle" | "engineAnswers" | "allowReset" | "strict" | "consoleFolder"
>;

/** Every route of the server, in no order that matters. */
export function allRoutes(options: ServiceOptions & RouteOptions): readonly Route[] {
  return routesOf(createServices(options), options);
}

function routesOf(services: Services, options: RouteOptions): readonly Route[] {
  const { lifecycle, allowReset, strict = false, engineAnswers = () => true } = options;
  const routes = [
    ...systemRoutes({
      lifecycle,
      engineAnswers,
      services,
      allowReset,
      extensions: strict ? [] : EXTENSIONS,
      authEnabled: options.keys !== null,
    }),
    ...tenantRoutes(services, { allowReset }),
    ...databaseRoutes(services, { allowReset }),
    ...collectionRoutes(services),
    ...collectionModelRoutes(services),
    ...forkRoutes(services),
    ...resourceNameRoutes(services),
    ...recordRoutes(services),
    ...countRoutes(services),
    ...transactionRoutes(services),
    ...searchRoutes(services),
    ...embedRoutes(services),
    ...keyRoutes(services),
    ...backupRoutes(services),
    ...metricsRoutes(services),
    ...metricsHistoryRoutes(services),
    ...currentKeyRoutes(),
    ...modelRoutes(services),
    ...nodeRoutes(services),
    ...usageRoutes(services),
    ...unimplementedRoutes(),
  ];
  const files = new ConsoleFiles(options.consoleFolder);
  return [...routes, ...consoleRoutes(files), ...documentationRoutes(routes, files)];
}
