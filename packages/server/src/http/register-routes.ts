/**
 * Puts routes on the app: wraps each handler in its deadline, turns its reply into HTTP, and answers the methods that
 * a path does not have with 405 and those it has.
 */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SheafError, invalid, readJson, readJsonWithVectors, unprocessable } from "@sheaf/protocol";
import { type PathParams, type RouteAccess, authorize } from "../auth/authorize.ts";
import type { Principal } from "../auth/principal.ts";
import { headerValue } from "../auth/token.ts";
import type { RequestContext } from "../request/request-context.ts";
import { isJsonMediaType } from "./media-type.ts";
import type { Call, Method, Reply, Route } from "./route.ts";

const METHODS: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const PUBLIC: RouteAccess = { scope: "public", tenant: "none" };
const NO_BODY = new Uint8Array(0);

type AroundReading = (deadline: RequestContext, read: () => unknown) => unknown;

interface CallParts {
  readonly deadline: RequestContext;
  readonly principal: Principal;
  readonly around: AroundReading;
}

/** @param around Put around the reading of every body, to time it. */
export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  around: AroundReading = (_deadline, read) => read(),
): void {
  for (const route of routes) registerRoute(app, route, around);
  for (const path of new Set(routes.map((route) => route.path))) {
    registerOtherMethods(
      app,
      path,
      routes.filter((route) => route.path === path),
    );
  }
}

function registerRoute(app: FastifyInstance, route: Route, around: AroundReading): void {
  assert.equal(route.tenant === "located", route.locate !== undefined, `${route.path} says where it lies`);
  app.route({
    method: route.method,
    url: route.path,
    config: {
      access: { scope: route.scope, tenant: route.tenant },
      surface: route.surface ?? "v2",
      tooLargeStatus: route.tooLargeStatus ?? 413,
      deprecated: route.deprecated ?? false,
    },
    // Not asynchronous itself: Fastify would wait for that and look after each request what has become of it.
    handler: (request, reply) => {
      const { deadline, principal } = request;
      assert(deadline !== null && principal !== null, "hooks set both before any handler runs");
      const call = createCall(request, route, { deadline, principal, around });
      deadline
        .run(() => answer(route, call))
        .then((result) => send(reply, result))
        .catch((error: unknown) => reply.send(error));
    },
  });
}

function send(reply: FastifyReply, { status, headers, body }: Reply): void {
  const content = payload(body);
  // Fastify would add the charset by itself, after a look at the type.
  void reply
    .code(status)
    .type(typeof content === "string" ? "application/json; charset=utf-8" : "application/json");
  if (headers !== undefined) void reply.headers(headers);
  void reply.send(content);
}

/** Names behind the path are as good as names in it only once they are authorized like those. */
function answer(route: Route, call: Call): Reply | Promise<Reply> {
  return route.locate === undefined
    ? route.handle(call)
    : answerLocated(route, call, route.locate(call.params));
}

async function answerLocated(route: Route, call: Call, located: Promise<PathParams>): Promise<Reply> {
  const params = await located;
  authorize(call.principal, { scope: route.scope, tenant: "path" }, params);
  return route.handle({ ...call, params });
}

/** What Fastify sends at once, or piece by piece as the caller reads. A single piece is not worth a stream. */
function payload(body: Reply["body"]): string | Readable {
  if (typeof body === "string") return body;
  const pieces = body[Symbol.iterator]();
  const first = pieces.next();
  if (first.done === true) return "";
  const second = pieces.next();
  if (second.done === true) return first.value;
  return Readable.from(followedBy([first.value, second.value], pieces), { objectMode: false });
}

function* followedBy(first: readonly string[], rest: Iterator<string>): Generator<string> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}

function createCall(request: FastifyRequest, route: Route, { deadline, principal, around }: CallParts): Call {
  const read = (reader: typeof readJson): unknown => {
    if (
      route.surface !== "embed" &&
      request.sentContentType !== null &&
      !isJsonMediaType(request.sentContentType)
    ) {
      throw new SheafError("unsupported_media_type", "Content-Type: must be application/json");
    }
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
    return around(deadline, () => reader(body, route.surface === "embed" ? invalid : unprocessable));
  };
  return {
    params: request.params as PathParams,
    query: request.query as Readonly<Record<string, unknown>>,
    principal,
    budget: deadline,
    header: (name) => headerValue(request.headers, name),
    json: () => read(readJson),
    jsonWithVectors: () => read(readJsonWithVectors),
  };
}

function registerOtherMethods(app: FastifyInstance, path: string, routes: readonly Route[]): void {
  const present = new Set<string>(routes.map(({ method }) => method));
  const missing: string[] = METHODS.filter((method) => !present.has(method));
  // Fastify answers HEAD wherever there is a GET.
  if (present.has("GET")) present.add("HEAD");
  else missing.push("HEAD");
  const allow = [...present, "OPTIONS"].join(", ");
  const config = { access: PUBLIC, surface: routes[0]?.surface ?? "v2" };
  if (missing.length > 0) {
    app.route({
      method: missing,
      url: path,
      config,
      handler: (_request, reply: FastifyReply) => {
        void reply.header("allow", allow);
        throw new SheafError("method_not_allowed", `this path takes ${allow}`);
      },
    });
  }
  app.route({
    method: "OPTIONS",
    url: path,
    config,
    handler: (_request, reply: FastifyReply) => reply.code(204).header("allow", allow).send(),
  });
}
