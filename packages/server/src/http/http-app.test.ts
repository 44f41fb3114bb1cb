/** The HTTP layer with routes of its own: what every route gets, whatever it does. */
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { packedFormOf } from "@sheaf/process";
import { LIMITS, SheafError } from "@sheaf/protocol";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { AccessWatch } from "../auth/access-watch.ts";
import { createRootKeyStore } from "../auth/key-store.ts";
import { Lifecycle } from "../lifecycle.ts";
import { ActivityLedger } from "../auth/activity-ledger.ts";
import {
  DEFAULT_DEADLINE_SECONDS,
  DeadlineRegistry,
  type DeadlineSeconds,
} from "../request/request-context.ts";
import { testParsing, textOf } from "../testing/test-parsing.ts";
import { createHttpApp } from "./http-app.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Call, DONE, type Route, ok } from "./route.ts";
import { type TrafficBounds, TrafficLimits } from "./traffic-limits.ts";

const KEY = "a-root-key-for-tests";
const LEDGER = new ActivityLedger({ engine: null, now: Date.now, onProblem: () => {} });
const AUTHORIZED = { "x-service-token": KEY };

const apps: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

interface Fixture {
  readonly app: FastifyInstance;
  readonly lifecycle: Lifecycle;
  readonly deadlines: DeadlineRegistry;
  readonly log: string[];
}

function fixture(
  routes: readonly Route[],
  options: { seconds?: DeadlineSeconds; origins?: readonly string[]; bounds?: Partial<TrafficBounds> } = {},
): Fixture {
  const log: string[] = [];
  const lifecycle = new Lifecycle();
  const deadlines = new DeadlineRegistry(options.seconds ?? DEFAULT_DEADLINE_SECONDS);
  const parsing = testParsing();
  const app = createHttpApp({
    ...parsing,
    caller: null,
    keys: createRootKeyStore(KEY),
    lifecycle,
    deadlines,
    access: new AccessWatch(deadlines, Date.now),
    traffic: new TrafficLimits(options.bounds ?? {}, LEDGER),
    logger: pino({ level: "debug" }, { write: (line: string) => log.push(line) }),
    corsAllowOrigins: options.origins ?? [],
  });
  registerRoutes(app, routes, parsing);
  apps.push(app);
  return { app, lifecycle, deadlines, log };
}

function route(handle: Route["handle"], rest: Partial<Route> = {}): Route {
  return { method: "POST", path: "/thing", scope: "read", tenant: "none", handle, ...rest };
}

const ECHO = route(async (call) => ok(`{"body":${await textOf(call)}}`));

describe("registration", () => {
  it("refuses a route without access", async () => {
    const { app } = fixture([]);
    expect(() => app.get("/naked", () => "hello")).toThrow("declares no access");
  });
});

describe("bodies", () => {
  it.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["APPLICATION/JSON", 200],
    ["application/problem+json", 200],
    [undefined, 200],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/jsonp", 415],
    ["nonsense", 415],
  ])("Content-Type %s is %i", async (contentType, status) => {
    const { app } = fixture([ECHO]);
    const reply = await app.inject({
      method: "POST",
      url: "/thing",
      headers: { ...AUTHORIZED, ...(contentType === undefined ? {} : { "content-type": contentType }) },
      payload: Buffer.from('{"new_name":1}'),
    });
    expect(reply.statusCode).toBe(status);
    if (status === 415) expect(reply.json()).toMatchObject({ error: "ChromaError" });
    else expect(reply.json()).toEqual({ body: { new_name: 1 } });
  });

  it.each(["text/plain", "nonsense", "application/json", undefined])(
    "is JSON whatever it claims to be on the embedding endpoints: %s",
    async (contentType) => {
      const { app } = fixture([{ ...ECHO, surface: "embed" }]);
      const send = (payload: string) =>
        app.inject({
          method: "POST",
          url: "/thing",
          headers: { ...AUTHORIZED, ...(contentType === undefined ? {} : { "content-type": contentType }) },
          payload: Buffer.from(payload),
        });
      expect((await send('{"a":1}')).statusCode).toBe(200);
      const broken = await send("a=1");
      expect(broken.statusCode).toBe(400);
      expect(Object.keys(broken.json())).toEqual(["error"]);
    },
  );

  it("is 400 where there is none and a handler wants one", async () => {
    const { app } = fixture([ECHO]);
    const reply = await app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED });
    expect(reply.statusCode).toBe(400);
    expect(reply.json()).toMatchObject({ error: "InvalidArgumentError" });
  });

  it.each([
    ["v2", undefined, 413],
    ["embed", undefined, 413],
    ["embed", 400, 400],
  ] as const)(
    "over the limit on %s (%s) is %i, at the limit it is taken",
    async (surface, tooLarge, status) => {
      const { app } = fixture([
        route(() => DONE, {
          surface,
          ...(tooLarge === undefined ? {} : { tooLargeStatus: tooLarge }),
        }),
      ]);
      const send = (bytes: number) =>
        app.inject({
          method: "POST",
          url: "/thing",
          headers: AUTHORIZED,
          payload: Buffer.alloc(bytes),
        });
      expect((await send(LIMITS.bodyBytes)).statusCode).toBe(200);
      const over = await send(LIMITS.bodyBytes + 1);
      expect(over.statusCode).toBe(status);
      expect(over.json()).toHaveProperty("error");
    },
  );
});

describe("order of refusals", () => {
  it("asks for the key before it looks at the body", async () => {
    const { app } = fixture([ECHO]);
    const reply = await app.inject({ method: "POST", url: "/thing", payload: "{", headers: {} });
    expect(reply.statusCode).toBe(401);
    expect(reply.json()).toEqual({ error: "ChromaError", message: expect.any(String) });
    expect(reply.headers["www-authenticate"]).toBe("Bearer");
  });

  it("gives embedding endpoints their own error body", async () => {
    const { app } = fixture([{ ...ECHO, surface: "embed" }]);
    const reply = await app.inject({ method: "POST", url: "/thing", payload: "{}" });
    expect(reply.statusCode).toBe(401);
    expect(Object.keys(reply.json())).toEqual(["error"]);
  });
});

describe("paths and methods", () => {
  it("answers an unknown path with a JSON 404", async () => {
    const { app } = fixture([ECHO]);
    const reply = await app.inject({ method: "POST", url: "/nothing", payload: "{}" });
    expect(reply.statusCode).toBe(404);
    expect(reply.json()).toMatchObject({ error: "NotFoundError" });
  });

  it("answers a method that a path does not have with 405 and those it has", async () => {
    const { app } = fixture([ECHO, route(() => DONE, { method: "DELETE" })]);
    for (const method of ["GET", "PUT", "PATCH"] as const) {
      const reply = await app.inject({ method, url: "/thing" });
      expect(reply.statusCode).toBe(405);
      expect(reply.headers["allow"]).toBe("POST, DELETE, OPTIONS");
      expect(reply.json()).toMatchObject({ error: "ChromaError" });
    }
  });

  it("answers HEAD where there is a GET", async () => {
    const { app } = fixture([route(() => DONE, { method: "GET" })]);
    const reply = await app.inject({ method: "HEAD", url: "/thing", headers: AUTHORIZED });
    expect(reply.statusCode).toBe(200);
    expect(reply.body).toBe("");
    expect((await app.inject({ method: "HEAD", url: "/thing" })).statusCode).toBe(401);
  });

  it("answers OPTIONS without a key", async () => {
    const { app } = fixture([ECHO], { origins: ["https://a.example"] });
    const reply = await app.inject({
      method: "OPTIONS",
      url: "/thing",
      headers: { origin: "https://a.example", "access-control-request-headers": "x-service-token" },
    });
    expect(reply.statusCode).toBe(204);
    expect(reply.headers).toMatchObject({
      allow: "POST, OPTIONS",
      "access-control-allow-origin": "https://a.example",
      "access-control-allow-headers": "x-service-token",
    });
  });

  it("is 400 for a path that is no UTF-8", async () => {
    const { app } = fixture([route(() => DONE, { method: "GET", path: "/things/:name" })]);
    const reply = await app.inject({ method: "GET", url: "/things/%ff", headers: AUTHORIZED });
    expect(reply.statusCode).toBe(400);
    expect(reply.json()).toMatchObject({ error: "InvalidArgumentError" });
  });

  it("takes a name as long as names may be, and is 404 beyond", async () => {
    const { app } = fixture([
      route(({ params }) => ok(JSON.stringify(params["name"]?.length)), {
        method: "GET",
        path: "/things/:name",
      }),
    ]);
    const get = (name: string) =>
      app.inject({ method: "GET", url: `/things/${encodeURIComponent(name)}`, headers: AUTHORIZED });
    expect((await get("n".repeat(LIMITS.nameCharacters))).body).toBe(String(LIMITS.nameCharacters));
    expect((await get("n".repeat(4 * LIMITS.nameCharacters))).statusCode).toBe(404);
  });
});

describe("request ids", () => {
  it("names every request, and takes a name that is sane", async () => {
    const { app } = fixture([ECHO]);
    const made = await app.inject({ method: "POST", url: "/thing" });
    expect(made.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(made.headers["chroma-trace-id"]).toBe(made.headers["x-request-id"]);
    const given = await app.inject({ method: "POST", url: "/thing", headers: { "x-request-id": "mine-1" } });
    expect(given.headers["x-request-id"]).toBe("mine-1");
    const odd = await app.inject({ method: "POST", url: "/thing", headers: { "x-request-id": "a b" } });
    expect(odd.headers["x-request-id"]).not.toBe("a b");
  });

  it("tells the caller only the id of an unexpected error, and the log everything", async () => {
    const { app, log } = fixture([
      route(() => {
        throw new TypeError("inside story");
      }),
    ]);
    const reply = await app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED });
    expect(reply.statusCode).toBe(500);
    expect(reply.body).not.toContain("inside story");
    expect(reply.body).toContain(String(reply.headers["x-request-id"]));
    expect(log.join("")).toContain("inside story");
    expect(log.join("")).not.toContain(KEY);
  });
});

describe("time and leaving", () => {
  const endless = (seen: { call?: Call }) =>
    route((call) => {
      seen.call = call;
      return new Promise<never>(() => {});
    });

  it("cancels a request that takes too long with 504", async () => {
    const seen: { call?: Call } = {};
    const { app } = fixture([endless(seen)], { seconds: { request: 0.02, bulk: 0.02 } });
    const reply = await app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED });
    expect(reply.statusCode).toBe(504);
    expect(seen.call?.budget.signal.aborted).toBe(true);
  });

  it("cancels the work of a caller who has left", async () => {
    const seen: { call?: Call } = {};
    const { app, deadlines } = fixture([endless(seen)]);
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const request = httpRequest({
      port,
      host: "127.0.0.1",
      method: "POST",
      path: "/thing",
      headers: AUTHORIZED,
    });
    request.on("error", () => request.destroy());
    request.end();
    while (seen.call === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    const { signal } = seen.call.budget;
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    request.destroy();
    await aborted;
    expect(signal.reason).toMatchObject({ code: "cancelled" });
    await deadlines.idle();
  });

  it("answers 503 to what is ended from outside, and to what comes after", async () => {
    const seen: { call?: Call } = {};
    const { app, lifecycle, deadlines } = fixture([
      endless(seen),
      route(() => DONE, { method: "GET", path: "/livez", scope: "public" }),
    ]);
    const running = app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED });
    while (seen.call === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    lifecycle.advance("draining");
    deadlines.abortAll(new SheafError("unavailable", "down"));
    const reply = await running;
    expect(reply.statusCode).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    expect(reply.headers["connection"]).toBe("close");
    await deadlines.idle();
    expect((await app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED })).statusCode).toBe(503);
    expect((await app.inject({ method: "GET", url: "/livez" })).statusCode).toBe(200);
  });
});

describe("bodies that take a while to parse", () => {
  it.each([
    ["get", 200],
    ["upsert", 422],
  ] as const)("have a turn of the event loop each: %s is %i", async (parser, status) => {
    const seen: number[] = [];
    let turn = 0;
    const next = (): unknown => setImmediate(() => turn++ >= 0 && next()).unref();
    const { app } = fixture([
      route(async (call) => {
        try {
          // Packed already, for many that wait for the same thing are sent to the engine in one turn.
          expect(packedFormOf(await call.parse(parser))).toBeDefined();
          return DONE;
        } finally {
          seen.push(turn);
        }
      }),
    ]);
    next();
    const payload = Buffer.from(`{${" ".repeat(20_000)}}`);
    const replies = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.inject({ method: "POST", url: "/thing", headers: AUTHORIZED, payload }),
      ),
    );
    expect(new Set(replies.map(({ statusCode }) => statusCode))).toEqual(new Set([status]));
    expect(new Set(seen).size).toBe(8);
  });
});

describe("a body in a coding that is not known", () => {
  it.each([
    ["v2", true, 415],
    ["embed", true, 400],
    ["v2", false, 200],
  ] as const)("on a route of %s that reads it (%s) is %i", async (surface, reads, status) => {
    const { app } = fixture([{ ...(reads ? ECHO : route(() => DONE)), surface }]);
    const headers = { ...AUTHORIZED, "content-encoding": "br" };
    const reply = await app.inject({ method: "POST", url: "/thing", headers, payload: "{}" });
    expect(reply.statusCode).toBe(status);
  });
});
