/** Connections over real sockets, with bounds small enough to be met. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { RawClient } from "../testing/raw-client.ts";
import { TrustedProxies } from "./client-address.ts";
import { CONNECTION_BOUNDS, type ConnectionBounds } from "./connection-bounds.ts";
import { Connections } from "./connections.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

interface Fixture {
  readonly port: number;
  readonly connections: Connections;
  /** Requests that were handed over and not answered. */
  readonly held: { readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** Answers whose end was told. */
  readonly ended: () => number;
  readonly refusals: number[];
  readonly open: (localAddress?: string) => Promise<RawClient>;
}

const servers: Server[] = [];
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

async function fixture(bounds: Partial<ConnectionBounds>, proxies: readonly string[] = []): Promise<Fixture> {
  const held: Fixture["held"] = [];
  const refusals: number[] = [];
  let ended = 0;
  const connections = new Connections({
    bounds: { ...CONNECTION_BOUNDS, ...bounds },
    proxies: new TrustedProxies(proxies),
    keepAliveSeconds: 60,
    requestSeconds: 60,
    onRefused: (open) => refusals.push(open),
  });
  const server = connections.createServer((request, response) => {
    response.once("close", () => ended++);
    held.push({ request, response });
  });
  servers.push(server);
  server.on("clientError", (_error, socket) => socket.end("HTTP/1.1 408 Request Timeout\r\n\r\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress?: string): Promise<RawClient> => {
    const client = await RawClient.open(port, localAddress);
    clients.push(client);
    return client;
  };
  return { port, connections, held, ended: () => ended, refusals, open };
}

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error("it does not come to hold");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("pipelined requests", () => {
  it.each(["gzip, chunked", ",chunked"])("are not begun behind one with %s", async (coding) => {
    const { held, open } = await fixture({});
    const client = await open();
    const post = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`;
    client.write(post + GET);
    await client.closed;
    expect(client.statuses).toEqual([400]);
    expect(held).toEqual([]);
  });

  it("are worked on eight at a time, and answered in order", async () => {
    const { held, open } = await fixture({});
    const client = await open();
    client.write(Array.from({ length: 1_000 }, (_, i) => GET.replace("/ ", `/${i} `)).join(""));
    for (let answered = 0; answered < 1_000;) {
      await until(() => held.length > 0);
      expect(held.length).toBeLessThanOrEqual(8);
      for (const { request, response } of held.splice(0)) {
        response.end(`(${request.url})`);
        answered++;
      }
    }
    await client.until(({ received }) => received.includes("(/999)"));
    const order = [...client.received.matchAll(/\(\/(\d+)\)/g)].map(([, i]) => Number(i));
    expect(order).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  it("may have bodies, which wait unread behind those that are worked on", async () => {
    const { held, open } = await fixture({});
    const client = await open();
    const body = Buffer.alloc(1_000_000, "x");
    const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
    client.write(GET.repeat(8) + post);
    client.write(body);
    client.write(GET);
    await until(() => held.length === 8);
    await pause(50);
    expect(held.length).toBe(8);
    for (const { response } of held.splice(0)) response.end();
    await until(() => held.length > 0);
    let received = 0;
    held[0]!.request.on("data", (chunk: Buffer) => (received += chunk.length));
    await until(() => received === body.length);
    await until(() => held.length === 2);
    for (const { response } of held.splice(0)) response.end();
    await client.until(({ statuses }) => statuses.length === 10);
  });

  it("are parsed a portion at a time, so that a body that is held keeps all that follows it", async () => {
    const { connections, held, open } = await fixture({});
    const client = await open();
    const body = Buffer.alloc(300_000, "x");
    client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
    await until(() => held.length === 1);
    const { request } = held[0]!;
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received === chunk.length) connections.of(request.socket)!.holdBody();
    });
    client.write(body);
    client.socket.end(GET);
    await pause(100);
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThanOrEqual(64 * 1024);
    connections.of(request.socket)!.receiveBody();
    await until(() => held.length === 2);
    expect(received).toBe(body.length);
    for (const { response } of held) response.end();
  });

  it("all end when the connection does", async () => {
    const { held, ended, open } = await fixture({});
    const client = await open();
    client.write(GET.repeat(8));
    await until(() => held.length === 8);
    client.close();
    await until(() => ended() === 8);
    await pause(20);
    expect(held.length).toBe(8);
    expect(ended()).toBe(8);
  });

  it.each([
    [{ waitingRequests: 50 }, []],
    [{ waitingRequestsPerAddress: 50 }, ["127.0.0.2"]],
  ])("close the connection where too many wait: %j", async (bounds, others) => {
    const { held, open } = await fixture(bounds);
    const patient = await open();
    patient.write(GET.repeat(58));
    await until(() => held.length === 8);
    const greedy = await open();
    greedy.write(GET.repeat(9));
    await greedy.closed;
    expect(greedy.received).toBe("");
    const elsewhere = await Promise.all(others.map((address) => open(address)));
    for (const client of elsewhere) client.write(GET.repeat(9));
    let answered = 0;
    while (answered < 58 + 9 * others.length) {
      await until(() => held.length > 0);
      for (const { response } of held.splice(0)) {
        response.end();
        if (!response.req.socket.destroyed) answered++;
      }
    }
    await patient.until(({ statuses }) => statuses.length === 58);
    for (const client of elsewhere) await client.until(({ statuses }) => statuses.length === 9);
  });
});

describe("the bound on connections", () => {
  const full = async (bounds: Partial<ConnectionBounds>, proxies: readonly string[] = []) => {
    const made = await fixture({ idleSeconds: 0, ...bounds }, proxies);
    const first = [await made.open(), await made.open()];
    for (const client of first) client.write(GET);
    await until(() => made.held.length === 2);
    return { ...made, first };
  };

  it.each([{ connections: 2 }, { connectionsPerAddress: 2 }])(
    "answers with 503 while none is idle: %j",
    async (bounds) => {
      const { open, held, first, refusals } = await full(bounds);
      const late = await open();
      expect(await late.ask(GET)).toEqual([503]);
      expect(late.received).toMatch(/retry-after: 1\r\n/i);
      expect(late.received).toMatch(/connection: close\r\n/i);
      await late.closed;
      expect(refusals).toEqual([2]);
      for (const { response } of held.splice(0)) response.end();
      await Promise.all(first.map((client) => client.until(({ statuses }) => statuses[0] === 200)));
    },
  );

  it.each([{ connections: 2 }, { connectionsPerAddress: 2 }])(
    "closes the one that has been idle longest: %j",
    async (bounds) => {
      const { open, held, first } = await full(bounds);
      held.splice(1, 1)[0]!.response.end();
      await first[1]!.until(({ statuses }) => statuses.length === 1);
      await pause(20);
      const late = await open();
      late.write(GET);
      await until(() => held.length === 2);
      held[1]!.response.end();
      await late.until(({ statuses }) => statuses[0] === 200);
      await first[1]!.closed;
      held[0]!.response.end();
      await first[0]!.until(({ statuses }) => statuses.length > 0);
      expect(first[0]!.statuses).toEqual([200]);
    },
  );

  it("leaves one open whose client may just be asking", async () => {
    const { open } = await fixture({ connections: 1, idleSeconds: 60 });
    const first = await open();
    const late = await open();
    expect(await late.ask(GET)).toEqual([503]);
    expect(first.socket.destroyed).toBe(false);
  });

  it("admits one that was refused once there is room", async () => {
    const { open, held, first } = await full({ connections: 2 });
    const late = await open();
    first[0]!.close();
    await pause(50);
    late.write(GET);
    await until(() => held.length === 3);
    held[2]!.response.end();
    await late.until(({ statuses }) => statuses.length > 0);
    expect(late.statuses).toEqual([200]);
  });

  it("of one address leaves the others alone, and proxies too", async () => {
    const { open, held } = await full({ connectionsPerAddress: 2 }, ["127.0.0.3"]);
    const other = await open("127.0.0.2");
    other.write(GET);
    await until(() => held.length === 3);
    const proxied = await Promise.all([1, 2, 3].map(() => open("127.0.0.3")));
    for (const client of proxied) client.write(GET);
    await until(() => held.length === 6);
    expect(await (await open()).ask(GET)).toEqual([503]);
  });

  it("closes at once what would be too many to refuse", async () => {
    const { open } = await full({ connections: 2, refusedConnections: 1 });
    const refused = await open();
    const dropped = await open();
    await dropped.closed;
    expect(dropped.received).toBe("");
    expect(await refused.ask(GET)).toEqual([503]);
  });

  it("ends refused connections that ask nothing", async () => {
    const { open } = await full({ connections: 2 });
    const silent = await open();
    await silent.closed;
    expect(silent.received).toBe("");
  });
});

describe("bodies", () => {
  const post = (length: number): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
  const drip = async (client: RawClient, bytes: number, everyMs: number): Promise<void> => {
    while (!client.socket.destroyed) {
      client.write(Buffer.alloc(bytes));
      await pause(everyMs);
    }
  };

  it("that come too slowly are ended with 408", async () => {
    const { held, open } = await fixture({ bodyGraceSeconds: 1, bodyBytesPerSecond: 1_000 });
    const client = await open();
    client.write(post(1_000_000));
    await until(() => held.length === 1);
    held[0]!.request.resume();
    await drip(client, 10, 100);
    expect(client.statuses).toEqual([408]);
  });

  it("that stop are ended with 408, however fast they began", async () => {
    const { held, open } = await fixture({ bodyPauseSeconds: 1, bodyBytesPerSecond: 1_000 });
    const client = await open();
    client.write(post(10_000_000));
    await until(() => held.length === 1);
    held[0]!.request.resume();
    client.write(Buffer.alloc(5_000_000));
    await client.closed;
    expect(client.statuses).toEqual([408]);
  });

  it("that come fast enough go on, and so do those that nobody reads yet", async () => {
    const { held, open } = await fixture({ bodyGraceSeconds: 0, bodyBytesPerSecond: 1_000 });
    const [steady, unread] = [await open(), await open()];
    steady.write(post(30_000));
    await until(() => held.length === 1);
    held[0]!.request.resume();
    unread.write(post(300_000));
    unread.write(Buffer.alloc(300_000));
    for (let i = 0; i < 30; i++) {
      steady.write(Buffer.alloc(1_000));
      await pause(100);
    }
    await until(() => held[0]!.request.complete);
    expect(held[1]!.request.complete).toBe(false);
    held[1]!.request.resume();
    await until(() => held[1]!.request.complete);
    for (const { response } of held.splice(0)) response.end();
    await Promise.all([steady, unread].map((client) => client.until(({ statuses }) => statuses[0] === 200)));
  });

  it.each(["close", "keep-alive"])(
    "are thrown away after an early answer: Connection: %s",
    async (connection) => {
      const { held, open } = await fixture({});
      const client = await open();
      client.write(post(20_000_000));
      await until(() => held.length === 1);
      held[0]!.response.writeHead(401, { connection }).end("no");
      // Only then does it send, and read.
      client.socket.pause();
      await pause(50);
      await new Promise((resolve) => client.socket.write(Buffer.alloc(20_000_000), resolve));
      client.socket.resume();
      await client.until(({ statuses }) => statuses.length > 0);
      expect(client.statuses).toEqual([401]);
      if (connection === "close") await client.closed;
      else {
        client.write(GET);
        await until(() => held.length === 2);
      }
    },
  );

  it.each([{ unreadBodyBytes: 1_000_000 }, { unreadBodySeconds: 1 }])(
    "are not thrown away without end: %j",
    async (bounds) => {
      const { held, open } = await fixture(bounds);
      const client = await open();
      client.write(post(1_000_000_000));
      await until(() => held.length === 1);
      held[0]!.response.end();
      await drip(client, 100_000, 10);
      expect(client.statuses).toEqual([200]);
    },
  );

  it("keep a connection that is ending from asking more", async () => {
    const { held, open } = await fixture({});
    const client = await open();
    client.write(post(10));
    await until(() => held.length === 1);
    held[0]!.response.writeHead(200, { connection: "close" }).end();
    await client.until(({ statuses }) => statuses.length === 1);
    client.write("0123456789" + GET);
    await client.closed;
    expect(held.length).toBe(1);
  });
});
