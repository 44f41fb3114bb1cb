/**
 * Fastify as Sheaf uses it: bodies stay bytes until a handler asks for them, authorization happens in one hook, and
 * every reply carries the id of its request.
 *
 * Invariants: a route without `config.access` cannot be registered, and no handler runs before `authorize` has let
 * its request through. Order of refusals: 503 draining, 401, 403, 429, then what the body and the handler find.
 */
import { randomUUID } from "node:crypto";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { LIMITS, SheafError } from "@sheaf/protocol";
import type { Logger } from "pino";
import {
  type Authentication,
  type PathParams,
  type RouteAccess,
  authenticate,
  authorize,
} from "../auth/authorize.ts";
import { type MaybePromise, andThen } from "../request/maybe-promise.ts";
import type { Principal } from "../auth/principal.ts";
import type { Lifecycle } from "../lifecycle.ts";
import { type OpenAnswers, clientErrorHandler } from "./client-error.ts";
import { corsHeaders } from "./cors.ts";
import type { DeadlineRegistry, RequestContext } from "../request/request-context.ts";
import { errorResponse } from "./error-response.ts";
import type { AdaptiveBusyPoll } from "./adaptive-busy-poll.ts";
import type { Surface } from "./route.ts";
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
    /** The Content-Type header as it was sent. */
    sentContentType: string | null;
    /** The next three are set by the first hook of every request. */
    deadline: RequestContext | null;
    /** Pattern of the path; `null`: no route has it. */
    pattern: string | null;
    access: RouteAccess | null;
    /** Set once the request is counted. */
    admission: Admission | null;
  }
}

export interface HttpOptions {
  readonly keys: Authentication;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
  readonly corsAllowOrigins: readonly string[];
  readonly deadlines: DeadlineRegistry;
  readonly traffic: TrafficLimits;
  readonly caller: AdaptiveBusyPoll | null;
}

/** Longest name in a path, percent-encoded. */
const MAX_PARAMETER_CHARACTERS = 3 * LIMITS.nameCharacters;
/** A body that says it is larger has its connection closed. */
const MAX_THROWN_AWAY_BYTES = 4 * LIMITS.bodyBytes;
/**
 * The type that Fastify is told of every body. It would refuse a malformed one by itself, yet some of our routes read the
 * body whatever it claims to be.
 */
const ANY_BODY = "application/octet-stream";
const CLIENT_REQUEST_ID = /^[\w.-]{1,128}$/;

/** An app without routes: `registerRoutes` adds them. */
export function createHttpApp(options: HttpOptions): FastifyInstance {
  const respond = errorResponder(options.logger);
  const answers: OpenAnswers = new WeakMap();
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    requestTimeout: LIMITS.bulkRequestSeconds * 1_000,
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
  app.setNotFoundHandler((request, reply) =>
    respond(new SheafError("not_found", "no such path"), request, reply),
  );
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(ANY_BODY, { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.decorateRequest("principal", null);
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
    begin(request, reply, options);
    const admitted = admit(request, reply, options);
    if (admitted instanceof Promise) admitted.then(() => done(), done);
    else done();
  });
  // An expectation that we do not know is one that we need not meet (RFC 9110, 10.1.1).
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  addResponseHooks(app, options);
  return app;
}

function begin(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): void {
  const { deadlines, corsAllowOrigins, caller } = options;
  const { headers } = request;
  const { config, url } = request.routeOptions;
  caller?.begin(config.access?.scope !== "public" && config.surface !== "embed");
  request.pattern = url ?? null;
  request.access = config.access ?? null;
  const deadline = deadlines.start();
  request.deadline = deadline;
  reply.raw.once("close", () => {
    caller?.end();
    request.admission?.release();
    deadlines.finish(deadline);
    if (!reply.raw.writableFinished) {
      deadline.abort(new SheafError("cancelled", "the caller has closed the connection"));
    }
  });
  void reply.header("x-request-id", request.id).header("chroma-trace-id", request.id);
  if (config.deprecated === true) void reply.header("deprecation", "true");
  if (corsAllowOrigins.length > 0) {
    void reply.headers(
      corsHeaders(headers.origin, corsAllowOrigins, headers["access-control-request-headers"]),
    );
  }
  request.sentContentType = headers["content-type"] ?? null;
  headers["content-type"] = ANY_BODY;
}

/** Throws, or rejects, where the request may not go on. */
function admit(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): MaybePromise<void> {
  const { access } = request;
  if (access === null) return;
  if (access.scope !== "public" && options.lifecycle.phase === "draining") {
    throw new SheafError("unavailable", "the server is shutting down");
  }
  const params = request.params as PathParams;
  const { surface = "v2" } = request.routeOptions.config;
  return andThen(authenticate(request.headers, access, options.keys), (principal) => {
    authorize(principal, access, params);
    request.principal = principal;
    if (access.scope === "public") return;
    const tenant = params["tenant"] ?? principal.tenant;
    request.deadline?.belongsTo(tenant === null ? `key:${principal.id}` : `tenant:${tenant}`);
    return andThen(options.traffic.admit(principal, tenant, surface), (admission) => {
      // Closed already: the event that would release it has been.
      if (reply.raw.destroyed) admission.release();
      else request.admission = admission;
      void reply.headers(admission.headers);
      if (admission.refusal !== null) throw admission.refusal;
      request.deadline?.countTokensWith((count) => admission.admitTokens(count));
    });
  });
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
    if (isBodyTooLarge(error)) readAway(request, reply);
    void reply
      .code(response.status)
      .headers(response.headers ?? {})
      .type("application/json")
      .send(response.body);
  };
}

function isBodyTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "FST_ERR_CTP_BODY_TOO_LARGE";
}

/**
 * Keeps the connection and throws away what still comes. Most callers read an answer only once they have sent all, and
 * would find a closed connection instead of the reason.
 */
function readAway(request: FastifyRequest, reply: FastifyReply): void {
  if (!(Number(request.headers["content-length"]) <= MAX_THROWN_AWAY_BYTES)) return;
  void reply.removeHeader("connection");
  request.raw.resume();
}
