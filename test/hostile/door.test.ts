/** What callers can do who are not known yet, and those who hold connections: each on sockets of their own making. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawClient } from "../../packages/server/src/testing/raw-client.ts";
import { MIB, MemoryWatch } from "./testing/memory-watch.ts";
import { Stage } from "./testing/stage.ts";

const MB = 1_000_000;
const BODY = Buffer.alloc(60 * MB, " ");
const PER_ADDRESS = 100;
/** Where the attacker's connections come from, so that bounds of an address are its own. */
const ATTACKER = "127.0.0.2";
const PROXY = "127.0.0.3";
/** A connection counts as idle after two seconds. */
const IDLE_MS = 3_500;

let stage: Stage;
let port: number;
let records: string;
let searched: string;

beforeAll(async () => {
  stage = await Stage.open({
    args: ["--max-connections-per-address", String(PER_ADDRESS), "--trusted-proxies", PROXY],
    env: { SHEAF_LOG_LEVEL: "info" },
  });
  port = Number(new URL(stage.served.url).port);
  records = await stage.attacker.createCollection("records");
  const ids = ["a", "b"];
  await stage.attacker.expect(200, `${records}/upsert`, {
    ids,
    embeddings: [
      [1, 0],
      [0, 1],
    ],
    documents: ids,
  });
  searched = JSON.stringify({
    searches: [{ rank: { $knn: { query: [1, 0], limit: 1 } }, limit: { limit: 1 } }],
  });
});
afterAll(async () => {
  await stage.close();
});

function head(line: string, ...headers: readonly string[]): string {
  return `${[`${line} HTTP/1.1`, "Host: sheaf", "Content-Type: application/json", ...headers].join("\r\n")}\r\n\r\n`;
}

const withKey = (): string => `x-service-token: ${stage.attacker.key}`;

async function open(count: number): Promise<readonly RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => RawClient.open(port, ATTACKER)));
}

async function allClosed(clients: readonly RawClient[]): Promise<void> {
  await Promise.all(clients.map(({ closed }) => closed));
}

/** Sends a request with a body of 60 MB ten times at once, and gives the statuses. */
async function sendTen(line: string, ...headers: readonly string[]): Promise<readonly number[]> {
  const clients = await open(10);
  for (const client of clients) {
    client.write(head(line, `Content-Length: ${BODY.length}`, ...headers));
    client.write(BODY);
  }
  await Promise.all(clients.map((client) => client.until(({ statuses }) => statuses.length > 0)));
  // What was sent has been taken in, by the server or by the kernel.
  await Promise.all(clients.map((client) => client.until(({ socket }) => socket.writableLength === 0)));
  for (const client of clients) client.close();
  return clients.map(({ statuses }) => statuses[0] ?? 0);
}

describe("bodies of nobody", () => {
  it("are not kept, whatever they are sent to, and one of the same size with a key is", async () => {
    const watch = MemoryWatch.start(stage.served.pid);
    await sleep(1_000);
    const quiet = (await watch.stop()) / MIB;
    const { attacker } = stage;
    await stage.unharmed(quiet + 250, async () => {
      for (const [status, line] of [
        [200, "GET /livez"],
        [405, "POST /livez"],
        [405, "PUT /embed"],
        [405, "POST /openapi.json"],
        [404, "POST /nowhere"],
        [410, "PUT /api/v1/collections"],
        [204, "OPTIONS /embed"],
        [401, "POST /embed"],
        [401, `POST ${records}/upsert`],
      ] as const) {
        expect([line, new Set(await sendTen(line))]).toEqual([line, new Set([status])]);
      }
      const foreign = `POST ${records.replace("/attacker/", "/bystander/")}/upsert`;
      expect(new Set(await sendTen(foreign, withKey()))).toEqual(new Set([403]));
    });
    await stage.unharmed(2_048, async () => {
      const document = "word ".repeat(3 * MB);
      const ids = ["0", "1", "2", "3"];
      const body = { ids, embeddings: ids.map(() => [1, 2]), documents: ids.map(() => document) };
      await attacker.expect(200, `${records}/upsert`, body);
      await attacker.expect(200, `${records}/delete`, { ids });
    });
  });

  it("are asked for with 100 Continue only from who may send them", async () => {
    const body = JSON.stringify({ ids: ["c"], embeddings: [[1, 1]] });
    const text = (...headers: readonly string[]): string =>
      head(`POST ${records}/upsert`, `Content-Length: ${body.length}`, "Expect: 100-continue", ...headers);
    await stage.unharmed(1_500, async () => {
      const [stranger, known] = await open(2);
      expect(await stranger!.ask(text())).toEqual([401]);
      expect(await known!.ask(text(withKey()))).toEqual([100]);
      expect(await known!.ask(body)).toEqual([200]);
      stranger!.close();
      known!.close();
    });
  });
});

describe("pipelined requests", () => {
  it("of one connection are worked on eight at a time, and all answered", async () => {
    const { key } = await stage.served.ask<{ key: string }>("/api/v2/keys", {
      name: "eight",
      tenant: "attacker",
      scopes: ["read"],
      limits: { concurrent_requests: 8 },
    });
    const length = `Content-Length: ${searched.length}`;
    const search = `${head(`POST ${records}/search`, `x-service-token: ${key}`, length)}${searched}`;
    await stage.unharmed(1_500, async () => {
      const [client] = await open(1);
      expect(new Set(await client!.ask(search.repeat(8), 8))).toEqual(new Set([200]));
      // A ninth at a time would be 429.
      expect(new Set(await client!.ask(search.repeat(1_000), 1_000))).toEqual(new Set([200]));
      client!.close();
    });
  });
});

describe("connections over the bound of an address", () => {
  const get = head("GET /livez");

  it("take the place of idle ones, and are 503 where there is none", async () => {
    await stage.unharmed(1_500, async () => {
      const idle = await open(PER_ADDRESS);
      for (const client of idle) client.write("GET /livez HTTP/1.1\r\n");
      await sleep(IDLE_MS);
      const busy = await open(PER_ADDRESS);
      const unfinished = head(`POST ${records}/get`, withKey(), "Content-Length: 1000000");
      for (const client of busy) client.write(unfinished);
      await allClosed(idle);
      await sleep(IDLE_MS);
      const over = await open(20);
      const answers = await Promise.all(over.map((client) => client.ask(get)));
      expect(new Set(answers.flat())).toEqual(new Set([503]));
      for (const { received } of over) expect(received).toMatch(/retry-after: \d+\r\n/iu);
      expect(busy.filter(({ socket }) => socket.destroyed)).toEqual([]);
      // Another address is not concerned, and neither is this one once there is room.
      expect(await (await RawClient.open(port, "127.0.0.4")).ask(get)).toEqual([200]);
      for (const client of [...busy, ...over]) client.close();
      const askLate = async (): Promise<readonly number[]> => {
        const [late] = await open(1);
        const statuses = await late!.ask(get);
        late!.close();
        return statuses;
      };
      await expect.poll(askLate).toEqual([200]);
    });
  });

  it("are a trusted proxy's to have, and the log names its clients", async () => {
    await stage.unharmed(1_500, async () => {
      const lines = (address: string): boolean => stage.served.output.includes(`"client":"${address}"`);
      const path = `GET ${records}/count`;
      const proxied = await Promise.all(
        Array.from({ length: 2 * PER_ADDRESS }, () => RawClient.open(port, PROXY)),
      );
      const forwarded = head(path, withKey(), "X-Forwarded-For: 127.0.0.9, 203.0.113.7");
      const answers = await Promise.all(proxied.map((client) => client.ask(forwarded)));
      expect(new Set(answers.flat())).toEqual(new Set([200]));
      const [liar] = await open(1);
      expect(await liar!.ask(forwarded.replace("203.0.113.7", "203.0.113.8"))).toEqual([200]);
      for (const client of [...proxied, liar!]) client.close();
      await expect.poll(() => lines(ATTACKER) && lines("203.0.113.7")).toBe(true);
      expect(lines("203.0.113.8") || lines("127.0.0.9")).toBe(false);
    });
  });
});

describe("web pages and a server without keys", () => {
  const LISTED = "https://app.example";
  let unguarded: Stage;
  let url: string;
  beforeAll(async () => {
    const args = ["--auth", "off", "--allow-reset", "on", "--allowed-hosts", "sheaf.internal"];
    unguarded = await Stage.open({ args: [...args, "--cors-allow-origins", LISTED] });
    url = unguarded.served.url;
  });
  afterAll(() => unguarded.close());

  /** One request on a socket of its own, with the headers that it is given and no others. */
  async function send(line: string, headers: readonly string[], body = ""): Promise<RawClient> {
    const client = await RawClient.open(Number(new URL(url).port));
    const length = body === "" ? [] : [`Content-Length: ${body.length}`];
    await client.ask(`${[`${line} HTTP/1.1`, ...headers, ...length].join("\r\n")}\r\n\r\n${body}`);
    client.close();
    return client;
  }

  it("never meet", async () => {
    const own = `Host: ${new URL(url).host}`;
    const json = "Content-Type: application/json";
    const key = JSON.stringify({ name: "theirs", tenant: null, scopes: ["admin"] });
    const asked = [
      ["POST /api/v2/reset", ""],
      ["POST /api/v2/keys", key],
      ["GET /api/v2/keys", ""],
      ["GET /api/v2/tenants", ""],
      ["DELETE /api/v2/tenants/bystander", ""],
      ["POST /api/v2/tenants", '{"name":"theirs"}'],
      [`GET ${unguarded.attacker.collections}`, ""],
      ["POST /embed", '{"texts":["a"],"instructions":""}'],
    ] as const;
    const disguises: readonly (readonly string[])[] = [
      ["Host: evil.example:8000", json],
      ["Host: evil.example", "Origin: http://evil.example", "Sec-Fetch-Site: same-origin", json],
      [own, "Origin: https://evil.example", "Sec-Fetch-Site: cross-site", json],
      [own, "Origin: null", "Content-Type: text/plain"],
      [own, "Origin: http://localhost:3000", "Sec-Fetch-Site: same-site", json],
      [own, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Content-Type: text/plain"],
      [own, "Host: evil.example", json],
      [json],
    ];
    const before = await unguarded.served.ask<unknown[]>("/api/v2/tenants");
    await unguarded.unharmed(1_500, async () => {
      for (const headers of disguises) {
        for (const [line, body] of asked) {
          const { statuses } = await send(line, headers, body);
          expect([line, headers, statuses]).toEqual([line, headers, [403]]);
        }
      }
      const untyped = await send("POST /api/v2/keys", [own], key);
      expect(untyped.statuses).toEqual([415]);
      const form = await send("POST /api/v2/tenants", [own, "Content-Type: text/plain"], '{"name":"theirs"}');
      expect(form.statuses).toEqual([415]);
      const absolute = await send("POST http://evil.example/api/v2/reset", [own, json]);
      expect(absolute.statuses).toEqual([403]);
    });
    expect(await unguarded.served.ask("/api/v2/tenants")).toEqual(before);
    expect(JSON.stringify(await unguarded.served.ask("/api/v2/keys"))).not.toContain("theirs");
  });

  it("leave programs alone, allowed hosts, listed origins and people who follow a link", async () => {
    const own = new URL(url).port;
    await unguarded.unharmed(1_500, async () => {
      for (const host of [`LOCALHOST:${own}`, `127.0.0.1:${own}`, "[::1]", "sheaf.internal:443"]) {
        expect((await send("GET /api/v2/tenants", [`Host: ${host}`])).statuses).toEqual([200]);
      }
      const page = await send(
        "POST /embed",
        [
          ...[`Host: localhost:${own}`, `Origin: ${LISTED}`, "Sec-Fetch-Site: cross-site"],
          ...["Content-Type: application/json", "x-service-embedding-model: sheaf/bm25"],
        ],
        '{"texts":["a"],"instructions":""}',
      );
      expect(page.received).toMatch(/access-control-allow-origin: https:\/\/app\.example\r\n/iu);
      expect(page.statuses).not.toEqual([403]);
      const link = await send("GET /", [
        ...["Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
        ...["Sec-Fetch-Dest: document", "Accept: text/html"],
      ]);
      expect(link.statuses).toEqual([302]);
      expect(unguarded.served.output).toContain("Warning: auth is off");
    });
    expect(await unguarded.served.ask("/api/v2/reset", {})).toBe(true);
  });
});
