/** A server without keys on a real socket: what programs of the machine send, and what web pages can make browsers send. */
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AccessWatch } from "../auth/access-watch.ts";
import { ActivityLedger } from "../auth/activity-ledger.ts";
import { Lifecycle } from "../lifecycle.ts";
import { DEFAULT_DEADLINE_SECONDS, DeadlineRegistry } from "../request/request-context.ts";
import { RawClient } from "../testing/raw-client.ts";
import { testParsing, textOf } from "../testing/test-parsing.ts";
import { createHttpApp } from "./http-app.ts";
import { registerRoutes } from "./register-routes.ts";
import { DONE, type Route } from "./route.ts";
import { TrafficLimits } from "./traffic-limits.ts";

const DEADLINES = new DeadlineRegistry(DEFAULT_DEADLINE_SECONDS);

const LEDGER = new ActivityLedger({ engine: null, now: Date.now, onProblem: () => {} });
const LISTED = "https://app.example";

let app: FastifyInstance;
let port: number;
let calls = 0;

function route(method: Route["method"], path: string, rest: Partial<Route> = {}): Route {
  const handle: Route["handle"] = async (call) => {
    if (method !== "GET") await textOf(call);
    calls++;
    return DONE;
  };
  return { method, path, scope: "admin", tenant: "none", handle, ...rest };
}

beforeAll(async () => {
  const parsing = testParsing();
  app = createHttpApp({
    ...parsing,
    caller: null,
    keys: null,
    lifecycle: new Lifecycle(),
    deadlines: DEADLINES,
    access: new AccessWatch(DEADLINES, Date.now),
    traffic: new TrafficLimits({}, LEDGER),
    logger: pino({ level: "silent" }),
    corsAllowOrigins: [LISTED],
    allowedHosts: ["sheaf.internal", "fd00::5"],
  });
  registerRoutes(
    app,
    [
      route("GET", "/"),
      route("GET", "/docs"),
      route("GET", "/thing", { scope: "public" }),
      route("POST", "/thing"),
      route("POST", "/embed", { surface: "embed" }),
    ],
    parsing,
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = app.server.address() as AddressInfo);
});
beforeEach(() => {
  calls = 0;
});
afterAll(() => app.close());

/** Status of what is sent as it stands, without a body. */
async function send(line: string, ...headers: readonly string[]): Promise<number | undefined> {
  const client = await RawClient.open(port);
  const version = / HTTP\/1\.[01]$/.test(line) ? "" : " HTTP/1.1";
  client.write(`${line}${version}\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`);
  await client.until(({ statuses }) => statuses.length > 0);
  const [status] = client.statuses;
  if (status === 403) expect(client.received).toContain('"error":');
  client.close();
  return status;
}

async function post(path: string, body: string, ...headers: readonly string[]): Promise<number | undefined> {
  const client = await RawClient.open(port);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: localhost:${port}`,
    `Content-Length: ${body.length}`,
    ...headers,
  ];
  const [status] = await client.ask(`${head.join("\r\n")}\r\n\r\n${body}`);
  client.close();
  return status;
}

describe("Host", () => {
  it.each([
    "localhost",
    "localhost:8000",
    "LOCALHOST:8000",
    "LocalHost.",
    "localhost.:8000",
    "127.0.0.1",
    "127.0.0.1:8000",
    "127.9.8.7:1",
    "127.0.0.1.:8000",
    "[::1]",
    "[::1]:8000",
    "sheaf.internal",
    "Sheaf.Internal.:443",
    "[fd00::5]:8000",
  ])("%s is ours", async (host) => {
    expect(await send("GET /thing", `Host: ${host}`)).toBe(200);
  });

  it.each([
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "localhost..",
    "evil.localhost",
    "user@localhost",
    "localhost@evil.example",
    "localhost/",
    "localhost:8000:1",
    "localhost:port",
    "localhost, evil.example",
    "0.0.0.0:8000",
    "2130706433",
    "127.1",
    "0x7f.0.0.1",
    "127.0.0.999",
    "10.0.0.1",
    "::1",
    "[::2]",
    "[::ffff:127.0.0.1]",
    "[localhost]",
    "",
    "sheaf.internal.evil.example",
  ])("%s is not", async (host) => {
    expect(await send("GET /thing", `Host: ${host}`)).toBe(403);
    expect(await send("POST /thing", `Host: ${host}`)).toBe(403);
    expect(await send("GET /nowhere", `Host: ${host}`)).toBe(403);
    expect(calls).toBe(0);
  });

  it("has to be there, and once", async () => {
    expect(await send("GET /thing")).toBe(403);
    expect(await send("GET /thing HTTP/1.0")).toBe(403);
    expect(await send("GET /thing HTTP/1.0", "Host: localhost")).toBe(200);
    expect(await send("GET /thing", "Host: localhost", "Host: evil.example")).toBe(403);
    expect(await send("GET /thing", "Host: localhost", "HOST: localhost")).toBe(403);
  });

  it("counts for less than a target that names a host itself", async () => {
    expect(await send("GET http://localhost/thing", "Host: localhost")).toBe(200);
    expect(await send("GET http://evil.example/thing", "Host: localhost")).toBe(403);
    expect(await send("GET HTTP://EVIL.example/thing", "Host: localhost")).toBe(403);
    expect(await send("GET http://localhost/thing", "Host: evil.example")).toBe(403);
    expect(await send("GET http://localhost@evil.example/thing", "Host: localhost")).toBe(403);
    expect(await send("GET //evil.example/thing", "Host: localhost")).toBe(404);
    expect(calls).toBe(1);
  });
});

describe("Origin", () => {
  it("may be the server's own, or a listed one", async () => {
    expect(await send("GET /thing", "Host: localhost:8000", "Origin: http://localhost:8000")).toBe(200);
    expect(await send("GET /thing", "Host: LOCALHOST:8000", "Origin: http://localhost:8000")).toBe(200);
    expect(await send("GET /thing", "Host: sheaf.internal", "Origin: https://sheaf.internal")).toBe(200);
    expect(
      await send("POST /thing", "Host: localhost", `Origin: ${LISTED}`, "Sec-Fetch-Site: cross-site"),
    ).toBe(400);
    expect(await send("OPTIONS /thing", "Host: localhost", `Origin: ${LISTED}`)).toBe(204);
  });

  it.each([
    "null",
    "https://evil.example",
    "http://localhost:3000",
    "http://localhost:8000.evil.example",
    "http://127.0.0.1:8000",
    "http://LOCALHOST:8000/",
    "file://",
    `${LISTED}, ${LISTED}`,
    "https://app.example.evil.example",
    "",
  ])("%s is refused", async (origin) => {
    for (const line of ["GET /thing", "POST /thing", "OPTIONS /thing", "GET /", "GET /nowhere"]) {
      expect(await send(line, "Host: localhost:8000", `Origin: ${origin}`)).toBe(403);
    }
    expect(calls).toBe(0);
  });
});

describe("Sec-Fetch-Site", () => {
  const navigate = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];

  it.each(["same-origin", "none"])("%s may go on", async (site) => {
    expect(await send("GET /thing", "Host: localhost", `Sec-Fetch-Site: ${site}`)).toBe(200);
  });

  it.each(["cross-site", "same-site", "", "none, none"])(
    "%s may follow a link to a page, and no more",
    async (site) => {
      const ask = (line: string, ...rest: readonly string[]) =>
        send(line, "Host: localhost", `Sec-Fetch-Site: ${site}`, ...rest);
      for (const page of ["/", "/docs", "/docs?x=/thing"]) {
        expect(await ask(`GET ${page}`, ...navigate)).toBe(200);
        expect(await ask(`GET ${page}`)).toBe(403);
        expect(await ask(`GET ${page}`, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image")).toBe(403);
        expect(await ask(`GET ${page}`, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")).toBe(403);
      }
      expect(await ask("POST /", ...navigate)).toBe(403);
      expect(await ask("GET /thing", ...navigate)).toBe(403);
      expect(await ask("GET /thing?/docs", ...navigate)).toBe(403);
      expect(calls).toBe(3);
    },
  );
});

describe("bodies", () => {
  it.each(["/thing", "/embed"])("of %s are declared to be JSON", async (path) => {
    expect(await post(path, "{}", "Content-Type: application/json")).toBe(200);
    expect(await post(path, "{}", "content-type: Application/JSON; charset=utf-8")).toBe(200);
    expect(await post(path, "{}")).toBe(415);
    expect(await post(path, "{}", "Content-Type: text/plain")).toBe(415);
    expect(await post(path, "{}", "Content-Type: text/plain; application/json")).toBe(415);
    expect(await post(path, "a=1", "Content-Type: application/x-www-form-urlencoded")).toBe(415);
    expect(calls).toBe(2);
  });

  it("may be missing", async () => {
    expect(await send("POST /thing", "Host: localhost", "Content-Length: 0")).toBe(400);
  });

  it("of pages are refused as pages first", async () => {
    expect(await post("/thing", "{}", "Origin: https://evil.example", "Content-Type: text/plain")).toBe(403);
  });
});
