/** Attempts, deadlines and errors, against a server on a socket that answers what a test has put down. */
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SheafClientOptions } from "./client-options.ts";
import { SheafClient } from "./client.ts";
import {
  AuthorizationError,
  BusyError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  RequestTimeoutError,
  ServerError,
  SheafApiError,
  TooLargeError,
  UnreachableError,
  UnsupportedError,
} from "./errors.ts";
import { retryDelayMs } from "./retry-delay.ts";

type Answer = (response: ServerResponse) => void;

const answers: Answer[] = [];
const seen: {
  readonly route: string;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
}[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push({
      route: `${request.method} ${request.url}`,
      body: await text(request),
      headers: request.headers,
    });
    (answers.shift() ?? ok)(response);
  };
  server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answers.length = 0;
  seen.length = 0;
});

const answer =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "x-request-id": "r-1", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
const ok = answer(200, { "nanosecond heartbeat": 7, id: "i", name: "n", tenant: "t", database: "d" });
const busy = (status: number, retryAfter = "0"): Answer =>
  answer(status, { error: "ChromaError", message: "busy" }, { "retry-after": retryAfter });
const silence: Answer = () => {};
const clientOf = (options: Partial<SheafClientOptions> = {}): SheafClient =>
  new SheafClient({ url, ...options });

describe("a request that is refused", () => {
  it.each([429, 503])("with %i is sent again until it is not", async (status) => {
    answers.push(busy(status), busy(status));
    expect(await clientOf({ key: "k" }).heartbeat()).toBe(7);
    expect(seen.map(({ route, headers }) => [route, headers["x-service-token"]])).toEqual(
      Array.from({ length: 3 }, () => ["GET /api/v2/heartbeat", "k"]),
    );
  });

  it("is given up after the retries, with the last refusal", async () => {
    answers.push(busy(429), busy(503), busy(429));
    const refused = await clientOf({ retries: 2 })
      .heartbeat()
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BusyError);
    expect(refused).toMatchObject({
      status: 429,
      retryAfterSeconds: 0,
      requestId: "r-1",
      errorName: "ChromaError",
    });
    expect(seen).toHaveLength(3);
  });

  it("is not sent again after 503 if it may have been done", async () => {
    answers.push(busy(429), busy(503));
    await expect(clientOf().createCollection({ name: "notes" })).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(2);
    answers.push(busy(503));
    await clientOf().createCollection({ name: "notes", getOrCreate: true });
    expect(seen.slice(2).map(({ body }) => body)).toEqual(
      Array.from({ length: 2 }, () => '{"name":"notes","get_or_create":true}'),
    );
  });

  it("is not sent again after 503 where the second time would delete other records", async () => {
    const gone = answer(200, { deleted: 1 });
    answers.push(ok, busy(429), busy(503));
    const notes = await clientOf().getCollection({ name: "n" });
    await expect(notes.delete({ where: { a: 1 }, limit: 1 })).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(3);
    answers.push(busy(503), gone);
    expect(await notes.delete({ where: { a: 1 } })).toBe(1);
    expect(seen).toHaveLength(5);
  });

  it.each(["31", "Tue, 01 Jan 2999 00:00:00 GMT"])(
    "is given up at once for Retry-After: %s",
    async (value) => {
      answers.push(busy(503, value));
      await expect(clientOf().heartbeat()).rejects.toBeInstanceOf(BusyError);
      expect(seen).toHaveLength(1);
    },
  );

  it("is given up at once where the call ends before it may be sent again", async () => {
    answers.push(busy(503, "20"));
    await expect(clientOf().heartbeat({ timeoutMs: 10_000 })).rejects.toBeInstanceOf(BusyError);
  });

  it("waits for what it is told and longer by chance, and ever longer if it is told nothing", () => {
    const delay = (attempts: number, retryAfterSeconds: number | null, chance: number): number | null =>
      retryDelayMs({ attempts, retryAfterSeconds, chance });
    expect([delay(1, 2, 0), delay(1, 2, 1), delay(3, 2, 1)]).toEqual([2_000, 2_250, 3_000]);
    expect([delay(1, null, 0), delay(1, null, 1), delay(2, null, 1)]).toEqual([125, 250, 500]);
    expect([delay(20, null, 1), delay(20, 30, 1), delay(1, 31, 0)]).toEqual([8_000, 38_000, null]);
  });
});

describe("a write in several requests", () => {
  const records = Array.from({ length: 5 }, (_, i) => ({ id: `r${i}`, embedding: [i] }));
  const failing = async (written: number, message: string): Promise<unknown> => {
    answers.push(ok, answer(200, { max_batch_size: 2, supports_base64_encoding: true }));
    for (let i = 0; i < written; i += 2) answers.push(answer(201, true));
    answers.push(answer(400, { error: "InvalidArgumentError", message }));
    const notes = await clientOf().getCollection({ name: "n" });
    return notes.upsert({ records }).catch((error: unknown) => error);
  };

  it("names a place in the records of the caller, and how many are stored", async () => {
    const error = await failing(2, 'record "ids[1]" (ids[1]), metadatas[0].k: is wrong');
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      message:
        'record "ids[1]" (ids[3]), metadatas[2].k: is wrong (the 2 records before this request are stored)',
      recordsWritten: 2,
    });
    expect(await failing(0, "ids[1]: is wrong")).toMatchObject({
      message: "ids[1]: is wrong",
      recordsWritten: 0,
    });
  });
});

describe("a call ends", () => {
  it("after its time, and says so", async () => {
    answers.push(silence, silence, (response) => response.writeHead(200).write("{"));
    const overdue = await clientOf({ timeoutMs: 30 })
      .heartbeat()
      .catch((error: unknown) => error);
    expect(overdue).toBeInstanceOf(RequestTimeoutError);
    expect(overdue).toMatchObject({
      name: "RequestTimeoutError",
      message: `no answer from ${url} within 30 ms`,
    });
    await expect(clientOf().heartbeat({ timeoutMs: 30 })).rejects.toBeInstanceOf(RequestTimeoutError);
    await expect(clientOf().heartbeat({ timeoutMs: 30 })).rejects.toBeInstanceOf(RequestTimeoutError);
  });

  it("with its signal, also between two attempts, and in the middle of a list", async () => {
    const reason = new Error("stopped");
    await expect(clientOf().heartbeat({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(seen).toEqual([]);
    for (const step of [silence, busy(503, "20")]) {
      const control = new AbortController();
      answers.push((response) => {
        step(response);
        setTimeout(() => control.abort(reason), 20);
      });
      await expect(clientOf().heartbeat({ signal: control.signal })).rejects.toBe(reason);
    }
    const control = new AbortController();
    answers.push(answer(200, [{ name: "acme", resource_name: null }]));
    const walk = async (): Promise<void> => {
      for await (const _ of clientOf().tenants({ pageSize: 1, signal: control.signal }))
        control.abort(reason);
    };
    await expect(walk()).rejects.toBe(reason);
  });

  it("without an answer where the connection ends or nobody listens", async () => {
    answers.push((response) => response.destroy());
    await expect(clientOf().heartbeat()).rejects.toBeInstanceOf(UnreachableError);
    answers.push((response) =>
      response.writeHead(200, { "content-length": 100 }).write("{", () => response.destroy()),
    );
    await expect(clientOf().heartbeat()).rejects.toBeInstanceOf(UnreachableError);
    const away = new SheafClient({ url: "http://127.0.0.1:1/" });
    await expect(away.heartbeat()).rejects.toThrow("no answer from http://127.0.0.1:1: ");
  });
});

describe("an answer that is no success", () => {
  it.each([
    [400, InvalidRequestError],
    [422, InvalidRequestError],
    [401, AuthorizationError],
    [403, AuthorizationError],
    [404, NotFoundError],
    [409, ConflictError],
    [412, ConflictError],
    [413, TooLargeError],
    [501, UnsupportedError],
    [500, ServerError],
    [504, ServerError],
    [418, SheafApiError],
  ])("of %i is its family", async (status, family) => {
    answers.push(answer(status, { error: "Kind", message: "what is wrong" }));
    const refused = await clientOf()
      .heartbeat()
      .catch((error: unknown) => error);
    expect((refused as Error).constructor).toBe(family);
    expect(refused).toMatchObject({
      ...{ status, name: family.name, message: "what is wrong", errorName: "Kind" },
      ...{ requestId: "r-1", retryAfterSeconds: null },
    });
  });

  it("may have an error without a message, or be a page of a proxy", async () => {
    answers.push(
      answer(400, { error: "a text" }),
      answer(502, "<html>bad gateway"),
      answer(200, "<html>login"),
    );
    await expect(clientOf().heartbeat()).rejects.toMatchObject({ message: "a text" });
    await expect(clientOf().heartbeat()).rejects.toMatchObject({ status: 502, message: "<html>bad gateway" });
    await expect(clientOf().heartbeat()).rejects.toMatchObject({
      message: `the answer of ${url} is not JSON; is this a Sheaf server?`,
    });
  });

  it("of a write in batches tells how many records are stored", async () => {
    const collection = await clientOf().getCollection({ name: "n" });
    const written: number[] = [];
    answers.push(ok, ok, answer(413, { error: "ChromaError", message: "too large" }));
    const records = Array.from({ length: 7 }, (_, i) => ({ id: `${i}`, document: "d" }));
    const failed = await collection
      .upsert({ records, batchSize: 3, onProgress: (step) => written.push(step.written) })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TooLargeError);
    expect(failed).toMatchObject({ recordsWritten: 6 });
    expect(written).toEqual([3, 6]);
  });
});
