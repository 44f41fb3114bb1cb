/**
 * Fastify as Sheaf uses it: bodies stay bytes until a handler asks for them, authorization happens in one hook, and
 * every reply carries the id of its request.
 *
 * Invariants: a route without `config.access` cannot be registered, and no handler runs before `authorize` has let
 * its request through. No body is read, and no client told to send one, before that either; what a public route, an
 * unknown path or a wrong method is sent is thrown away.
 * Order of refusals: what a page may not send (403, only without keys), 400 without a Host or with several, 503 draining, 401, 403, 429,
 * then what the body and the handler find.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type ByteBudget, LIMITS, SheafError, invalid } from "@sheaf/protocol";
import type { Logger } from "pino";
import type { AccessWatch } from "../auth/access-watch.ts";
import {
  type Authentication,
  type PathParams,
  type RouteAccess,
  authenticate,
  authorize,
} from "../auth/authorize.ts";
import { type MaybePromise, andThen } from "../request/maybe-promise.ts";
import type { Principal } from "../auth/principal.ts";
import type { BodyTurns } from "../bodies/body-turns.ts";
import { receiveBody } from "../bodies/receive-body.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { StageClock } from "../metrics/stage-clock.ts";
import { type OpenAnswers, clientErrorHandler } from "./client-error.ts";
import { BrowserGuard } from "./browser-guard.ts";
import { TrustedProxies, clientAddress } from "./client-address.ts";
import { CONNECTION_BOUNDS } from "./connection-bounds.ts";
import { Connections } from "./connections.ts";
import { corsHeaders } from "./cors.ts";
import type { DeadlineRegistry, RequestContext } from "../request/request-context.ts";
import { errorResponse } from "./error-response.ts";
import { countHosts } from "./host-name.ts";
import type { AdaptiveBusyPoll } from "./adaptive-busy-poll.ts";
import { isJsonMediaType } from "./media-type.ts";
import type { Surface } from "./route.ts";
import type { TlsIdentity } from "../tls/tls-identity.ts";
import type { Admission, TrafficLimits } from "./traffic-limits.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    access?: RouteAccess;
    surface?: Surface;
    tooLargeStatus?: 400 | 413;
    deprecated?: boolean;
  }
  interface FastifyRequest {
    /** Set once the caller is known. */
    principal: Principal | null;
    /** The next five are set by the first hook of every request. */
    /** The Content-Type header as it was sent. */
    sentContentType: string | null;
    /** Whose it is, for the log. */
    clientAddress: string;
    deadline: RequestContext | null;
    /** Pattern of the path; `null`: no route has it. */
    pattern: string | null;
    access: RouteAccess | null;
    /** Set once the request is counted. */
    admission: Admission | null;
  }
}

/** Who may connect, and under which names; what is left out is not bounded. */
export interface ConnectionOptions {
  /** Names of the server beside those of the loopback address; they count without keys only. */
  readonly allowedHosts?: readonly string[];
  /** Addresses, or networks as `10.0.0.0/8`. */
  readonly trustedProxies?: readonly string[];
  readonly maxConnections?: number;
  readonly maxConnectionsPerAddress?: number;
  readonly idleConnectionSeconds?: number;
  /** `null`, or left out: plain HTTP. */
  readonly tls?: TlsIdentity | null;
}

export interface HttpOptions extends ConnectionOptions {
  readonly keys: Authentication;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
  readonly corsAllowOrigins: readonly string[];
  readonly deadlines: DeadlineRegistry;
  /** Ends requests whose key, tenant or database goes. */
  readonly access: AccessWatch;
  readonly traffic: TrafficLimits;
  readonly caller: AdaptiveBusyPoll | null;
  /** Of the bytes of bodies in progress. */
  readonly bodies: ByteBudget;
  readonly turns: BodyTurns;
  /** Times the reading of bodies. */
  readonly clock: StageClock;
}

/** What every request needs of the app. */
interface Door extends HttpOptions {
  readonly proxies: TrustedProxies;
  readonly connections: Connections;
  /** `null`: keys are asked for, and no page knows one. */
  readonly guard: BrowserGuard | null;
}

/** Longest name in a path, percent-encoded. */
const MAX_PARAMETER_CHARACTERS = 3 * LIMITS.nameCharacters;
const DEFAULT_IDLE_SECONDS = 75;
/**
 * The type that Fastify is told of every body. It would refuse a malformed one by itself, yet some of our routes read the
 * body whatever it claims to be.
 */
const ANY_BODY = "application/octet-stream";
/** The type of those that are not read. */
const UNREAD_BODY = "application/x-unread";
/** Less is no stage of a request. */
const LEAST_RECEIVE_MS = 1;
const CLIENT_REQUEST_ID = /^[\w.-]{1,128}$/;

/** An app without routes: `registerRoutes` adds them. */
export function createHttpApp(options: HttpOptions): FastifyInstance {
  const respond = errorResponder(options.logger);
  const answers: OpenAnswers = new WeakMap();
  const door = openDoor(options);
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    serverFactory: (handler) => door.connections.createServer(handler),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARACTERS },
    genReqId: (request) => {
      const sent = request.headers["x-request-id"];
      return typeof sent === "string" && CLIENT_REQUEST_ID.test(sent) ? sent : randomUUID();
    },
    clientErrorHandler: clientErrorHandler(answers),
    frameworkErrors: (error, request, reply) => {
      respond(error, request, reply);
    },
  });
  app.setErrorHandler(respond);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(ANY_BODY, (request, payload, done) => receive(request, payload, door, done));
  app.addContentTypeParser(UNREAD_BODY, (_request, _body, done) => done(null));
  app.decorateRequest("principal", null);
  app.decorateRequest("clientAddress", "");
  app.decorateRequest("sentContentType", null);
  app.decorateRequest("deadline", null);
  app.decorateRequest("pattern", null);
  app.decorateRequest("access", null);
  app.decorateRequest("admission", null);
  app.addHook("onRoute", ({ config, url }) => {
    if (config?.access === undefined) throw new Error(`route ${url} declares no access`);
  });
  // One hook, and no promise where none is needed: each costs every request.
  app.addHook("onRequest", (request, reply, done) => {
    answers.set(request.raw.socket, reply.raw);
    begin(request, reply, door);
    const admitted = admit(request, reply, door);
    if (admitted instanceof Promise) admitted.then(() => done(), done);
    else done();
  });
  addResponseHooks(app, options);
  return app;
}

function openDoor(options: HttpOptions): Door {
  const { keys, logger, allowedHosts = [], corsAllowOrigins } = options;
  const proxies = new TrustedProxies(options.trustedProxies ?? []);
  const connections = new Connections({
    bounds: {
      ...CONNECTION_BOUNDS,
      connections: options.maxConnections ?? 0,
      connectionsPerAddress: options.maxConnectionsPerAddress ?? 0,
    },
    proxies,
    keepAliveSeconds: options.idleConnectionSeconds ?? DEFAULT_IDLE_SECONDS,
    requestSeconds: LIMITS.bulkRequestSeconds,
    tls: options.tls ?? null,
    onRefused: (open) => logger.warn({ open }, "connections are refused: there are as many as may be"),
  });
  const guard = keys === null ? new BrowserGuard({ allowedHosts, allowedOrigins: corsAllowOrigins }) : null;
  return { ...options, proxies, connections, guard };
}

function begin(request: FastifyRequest, reply: FastifyReply, door: Door): void {
  const { deadlines, corsAllowOrigins, caller } = door;
  const { headers } = request;
  const { config, url } = request.routeOptions;
  const asksEngine = config.access?.scope !== "public" && config.surface !== "embed";
  caller?.begin(asksEngine ? `${request.method} ${url}` : null);
  request.pattern = url ?? null;
  request.access = config.access ?? null;
  request.clientAddress = clientAddress(request.raw, door.proxies);
  const deadline = deadlines.start();
  request.deadline = deadline;
  reply.raw.once("close", () => {
    caller?.end();
    request.admission?.release();
    deadline.hold.release();
    deadlines.finish(deadline);
    if (!reply.raw.writableFinished) {
      deadline.abort(new SheafError("cancelled", "the caller has closed the connection"));
    }
  });
  void reply.header("x-request-id", request.id).header("chroma-trace-id", request.id);
  // What is answered is its caller's, and another a moment later.
  if (config.access?.scope !== "public") void reply.header("cache-control", "no-store");
  if (config.deprecated === true) void reply.header("deprecation", "true");
  if (corsAllowOrigins.length > 0) {
    void reply.headers(
      corsHeaders(headers.origin, corsAllowOrigins, headers["access-control-request-headers"]),
    );
  }
  request.sentContentType = headers["content-type"] ?? null;
  headers["content-type"] = takesBody(request) ? ANY_BODY : UNREAD_BODY;
}

/** What is read is charged until the request is over. */
function receive(
  request: FastifyRequest,
  payload: Readable,
  { bodies, turns, clock, connections }: Door,
  done: (error: Error | null, body?: unknown) => void,
): void {
  const startedAt = performance.now();
  const { deadline } = request;
  assert(deadline !== null, "a hook sets it before any body is read");
  const reception = {
    headers: request.headers,
    budget: bodies,
    turns,
    owner: deadline.owner,
    mostBytes: LIMITS.bodyBytes,
    hold: deadline.hold,
    signal: deadline.signal,
    connection: connections.of(request.raw.socket),
  };
  receiveBody(payload, reception, (error, body) => {
    const milliseconds = performance.now() - startedAt;
    // A body that came with its headers took no time.
    if (milliseconds >= LEAST_RECEIVE_MS) clock.spent(deadline.stages, "receive", milliseconds);
    done(error, body);
  });
}

/** A removal waits for no body, so that what it names is what was there when it came. */
function takesBody({ access, method }: FastifyRequest): boolean {
  return access !== null && access.scope !== "public" && method !== "DELETE";
}

/** Throws, or rejects, where the request may not go on. */
function admit(request: FastifyRequest, reply: FastifyReply, options: Door): MaybePromise<void> {
  if (options.guard !== null) refusePages(request, options.guard);
  const { access } = request;
  requireOneHost(request.raw);
  if (access === null) return;
  if (access.scope !== "public" && options.lifecycle.phase === "draining") {
    throw new SheafError("unavailable", "the server is shutting down");
  }
  const params = request.params as PathParams;
  const { surface = "v2" } = request.routeOptions.config;
  return andThen(authenticate(request.headers, access, options.keys), (principal) => {
    // First, so that the log says whose key is refused.
    request.principal = principal;
    authorize(principal, access, params);
    if (access.scope === "public") return;
    const tenant = params["tenant"] ?? principal.tenant;
    if (request.deadline !== null) options.access.admit(request.deadline, principal, params);
    return andThen(options.traffic.admit(principal, tenant, surface), (admission) => {
      // Closed already: the event that would release it has been.
      if (reply.raw.destroyed) admission.release();
      else request.admission = admission;
      void reply.headers(admission.headers);
      if (admission.refusal !== null) throw admission.refusal;
      request.deadline?.countTokensWith((count) => admission.admitTokens(count));
      if (request.headers.expect !== undefined) inviteBody(request, reply, options.connections);
    });
  });
}

/** Two servers of a chain may take different ones of several for the host (RFC 9112, 3.2). */
function requireOneHost({ rawHeaders, httpVersionMinor }: IncomingMessage): void {
  const hosts = countHosts(rawHeaders);
  if (hosts === 0 && httpVersionMinor === 1) throw invalid("Host", "this header is required");
  if (hosts > 1) throw invalid("Host", "must be given once");
}

/** Throws 403 for what a page of another origin sends, and 415 for a body that pages may send without asking. */
function refusePages({ raw, sentContentType }: FastifyRequest, guard: BrowserGuard): void {
  const refusal = guard.refusal(raw);
  if (refusal !== null) throw new SheafError("permission_denied", refusal);
  if (hasBody(raw) && (sentContentType === null || !isJsonMediaType(sentContentType))) {
    throw new SheafError("unsupported_media_type", "Content-Type: must be application/json");
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** A body that is known to be too large is refused without it. */
function inviteBody({ headers }: FastifyRequest, reply: FastifyReply, connections: Connections): void {
  if (!(Number(headers["content-length"]) > LIMITS.bodyBytes)) connections.invite(reply.raw);
}

function addResponseHooks(app: FastifyInstance, options: HttpOptions): void {
  app.addHook("onSend", (_request, reply, _payload, done) => {
    // A connection that stays open would keep a server that goes down from ending.
    if (options.lifecycle.phase === "draining") void reply.header("connection", "close");
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    if (request.deadline !== null) options.deadlines.finish(request.deadline);
    const level = request.access?.scope === "public" ? "debug" : "info";
    options.logger[level](
      {
        requestId: request.id,
        method: request.method,
        // The pattern, not the path: names are their owner's business.
        route: request.pattern,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime),
        key: request.principal?.id ?? null,
        client: request.clientAddress,
      },
      "request",
    );
    done();
  });
}

function errorResponder(logger: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { surface = "v2", tooLargeStatus = 413 } = request.routeOptions.config;
    const response = errorResponse(error, { surface, tooLargeStatus, requestId: request.id });
    if (response.unexpected) logger.error({ err: error, requestId: request.id }, "unexpected error");
    void reply
      .code(response.status)
      .headers(response.headers ?? {})
      .type("application/json")
      .send(response.body);
  };
}
