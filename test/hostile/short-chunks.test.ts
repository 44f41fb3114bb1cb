/**
 * Bodies in chunks of one byte, which are legal and take six times as many bytes and hundreds of times the work of others:
 * many at once, with a key, without one, and compressed.
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawClient } from "../../packages/server/src/testing/raw-client.ts";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
/** The bystander has an address of its own. */
const ATTACKER = "127.0.0.2";
const CONNECTIONS = 200;
const CHUNKS = 100_000;
const MOST_MS = 120_000;

let stage: Stage;
let path: string;
beforeAll(async () => {
  stage = await Stage.open();
  path = await stage.attacker.createCollection("records");
});
afterAll(() => stage.close());

function inChunks(body: Uint8Array): Buffer {
  const bytes = Buffer.alloc(6 * body.length, "1\r\n \r\n");
  for (const [i, byte] of body.entries()) bytes[6 * i + 3] = byte;
  return Buffer.concat([bytes, Buffer.from("0\r\n\r\n")]);
}

function head(...headers: readonly string[]): string {
  const all = ["Host: sheaf", "Content-Type: application/json", "Transfer-Encoding: chunked", ...headers];
  return `POST ${path}/upsert HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n`;
}

const withKey = (): string => `x-service-token: ${stage.attacker.key}`;

function write(id: string, bytes: number): string {
  return JSON.stringify({ ids: [id], embeddings: [[1, 0]], documents: ["word ".repeat(bytes / 5)] });
}

const open = (): Promise<RawClient> => RawClient.open(Number(new URL(stage.served.url).port), ATTACKER);

/** All at once; the statuses of those that were answered before their connections were closed. */
async function flood(requests: readonly Uint8Array[]): Promise<ReadonlySet<number>> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  for (const [i, client] of clients.entries()) client.write(requests[i % requests.length]!);
  await Promise.all(
    clients.map((client) =>
      client
        .until(({ statuses, socket }) => statuses.length > 0 || socket.destroyed, MOST_MS)
        .catch(() => {}),
    ),
  );
  for (const client of clients) client.close();
  return new Set(clients.flatMap(({ statuses }) => statuses));
}

/** One that is legal, of the same size. */
async function expectWritten(
  id: string,
  encode: (body: string) => Uint8Array,
  ...headers: readonly string[]
) {
  const body = write(id, CHUNKS);
  const client = await open();
  client.write(head(withKey(), ...headers));
  client.write(inChunks(encode(body)));
  await client.until(({ statuses }) => statuses.length > 0);
  expect(client.received).toMatch(/^HTTP\/1\.1 200 /u);
  client.close();
  const reply = await stage.attacker.send(`${path}/get`, { ids: [id], include: ["documents"] });
  const { documents } = (await reply.json()) as { documents: readonly string[] };
  expect(documents[0]?.length).toBe(CHUNKS);
}

describe("bodies in chunks of one byte", () => {
  it.each([
    ["with a key, plain and compressed", true, [400, 429]],
    ["without a key", false, [401]],
  ])(
    "harm nobody, %s",
    async (_kind, hasKey, allowed) => {
      const spaces = Buffer.alloc(CHUNKS, " ");
      // What cannot be made shorter.
      const noise = Buffer.from(Array.from({ length: CHUNKS / 8 }, () => Math.random()).join(""));
      const request = (body: Uint8Array, ...headers: readonly string[]): Buffer =>
        Buffer.concat([Buffer.from(head(...(hasKey ? [withKey()] : []), ...headers)), inChunks(body)]);
      const requests = [request(spaces), request(gzipSync(noise), "Content-Encoding: gzip")];
      await stage.unharmed(WITHIN_MIB, async () => {
        const statuses = await flood(requests);
        expect([...statuses].filter((status) => !allowed.includes(status))).toEqual([]);
        expect(statuses.size).toBeGreaterThan(0);
      });
      await expectWritten("plain", (body) => Buffer.from(body));
      await expectWritten("zipped", gzipSync, "Content-Encoding: gzip");
    },
    MOST_MS,
  );
});
