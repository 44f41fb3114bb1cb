/** Replies of any length over the real app: right to the byte, bounded, and gone when they have been sent. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { once } from "node:events";
import { type AddressInfo, type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { AppOptions } from "../app.ts";
import { COLLECTIONS, ROOT_KEY, type TestApp, startTestApp } from "../testing/test-app.ts";

const RECORDS = 12;
const DOCUMENT = 400_000;

let test: TestApp;
let path: string;
let spoolFolder: string;
let port: number;

afterEach(async () => {
  test.app.http.server.closeAllConnections();
  await test.close();
  await rm(spoolFolder, { recursive: true, force: true });
});

async function start(options: Partial<AppOptions> = {}): Promise<void> {
  spoolFolder = await mkdtemp(join(tmpdir(), "sheaf-spool-test-"));
  test = await startTestApp({ spoolFolder, ...options });
  path = await test.makeCollection({ name: "long" });
  await write(0);
  await test.app.http.listen({ host: "127.0.0.1", port: 0 });
  port = (test.app.http.server.address() as AddressInfo).port;
}

/** Path of a collection like that of the first tenant. */
async function otherTenant(): Promise<string> {
  await test.ask("POST /api/v2/tenants", { json: { name: "other" } });
  await test.ask("POST /api/v2/tenants/other/databases", { json: { name: "default_database" } });
  const collections = COLLECTIONS.replace("default_tenant", "other");
  const { body } = await test.ask(`POST ${collections}`, { json: { name: "long" } });
  const other = `${collections}/${(body as { id: string }).id}`;
  await write(0, other);
  return other;
}

async function write(version: number, into = path): Promise<void> {
  for (let i = 0; i < RECORDS; i += 4) {
    const ids = Array.from({ length: 4 }, (_, j) => `r${i + j}`);
    const documents = ids.map((id) => text(id, version));
    const { status } = await test.ask(`POST ${into}/upsert`, {
      json: { ids, documents, embeddings: ids.map(() => [1, 2]), metadatas: ids.map((id) => ({ id })) },
    });
    expect(status).toBe(200);
  }
}

function text(id: string, version = 0): string {
  return `${version} of ${id} "é" `.padEnd(DOCUMENT, "x");
}

function expected(version = 0): unknown {
  const ids = Array.from({ length: RECORDS }, (_, i) => `r${i}`);
  return {
    ids,
    embeddings: null,
    documents: ids.map((id) => text(id, version)),
    uris: null,
    metadatas: ids.map((id) => ({ id })),
    include: ["documents", "metadatas"],
  };
}

/** Its reply is longer than what lies between a server and a client that does not read. */
const SEARCHES = 8;
const LONG_SEARCH = {
  searches: Array.from({ length: SEARCHES }, () => ({ select: { keys: ["#document"] } })),
};
const LONG_SEARCH_BYTES = SEARCHES * RECORDS * DOCUMENT;

const GET = { include: ["documents", "metadatas"] };

/** Everything is given back: no file, no bytes of any budget, no read. */
async function expectNothingHeld(): Promise<void> {
  const held = async (): Promise<unknown> => {
    const metrics = (await test.ask("GET /metrics")).text;
    const bytes = [...metrics.matchAll(/^sheaf_reply_bytes\{where="\w+"\} (\d+)$/gmu)].map(
      (match) => match[1],
    );
    const reads = /^sheaf_open_reads (\d+)$/mu.exec(metrics)?.[1];
    return { bytes, reads };
  };
  await expect.poll(held, { timeout: 20_000 }).toEqual({ bytes: ["0", "0"], reads: "0" });
  expect(await readdir(spoolFolder).catch(() => [])).toEqual([]);
}

/** Sends a request of `body` and reads nothing. */
function ask(route: string, body: unknown): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  const json = JSON.stringify(body);
  socket.write(
    `POST ${path}/${route} HTTP/1.1\r\nhost: localhost\r\nx-service-token: ${ROOT_KEY}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
  );
  socket.on("error", () => undefined);
  return socket;
}

/** All that comes until the connection closes. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, "close");
  return Buffer.concat(chunks);
}

function bodyLength(received: Buffer): { sent: number; announced: number } {
  const head = received.indexOf("\r\n\r\n");
  const length = /content-length: (\d+)/iu.exec(received.subarray(0, head).toString())?.[1];
  return { sent: received.length - head - 4, announced: Number(length) };
}

async function metricsOf(): Promise<string> {
  return (await test.ask("GET /metrics")).text;
}

function openReads(metrics: string): number {
  return Number(/^sheaf_open_reads (\d+)$/mu.exec(metrics)?.[1]);
}

/** Until so many long replies are made whole and wait to be read. */
async function made(count: number): Promise<void> {
  const state = async (): Promise<unknown> => {
    const metrics = await metricsOf();
    const bytes = Number(/^sheaf_reply_bytes\{where="spool"\} (\d+)$/mu.exec(metrics)?.[1]);
    return openReads(metrics) === 0 && bytes > count * LONG_SEARCH_BYTES * 0.9;
  };
  await expect.poll(state, { timeout: 20_000 }).toBe(true);
}

describe("a long reply", () => {
  it("is right to the byte, says how long it is, and leaves nothing behind", async () => {
    await start();
    const reply = await test.ask(`POST ${path}/get`, { json: GET });
    expect(reply.body).toEqual(expected());
    expect(Number(reply.headers["content-length"])).toBe(Buffer.byteLength(reply.text));
    const read = (await test.ask(`POST ${path}/conditional/get`, { json: GET })).body;
    expect(read).toEqual({ ...(expected() as object), read_token: expect.any(Number) });
    await expectNothingHeld();
  });

  it("is compressed for who takes it, short ones are not", async () => {
    await start();
    const headers = { "accept-encoding": "br;q=1, gzip;q=0.5" };
    const raw = await test.app.http.inject({
      method: "POST",
      url: `${path}/get`,
      headers: { ...headers, "x-service-token": ROOT_KEY, "content-type": "application/json" },
      payload: JSON.stringify(GET),
    });
    expect(raw.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(raw.rawPayload.length).toBeLessThan(100_000);
    expect(JSON.parse(gunzipSync(raw.rawPayload).toString())).toEqual(expected());
    const one = await test.ask(`POST ${path}/get`, { json: { ids: ["r0"], include: [] }, headers });
    expect(one.headers).not.toHaveProperty("content-encoding");
    const none = await test.ask(`POST ${path}/get`, {
      json: GET,
      headers: { "accept-encoding": "gzip;q=0" },
    });
    expect(none.body).toEqual(expected());
  });

  it("is the state at its beginning, whatever is written while it is read", async () => {
    await start();
    const reading = test.ask(`POST ${path}/search`, { json: LONG_SEARCH });
    await expect.poll(async () => openReads(await metricsOf()), { timeout: 20_000, interval: 1 }).toBe(1);
    await write(1);
    const found = (await reading).body as { documents: string[][] };
    const { documents } = expected() as { documents: string[] };
    expect(found.documents).toEqual(Array.from({ length: SEARCHES }, () => documents));
    expect((await test.ask(`POST ${path}/get`, { json: GET })).body).toEqual(expected(1));
    await expectNothingHeld();
  });

  it("over the bound is 413 and names limit; over the tenant's share 429, over the whole 503", async () => {
    const bounds = { replyBytes: 1.2, replyBytesPerTenant: 1, replyBytesTotal: 1.5 };
    const bytes = (share: number): number => Math.floor(share * LONG_SEARCH_BYTES);
    await start({
      replyBytes: bytes(bounds.replyBytes),
      replyBytesPerTenant: bytes(bounds.replyBytesPerTenant),
      replyBytesTotal: bytes(bounds.replyBytesTotal),
    });
    const searches = [...LONG_SEARCH.searches, ...LONG_SEARCH.searches.slice(0, 2)];
    const tooLong = await test.ask(`POST ${path}/search`, { json: { searches } });
    const message = expect.stringMatching(/^limit: .*limit/u);
    expect([tooLong.status, tooLong.body]).toEqual([413, { error: "ChromaError", message }]);
    await expectNothingHeld();
    const unread = ask("search", LONG_SEARCH);
    await made(1);
    const refused = await test.ask(`POST ${path}/get`, { json: GET });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    const other = await otherTenant();
    const full = await test.ask(`POST ${other}/search`, { json: LONG_SEARCH });
    expect([full.status, full.headers["retry-after"]]).toEqual([503, "1"]);
    expect((await test.ask(`POST ${other}/get`, { json: GET })).status).toBe(200);
    unread.destroy();
    await expectNothingHeld();
    expect((await test.ask(`POST ${path}/get`, { json: GET })).body).toEqual(expected());
  });

  it("ends short of its length where its collection is deleted, and where the client leaves", async () => {
    await start();
    const unread = ask("search", LONG_SEARCH);
    const left = ask("search", LONG_SEARCH);
    await made(2);
    left.destroy();
    expect((await test.ask(`DELETE ${COLLECTIONS}/long`)).status).toBe(200);
    const { sent, announced } = bodyLength(await readAll(unread));
    expect(announced).toBeGreaterThan(LONG_SEARCH_BYTES);
    expect(sent).toBeLessThan(announced);
    await expectNothingHeld();
  });

  it("cuts a client that reads too slowly, and one that takes too long, and nobody else", async () => {
    await start({ receiverSeconds: 1, receiverBytesPerSecond: 200_000, replySeconds: 6 });
    const unread = ask("search", LONG_SEARCH);
    // Fast enough for its periods, too slow to be done within the time of a reply.
    const slow = ask("search", LONG_SEARCH);
    slow.on("data", () => {
      slow.pause();
      setTimeout(() => slow.resume(), 40);
    });
    slow.resume();
    const closed = once(unread, "close");
    const slowClosed = once(slow, "close");
    // Its own clock of a second starts once the kernel takes no more.
    unread.on("data", () => undefined);
    unread.pause();
    await Promise.race([sleep(20_000), expectCut(1)]);
    unread.resume();
    await closed;
    await slowClosed;
    expect((await test.ask(`POST ${path}/get`, { json: GET })).body).toEqual(expected());
    await expectNothingHeld();
  });
});

async function expectCut(least: number): Promise<void> {
  const cut = async (): Promise<number> =>
    Number(/^sheaf_receivers_cut_total (\d+)$/mu.exec((await test.ask("GET /metrics")).text)?.[1]);
  await expect.poll(cut, { timeout: 20_000 }).toBeGreaterThanOrEqual(least);
}
