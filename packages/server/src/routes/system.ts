/** Whether the server is there, what it is, who asks, and starting over. */
import { DEFAULT_DATABASE, DEFAULT_TENANT, LIMITS, SheafError } from "@sheaf/protocol";
import { type Call, DONE, type Reply, type Route, ok } from "../http/route.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { RequestBudget } from "../request/request-context.ts";
import type { Services } from "../services/services.ts";
import { SYSTEM as described } from "./system-descriptions.ts";

export interface SystemOptions {
  readonly lifecycle: Lifecycle;
  /** `false` while its process starts anew, is stopped or hangs. */
  readonly engineAnswers: () => boolean;
  readonly services: Services;
  readonly authEnabled: boolean;
  readonly allowReset: boolean;
  /** That it takes. */
  readonly extensions: readonly string[];
}

const PUBLIC = { scope: "public", tenant: "none" } as const;
/** Clients read it as the version of the interface, not of the server. */
const INTERFACE_VERSION = "1.0.0";

export function systemRoutes(options: SystemOptions): readonly Route[] {
  const heartbeat = (): Reply => answerHeartbeat(options.lifecycle);
  return [
    { ...PUBLIC, method: "GET", path: "/api/v2", description: described.heartbeat, handle: heartbeat },
    {
      ...PUBLIC,
      method: "GET",
      path: "/api/v2/heartbeat",
      description: described.heartbeat,
      handle: heartbeat,
    },
    {
      ...PUBLIC,
      method: "GET",
      path: "/api/v2/healthcheck",
      description: described.healthcheck,
      handle: () => answerHealthcheck(options),
    },
    { ...PUBLIC, method: "GET", path: "/livez", description: described.alive, handle: () => DONE },
    {
      ...PUBLIC,
      method: "GET",
      path: "/readyz",
      description: described.ready,
      handle: () => answerReadiness(options),
    },
    {
      ...PUBLIC,
      method: "GET",
      path: "/api/v2/version",
      description: described.version,
      handle: () => ok(JSON.stringify(INTERFACE_VERSION)),
    },
    {
      ...PUBLIC,
      method: "GET",
      path: "/api/v2/pre-flight-checks",
      description: described.preFlight,
      handle: () => answerPreFlight(options),
    },
    {
      method: "GET",
      path: "/api/v2/auth/identity",
      description: described.identity,
      scope: "any",
      tenant: "none",
      handle: (call) => answerIdentity(call, options),
    },
    {
      method: "POST",
      path: "/api/v2/reset",
      description: described.reset,
      scope: "admin",
      tenant: "unbound",
      handle: ({ budget }) => reset(options, budget),
    },
    ...goneRoutes(),
  ];
}

function answerHeartbeat({ phase }: Lifecycle): Reply {
  if (phase === "starting") throw new SheafError("unavailable", "the server is starting; try again");
  const nanoseconds = BigInt(Date.now()) * 1_000_000n;
  return ok(`{"nanosecond heartbeat":${nanoseconds}}`);
}

function answerHealthcheck({ lifecycle, engineAnswers }: SystemOptions): Reply {
  const ready = lifecycle.phase === "serving" && engineAnswers();
  const body = JSON.stringify({ is_executor_ready: ready, is_log_client_ready: ready });
  return { status: ready ? 200 : 503, body };
}

function answerReadiness({ lifecycle, engineAnswers }: SystemOptions): Reply {
  const { phase } = lifecycle;
  if (phase !== "serving") throw new SheafError("unavailable", `the server is ${phase}`);
  if (!engineAnswers()) {
    throw new SheafError("unavailable", "the engine does not answer", { retryAfterSeconds: 1 });
  }
  return DONE;
}

function answerPreFlight({ extensions }: SystemOptions): Reply {
  const checks = { max_batch_size: LIMITS.advertisedBatchSize, supports_base64_encoding: true, extensions };
  return ok(JSON.stringify(checks));
}

async function answerIdentity(
  { principal, budget }: Call,
  { authEnabled, services }: SystemOptions,
): Promise<Reply> {
  const { id, tenant, database } = principal;
  if (!authEnabled) return identity("", DEFAULT_TENANT, [DEFAULT_DATABASE]);
  if (tenant === null) return identity(id, "*", ["*"]);
  if (database !== null) return identity(id, tenant, [database]);
  const start = JSON.stringify({ user_id: id, tenant }).slice(0, -1);
  const { body } = await services.lists.page({
    ...{ tenant, budget, page: { limit: null, offset: 0 }, around: [`${start},"databases":[`, "]}"] },
    fetch: (page) => services.engine().listDatabases(tenant, page),
    write: ({ name }) => [JSON.stringify(name)],
  });
  return ok(body);
}

function identity(userId: string, tenant: string, databases: readonly string[]): Reply {
  return ok(JSON.stringify({ user_id: userId, tenant, databases }));
}

async function reset({ allowReset, services }: SystemOptions, budget: RequestBudget): Promise<Reply> {
  if (!allowReset)
    throw new SheafError("permission_denied", "Reset is disabled by config; `--allow-reset on` enables it");
  budget.outlastAccess();
  await services.engine().reset();
  return ok("true");
}

/** The paths of the first interface version, for clients too old to know the second. POST is a plain 405 there. */
function goneRoutes(): readonly Route[] {
  const handle = (): never => {
    throw new SheafError("gone", "The v1 API is deprecated. Please use /v2 apis");
  };
  return ["/api/v1", "/api/v1/*"].flatMap((path) =>
    (["GET", "PUT", "PATCH", "DELETE"] as const).map((method) => ({ ...PUBLIC, method, path, handle })),
  );
}
