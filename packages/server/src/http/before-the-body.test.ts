/** What is answered before a body is read, on a real socket: the body never comes unless the test says so. */
import type { AddressInfo } from "node:net";
import { LIMITS } from "@sheaf/protocol";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AccessWatch } from "../auth/access-watch.ts";
import { ActivityLedger } from "../auth/activity-ledger.ts";
import type { KeyStore } from "../auth/key-store.ts";
import { ANONYMOUS, type Principal, type Scope } from "../auth/principal.ts";
import { Lifecycle } from "../lifecycle.ts";
import { DEFAULT_DEADLINE_SECONDS, DeadlineRegistry } from "../request/request-context.ts";
import { RawClient } from "../testing/raw-client.ts";
import { testParsing, textOf } from "../testing/test-parsing.ts";
import { createHttpApp } from "./http-app.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Route, ok } from "./route.ts";
import { TrafficLimits } from "./traffic-limits.ts";

const DEADLINES = new DeadlineRegistry(DEFAULT_DEADLINE_SECONDS);

const LEDGER = new ActivityLedger({ engine: null, now: Date.now, onProblem: () => {} });
const READ: readonly Scope[] = ["read"];
const KEYS: Readonly<Record<string, Principal>> = {
  reader: { ...ANONYMOUS, id: "reader", scopes: new Set(READ) },
  eager: {
    ...ANONYMOUS,
    id: "eager",
    scopes: new Set(READ),
    limits: { requestsPerMinute: 1, tokensPerMinute: null, concurrentRequests: null },
  },
  embedder: { ...ANONYMOUS, id: "embedder", scopes: new Set<Scope>(["embed"]) },
  bound: { ...ANONYMOUS, id: "bound", tenant: "acme", scopes: new Set(READ) },
};
// Found after a while, like a key that was made.
const STORE: KeyStore = {
  find: async (token) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return KEYS[token] ?? null;
  },
};
const LENGTH = 60_000_000;

let app: FastifyInstance;
let port: number;
const log: string[] = [];
const bodies: number[] = [];

const record: Route["handle"] = async (call) => {
  bodies.push((await textOf(call)).length);
  return ok("{}");
};

beforeAll(async () => {
  const parsing = testParsing();
  app = createHttpApp({
    ...parsing,
    caller: null,
    keys: STORE,
    lifecycle: new Lifecycle(),
    deadlines: DEADLINES,
    access: new AccessWatch(DEADLINES, Date.now),
    traffic: new TrafficLimits({}, LEDGER),
    logger: pino({ level: "debug" }, { write: (line: string) => log.push(line) }),
    corsAllowOrigins: [],
    trustedProxies: ["127.0.0.2"],
  });
  const read = { scope: "read", tenant: "none" } as const;
  registerRoutes(
    app,
    [
      { ...read, method: "POST", path: "/thing", handle: record },
      { ...read, method: "POST", path: "/tenants/:tenant/thing", tenant: "path", handle: record },
      { method: "GET", path: "/livez", scope: "public", tenant: "none", handle: () => ok("{}") },
    ],
    parsing,
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = app.server.address() as AddressInfo);
});
beforeEach(() => {
  bodies.length = 0;
  log.length = 0;
});
afterAll(() => app.close());

function head(line: string, ...headers: readonly string[]): string {
  return `${[`${line} HTTP/1.1`, "Host: a", ...headers].join("\r\n")}\r\n\r\n`;
}

/** The statuses of one request, as they come while no body does. */
async function statuses(text: string, count = 1): Promise<readonly number[]> {
  const client = await RawClient.open(port);
  const answers = await client.ask(text, count);
  client.close();
  return answers;
}

const REFUSED: readonly (readonly [status: number, line: string, key: string | null])[] = [
  [401, "POST /thing", null],
  [401, "POST /thing", "nobody"],
  [403, "POST /thing", "embedder"],
  [403, "POST /tenants/other/thing", "bound"],
  [404, "POST /nowhere", null],
  [404, "PUT /nowhere", "reader"],
  [405, "PUT /thing", null],
  [405, "DELETE /thing", "reader"],
  [405, "POST /livez", null],
  [204, "OPTIONS /thing", null],
  [200, "GET /livez", null],
];

describe("a request that is refused, or wants no body", () => {
  it.each(REFUSED)("is answered with %i before its body: %s with the key %s", async (status, line, key) => {
    const token = key === null ? [] : [`x-service-token: ${key}`];
    for (const framing of [`Content-Length: ${LENGTH}`, "Transfer-Encoding: chunked"]) {
      expect(await statuses(head(line, framing, ...token))).toEqual([status]);
      expect(await statuses(head(line, framing, ...token, "Expect: 100-continue"))).toEqual([status]);
    }
  });

  it("is answered with 429 before its body", async () => {
    const over = head("POST /thing", "x-service-token: eager", `Content-Length: ${LENGTH}`);
    expect(await statuses(head("POST /thing", "x-service-token: eager", "Content-Length: 0"))).toEqual([400]);
    expect(await statuses(over)).toEqual([429]);
    expect(await statuses(over.replace("Host", "Expect: 100-continue\r\nHost"))).toEqual([429]);
  });

  it("may send its body all the same, and ask again after it", async () => {
    for (const [status, line] of REFUSED) {
      const client = await RawClient.open(port);
      client.write(head(line, `Content-Length: ${LENGTH}`, "x-service-token: embedder"));
      client.write(Buffer.alloc(LENGTH, " "));
      client.write(head("GET /livez"));
      await client.until(({ statuses: all }) => all.length === 2);
      expect(client.statuses).toEqual([status === 401 ? 403 : status, 200]);
      client.close();
    }
  });

  it("closes the connection where the client waits to be told to send", async () => {
    const client = await RawClient.open(port);
    const text = head("POST /thing", `Content-Length: ${LENGTH}`, "Expect: 100-continue");
    expect(await client.ask(text)).toEqual([401]);
    expect(client.received).toMatch(/connection: close\r\n/i);
    client.socket.end();
    await client.closed;
  });
});

describe("100 Continue", () => {
  it("comes once the request is admitted, and then its body counts", async () => {
    const client = await RawClient.open(port);
    const text = head("POST /thing", "x-service-token: reader", "Content-Length: 17", "Expect: 100-continue");
    expect(await client.ask(text)).toEqual([100]);
    expect(await client.ask('{"new_name":"ab"}')).toEqual([200]);
    expect(bodies).toEqual([17]);
    client.close();
  });

  it("does not come for a body that is known to be too large", async () => {
    const length = `Content-Length: ${LIMITS.bodyBytes + 1}`;
    const text = head("POST /thing", "x-service-token: reader", length, "Expect: 100-continue");
    expect(await statuses(text)).toEqual([413]);
  });

  it("is not waited for where something else is expected", async () => {
    const client = await RawClient.open(port);
    const text = head("POST /thing", "x-service-token: reader", "Content-Length: 7", "Expect: 200-ok");
    expect(await client.ask(`${text}{"a":1}`)).toEqual([200]);
    client.close();
  });
});

describe("a request without Host", () => {
  it("is 400 with a body of JSON", async () => {
    const client = await RawClient.open(port);
    expect(await client.ask("GET /livez HTTP/1.1\r\n\r\n")).toEqual([400]);
    expect(client.received).toMatch(/content-type: application\/json/i);
    expect(client.received).toContain('{"error":"InvalidArgumentError","message":"Host: ');
    client.close();
  });

  it("is none of HTTP/1.0", async () => {
    expect(await statuses("GET /livez HTTP/1.0\r\n\r\n")).toEqual([200]);
  });
});

describe("a request with several Host headers", () => {
  it.each(["HTTP/1.0", "HTTP/1.1"])("is 400 in %s, before the key is looked at", async (version) => {
    const client = await RawClient.open(port);
    expect(await client.ask(`POST /thing ${version}\r\nHost: a\r\nHOST: a\r\n\r\n`)).toEqual([400]);
    expect(client.received).toContain('"message":"Host: must be given once"');
    client.close();
    expect(await statuses("GET /livez HTTP/1.1\r\nHost: a\r\nX-Host: b\r\n\r\n")).toEqual([200]);
  });
});

describe("a request whose framing or headers cannot be read as they were meant", () => {
  it.each(["gzip, chunked", "chunked, chunked", "identity, chunked"])("is 400 with %s", async (coding) => {
    const client = await RawClient.open(port);
    const text = head("POST /thing", "x-service-token: reader", `Transfer-Encoding: ${coding}`);
    expect((await client.ask(`${text}2\r\n{}\r\n0\r\n\r\n${head("GET /livez")}`))[0]).toBe(400);
    await client.closed;
    expect(client.statuses).toHaveLength(1);
  });

  it("is read with 1,900 headers, the last of which is the key, and is 431 with 2,500", async () => {
    const many = (count: number): string[] => Array.from({ length: count }, () => "a:");
    const length = "Content-Length: 17";
    const client = await RawClient.open(port);
    const few = head("POST /thing", length, ...many(1_900), "x-service-token: reader");
    expect(await client.ask(`${few}{"new_name":"ab"}`)).toEqual([200]);
    expect(await client.ask(head("POST /thing", length, ...many(2_500), "x-service-token: reader"))).toEqual([
      431,
    ]);
    client.close();
  });
});

describe("the log", () => {
  const logged = async (localAddress: string, forwarded: string): Promise<unknown> => {
    log.length = 0;
    const client = await RawClient.open(port, localAddress);
    await client.ask(head("GET /livez", `X-Forwarded-For: ${forwarded}`));
    client.close();
    while (log.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return (JSON.parse(log[0]!) as { client: unknown }).client;
  };

  it("names the key of a request that is refused", async () => {
    log.length = 0;
    const client = await RawClient.open(port);
    expect(await client.ask(head("POST /thing", "x-service-token: embedder", "Content-Length: 2"))).toEqual([
      403,
    ]);
    client.close();
    while (log.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(JSON.parse(log[0]!)).toMatchObject({ status: 403, key: "embedder" });
  });

  it("names the address of the client", async () => {
    expect(await logged("127.0.0.1", "203.0.113.9")).toBe("127.0.0.1");
    expect(await logged("127.0.0.2", "203.0.113.9")).toBe("203.0.113.9");
  });
});
