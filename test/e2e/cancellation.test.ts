/**
 * Work that nobody waits for any more stops: a search in the engine host and texts in the queue of a model, after the
 * caller has closed the connection and after the time of the request is up.
 */
import { request } from "node:http";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "./testing/served-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const MINILM = { "x-service-embedding-model": "sentence-transformers/all-MiniLM-L6-v2" };
const PATIENCE = { timeout: 60_000, interval: 20 };
const RECORDS = 2_000;
const DIMENSIONS = 32;
const SEARCHES = 100;
const LEAVES = 60;
/** What the search would compare if nobody stopped it. */
const ALL_ROWS = RECORDS * SEARCHES * LEAVES;
const TEXTS = 2_000;
const WORDS = 120;

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
const vector = (seed: number): readonly number[] =>
  numbers(DIMENSIONS).map((i) => ((seed * 31 + i * 7) % 13) - 6);

/** Takes minutes. */
const LONG_SEARCH = {
  searches: numbers(SEARCHES).map((search) => ({
    rank: {
      $sum: numbers(LEAVES).map((leaf) => ({
        $knn: { query: vector(search * LEAVES + leaf), limit: RECORDS, default: 1 },
      })),
    },
    limit: { limit: 1 },
  })),
};
const LONG_EMBED = { texts: numbers(TEXTS).map((i) => `${i} ${"word ".repeat(WORDS)}`), instructions: "" };

let served: ServedSheaf;
afterAll(() => served.dispose());

/** A server with a collection to search and a loaded model; gives the path of the search. */
async function serve(...args: readonly string[]): Promise<string> {
  served = await ServedSheaf.start({ args });
  const { id } = await served.ask<{ id: string }>(COLLECTIONS, {
    name: "searched",
    configuration: { embedding_function: null },
  });
  const ids = numbers(RECORDS);
  await served.ask(`${COLLECTIONS}/${id}/add`, { ids: ids.map(String), embeddings: ids.map(vector) });
  await served.request("/embed", { json: { texts: ["warm"], instructions: "" }, headers: MINILM });
  return `${COLLECTIONS}/${id}/search`;
}

/** The sum of a metric over its labels. */
async function metric(name: string): Promise<number> {
  const text = await (await served.request("/metrics")).text();
  const lines = text.split("\n").filter((line) => line.startsWith(name) && !line.startsWith(`${name}_`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** A request whose caller can leave. */
async function send(path: string, json: unknown, headers = {}): Promise<{ leave(): void }> {
  const sent = request(`${served.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-service-token": ROOT_KEY, ...headers },
  });
  sent.on("error", (error: NodeJS.ErrnoException) => expect(error.code).toBe("ECONNRESET"));
  sent.end(JSON.stringify(json));
  await once(sent, "finish");
  return { leave: () => sent.destroy() };
}

const scanned = (): Promise<number> => metric("sheaf_rows_scanned");
const running = (): Promise<number> => metric("sheaf_engine_running_calls");
const embedded = (): Promise<number> => metric("sheaf_embedded_tokens_total");
const queued = (): Promise<number> => metric("sheaf_queue_tokens");

/** A search is over; it has compared something since `before`, and less than it was asked to. */
async function expectStoppedSearch(before: number): Promise<void> {
  await expect.poll(running, PATIENCE).toBe(0);
  const compared = (await scanned()) - before;
  expect(compared).toBeGreaterThan(0);
  expect(compared).toBeLessThan(ALL_ROWS / 2);
}

/** The queue is empty although most of its tokens were not embedded since `before`. */
async function expectEmptiedQueue(before: number): Promise<void> {
  await expect.poll(queued, PATIENCE).toBe(0);
  expect((await embedded()) - before).toBeLessThan((TEXTS * WORDS) / 2);
}

describe("a caller that leaves", () => {
  let search: string;
  beforeAll(async () => {
    search = await serve();
  });
  afterAll(() => served.dispose());

  it("stops its search", async () => {
    const before = await scanned();
    const caller = await send(search, LONG_SEARCH);
    await expect.poll(scanned, PATIENCE).toBeGreaterThan(before);
    caller.leave();
    await expectStoppedSearch(before);
  });

  it("takes its texts out of the queue", async () => {
    const before = await embedded();
    const caller = await send("/embed", LONG_EMBED, MINILM);
    await expect.poll(queued, PATIENCE).toBeGreaterThan(0);
    caller.leave();
    await expectEmptiedQueue(before);
  });
});

describe("a request whose time is up", () => {
  let search: string;
  beforeAll(async () => {
    search = await serve("--request-seconds", "4", "--bulk-request-seconds", "1");
  });

  it("answers 504 and stops its search", async () => {
    const before = await scanned();
    const response = await served.request(search, { json: LONG_SEARCH });
    expect(response.status).toBe(504);
    await expectStoppedSearch(before);
  });

  it("answers 504 and takes its texts out of the queue", async () => {
    const before = await embedded();
    const response = await served.request("/embed", { json: LONG_EMBED, headers: MINILM });
    expect(response.status).toBe(504);
    await expectEmptiedQueue(before);
  });
});
