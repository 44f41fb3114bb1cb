/**
 * Clients of one address that send slowly or never finish, by the thousand: they are cut in time, hold little meanwhile,
 * and others are served. Bounds are those that a server has by default.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawClient } from "../../packages/server/src/testing/raw-client.ts";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 1_500;
/** Where the attacker's connections come from: the bystander has an address of its own. */
const ATTACKER = "127.0.0.2";
const HALF_OPEN = 3_000;
const OPENED_AT_ONCE = 100;
const DRIBBLERS = 50;
const SLOW_BODIES = 50;
/** Half of what a body must come with. */
const SLOW_BYTES = 8 * 1024;
/** Connections that send 1,000 requests each without waiting, four with a body and the others without. */
const PIPELINES = 8;
const PIPELINED = 1_000;
const MOST_MS = 60_000;

let stage: Stage;
let port: number;
let path: string;
beforeAll(async () => {
  stage = await Stage.open();
  port = Number(new URL(stage.served.url).port);
  path = await stage.attacker.createCollection("records");
  await stage.attacker.expect(201, `${path}/add`, { ids: ["a"], embeddings: [[1, 0]] });
});
afterAll(() => stage.close());

function head(line: string, ...headers: readonly string[]): string {
  const all = [`${line} HTTP/1.1`, "Host: sheaf", "Content-Type: application/json", ...headers];
  return `${all.join("\r\n")}\r\n\r\n`;
}

const withKey = (): string => `x-service-token: ${stage.attacker.key}`;

/** As many as the server lets in; those that it closes at once count as refused. */
async function open(count: number): Promise<readonly RawClient[]> {
  const clients: RawClient[] = [];
  for (let i = 0; i < count; i += OPENED_AT_ONCE) {
    const length = Math.min(OPENED_AT_ONCE, count - i);
    const opened = await Promise.all(
      Array.from({ length }, () => RawClient.open(port, ATTACKER).catch(() => null)),
    );
    for (const client of opened) if (client !== null) clients.push(client);
  }
  return clients;
}

/** Sends a piece to each every so often until the server has closed all of them. */
async function dribble(clients: readonly RawClient[], piece: string, everyMs: number): Promise<void> {
  const timer = setInterval(() => {
    for (const { socket } of clients) if (socket.writable) socket.write(piece);
  }, everyMs);
  await Promise.all(clients.map(({ closed }) => closed));
  clearInterval(timer);
}

describe("slow senders", () => {
  it(
    "are cut, header by header and body by body, beside one that takes its time",
    async () => {
      const upsert = (length: number): string =>
        head(`POST ${path}/upsert`, withKey(), `Content-Length: ${length}`);
      await stage.unharmed(WITHIN_MIB, async () => {
        const dribblers = await open(DRIBBLERS);
        for (const client of dribblers) client.write("GET /livez HTTP/1.1\r\nHost: sheaf\r\nX-Slow: ");
        const slow = await open(SLOW_BODIES);
        for (const client of slow) client.write(upsert(50_000_000));
        const [steady] = await open(1);
        const body = JSON.stringify({
          ids: ["s"],
          embeddings: [[1, 1]],
          documents: ["word ".repeat(100_000)],
        });
        steady!.write(upsert(body.length));
        const cut = Promise.all([
          // A byte at a time.
          dribble(dribblers, "x", 100),
          dribble(slow, "[".repeat(SLOW_BYTES / 2), 500),
        ]);
        for (let sent = 0; sent < body.length; sent += 40_000) {
          steady!.write(body.slice(sent, sent + 40_000));
          await sleep(1_000);
        }
        await steady!.until(({ statuses }) => statuses.length > 0);
        expect(steady!.statuses).toEqual([200]);
        steady!.close();
        await cut;
        expect(new Set(dribblers.flatMap(({ statuses }) => statuses))).toEqual(new Set([408]));
        expect(new Set(slow.flatMap(({ statuses }) => statuses))).toEqual(new Set([408]));
      });
    },
    MOST_MS,
  );
});

/** Once the connections that were closed before are gone. */
async function askAgain(): Promise<readonly number[]> {
  const client = await RawClient.open(port, ATTACKER);
  const statuses = await client.ask(head("GET /livez"));
  client.close();
  return statuses;
}

describe("an address with thousands of connections that never ask", () => {
  it(
    "gets its share of them, and keeps nobody out",
    async () => {
      await stage.unharmed(WITHIN_MIB, async () => {
        const clients = await open(HALF_OPEN);
        for (const client of clients) client.write("POST /embed HTTP/1.1\r\nHost: sheaf\r\nX-Slow: ");
        const left = (): number => clients.filter(({ socket }) => !socket.destroyed).length;
        await expect.poll(left).toBeLessThanOrEqual(512 + 256);
        const other = await RawClient.open(port, "127.0.0.3");
        expect(await other.ask(head("GET /livez"))).toEqual([200]);
        for (const client of [...clients, other]) client.close();
        await expect.poll(askAgain).toEqual([200]);
      });
    },
    MOST_MS,
  );
});

describe("connections that send 1,000 requests without waiting", () => {
  it(
    "have all of them answered in turn",
    async () => {
      const body = JSON.stringify({ ids: ["a"], include: ["embeddings"] });
      const get = `${head(`POST ${path}/get`, withKey(), `Content-Length: ${body.length}`)}${body}`;
      const count = head(`GET ${path}/count`, withKey());
      await stage.unharmed(WITHIN_MIB, async () => {
        const clients = await open(PIPELINES);
        const answers = await Promise.all(
          clients.map((client, i) => client.ask((i % 2 === 0 ? get : count).repeat(PIPELINED), PIPELINED)),
        );
        expect(new Set(answers.flat())).toEqual(new Set([200]));
        for (const client of clients) client.close();
      });
    },
    MOST_MS,
  );
});
