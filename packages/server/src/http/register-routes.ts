/**
 * Puts routes on the app: wraps each handler in its deadline and turns its reply into HTTP.
 */
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { packAtOnce } from "@sheaf/process";
import { SheafError, heapBytes, throwIfAborted } from "@sheaf/protocol";
import { type PathParams, authorize } from "../auth/authorize.ts";
import type { Principal } from "../auth/principal.ts";
import { headerValue } from "../auth/token.ts";
import { type ParsedBody, type Parsing, parseBody } from "../bodies/body-parsers.ts";
import type { BodyWorkers } from "../bodies/body-workers.ts";
import { LargeBody, UnreadableBody } from "../bodies/receive-body.ts";
import type { StageClock } from "../metrics/stage-clock.ts";
import type { FairTurns } from "../request/fair-turns.ts";
import type { RequestContext } from "../request/request-context.ts";
import { isJsonMediaType } from "./media-type.ts";
import { type MaybePromise, andThen } from "../request/maybe-promise.ts";
import { answerOtherMethods } from "./other-methods.ts";
import type { Call, Reply, Route } from "./route.ts";
import { sendReply } from "./send-reply.ts";
import type { SlowReceivers } from "./slow-receivers.ts";
import { STRICT_HEADER, isStrict, refuseInBody, refuseRoute } from "./strict-mode.ts";

const NO_BODY = new Uint8Array(0);
/** Parsing fewer takes about a millisecond. */
const LONG_BODY_BYTES = 16 * 1024;

/** What requests and replies go through. */
export interface RouteParts {
  readonly workers: BodyWorkers;
  /** Of parsing here what takes some milliseconds. */
  readonly parseTurns: FairTurns;
  /** Times the parsing of bodies. */
  readonly clock: StageClock;
  /** Watches those who read replies. */
  readonly receivers: SlowReceivers;
  /** Every request is refused what Chroma has not; default false. */
  readonly strict?: boolean;
}

interface CallParts {
  readonly deadline: RequestContext;
  readonly principal: Principal;
  readonly parts: RouteParts;
}

export function registerRoutes(app: FastifyInstance, routes: readonly Route[], parts: RouteParts): void {
  for (const route of routes) registerRoute(app, route, parts);
  answerOtherMethods(app, routes);
}

function registerRoute(app: FastifyInstance, route: Route, parts: RouteParts): void {
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
      const call = createCall(request, route, { deadline, principal, parts });
      deadline
        .run(() => {
          if (call.strict) refuseRoute(route.extension);
          return answer(route, call);
        })
        .then((result) => sendReply(request, reply, result, parts.receivers))
        .catch((error: unknown) => reply.send(error));
    },
  });
}

/** Names behind the path are as good as names in it only once they are authorized like those. */
function answer(route: Route, call: Call): Reply | Promise<Reply> {
  return route.locate === undefined
    ? route.handle(call)
    : answerLocated(route, call, route.locate(call.params));
}

async function answerLocated(route: Route, call: Call, located: Promise<PathParams>): Promise<Reply> {
  const params = await located;
  throwIfAborted(call.budget.signal);
  authorize(call.principal, { scope: route.scope, tenant: "path" }, params);
  return route.handle({ ...call, params });
}

function createCall(request: FastifyRequest, route: Route, { deadline, principal, parts }: CallParts): Call {
  const isEmbedding = route.surface === "embed";
  const strict = isStrict(headerValue(request.headers, STRICT_HEADER), parts.strict ?? false);
  return {
    params: request.params as PathParams,
    query: request.query as Readonly<Record<string, unknown>>,
    principal,
    budget: deadline,
    strict,
    header: (name) => headerValue(request.headers, name),
    parse: (parser, ...args) => {
      if (!isEmbedding && request.sentContentType !== null && !isJsonMediaType(request.sentContentType)) {
        throw new SheafError("unsupported_media_type", "Content-Type: must be application/json");
      }
      return andThen(parsed(request.body, { parser, args, isEmbedding }, deadline, parts), (body) => {
        // Whoever has the body goes on to do what it asks for.
        throwIfAborted(deadline.signal);
        const result = body as ParsedBody<typeof parser>;
        if (strict) refuseInBody(parser, result);
        return result;
      });
    },
  };
}

/** At once where it takes no more than a millisecond, else in turns of tenants with turns of the event loop in between. */
function parsed(
  body: unknown,
  parsing: Parsing,
  deadline: RequestContext,
  { clock, workers, parseTurns }: RouteParts,
): MaybePromise<unknown> {
  if (body instanceof UnreadableBody) {
    // The embedding contract knows no 415.
    throw parsing.isEmbedding ? new SheafError("invalid_argument", body.reason.message) : body.reason;
  }
  const { stages, owner, signal, hold } = deadline;
  if (!(body instanceof LargeBody)) {
    const bytes = Buffer.isBuffer(body) ? body : NO_BODY;
    const read = (): unknown => {
      const value = clock.reading(stages, () => parseBody(bytes, parsing));
      hold.cover(heapBytes(value));
      return value;
    };
    if (bytes.length < LONG_BODY_BYTES) return read();
    return parseTurns.run({ tenant: owner, age: 0 }, signal, async () => {
      try {
        const value = read();
        // As it is sent to the engine: many that wait for the same thing go on, and are sent, in one turn.
        if (!parsing.isEmbedding && typeof value === "object" && value !== null) packAtOnce(value);
        return value;
      } finally {
        // Also where it is refused: else the next one is parsed in the same turn.
        await nextTurn();
      }
    });
  }
  const task = { ...parsing, pieces: body.pieces };
  const queuedAt = performance.now();
  let begunAt = queuedAt;
  const onBegin = (): void => {
    begunAt = performance.now();
    clock.spent(stages, "parse.queue", begunAt - queuedAt);
  };
  return workers
    .parse({ task, owner, signal, onBegin, onParsed: (size) => hold.cover(size) })
    .finally(() => clock.spent(stages, "parse", performance.now() - begunAt));
}
