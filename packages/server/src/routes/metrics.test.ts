/** Seen from outside: metrics, the slow-request log, and what a log never holds. */
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import type { AppOptions } from "../app.ts";
import type { Principal } from "../auth/principal.ts";
import { ServerMetrics } from "../metrics/server-metrics.ts";
import { refuseEngine } from "../request/engine-source.ts";
import { COLLECTIONS, MINILM, ROOT_KEY, type TestApp, startTestApp } from "../testing/test-app.ts";

const SECRET = "a text that nobody may read in a log";
const BOUND: Principal = {
  id: "bound",
  tenant: "default_tenant",
  database: null,
  scopes: new Set(["admin"]),
};

let test: TestApp;
afterEach(() => test.close());

async function start(options: Partial<AppOptions> = {}): Promise<void> {
  test = await startTestApp(options, { bound: BOUND });
}

const metrics = async (): Promise<string> => (await test.ask("GET /metrics")).text;

describe("GET /metrics", () => {
  it("is for an admin key that is bound to no tenant", async () => {
    await start();
    expect((await test.ask("GET /metrics", { key: null })).status).toBe(401);
    expect((await test.ask("GET /metrics", { key: "bound" })).status).toBe(403);
    const { status, headers } = await test.ask("GET /metrics");
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  });

  it("measures routes by their patterns, stages, and the engine", async () => {
    await start();
    const path = await test.makeCollection({ name: "measured" });
    await test.ask(`POST ${path}/add`, {
      json: {
        ids: ["a", "b"],
        embeddings: [
          [1, 2],
          [3, 4],
        ],
      },
    });
    await test.ask(`POST ${path}/query`, { json: { query_embeddings: [[1, 2]], n_results: 1 } });
    const text = await metrics();
    const route = "/api/v2/tenants/:tenant/databases/:database/collections/:collection/query";
    expect(text).toContain(
      `sheaf_http_request_duration_seconds_count{method="POST",route="${route}",status="200"} 1`,
    );
    for (const stage of ["engine.write", "engine.query"]) {
      expect(text).toContain(`sheaf_stage_duration_seconds_count{stage="${stage}"} 1`);
    }
    expect(text).toContain("sheaf_open_collections 1");
    expect(text).toContain("sheaf_rows_scanned 2");
    expect(text).toMatch(/sheaf_lmdb_catalog_bytes [1-9]/);
    expect(text).not.toContain("measured");
  });

  it("measures batches and the ends of children", () => {
    const measured = new ServerMetrics();
    measured.batch({ model: MINILM, lengths: [10, 5], queuedTokens: 7 });
    for (const child of ["engine host", "model replica of m"]) measured.childStarted(child);
    measured.childEnded("engine host");
    return Promise.all([start(), measured.text(null)]).then(([, text]) => {
      expect(text).toContain(`sheaf_embedded_tokens_total{model="${MINILM}"} 15`);
      expect(text).toContain(`sheaf_batch_fill_ratio_sum{model="${MINILM}"} 0.75`);
      expect(text).toContain(`sheaf_queue_tokens{model="${MINILM}"} 7`);
      expect(text).toContain('sheaf_child_restarts_total{child="engine host"} 1');
      expect(text).toContain('sheaf_child_restarts_total{child="model replica of m"} 0');
    });
  });

  it("is there without an engine", async () => {
    await start({ engine: refuseEngine });
    expect(await metrics()).toContain("sheaf_http_request_duration_seconds");
  });
});

describe("the log", () => {
  it("says where the time of a slow request went, and holds no secrets and no texts", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
    await start({ logger, slowRequestMs: 0.001 });
    const embedding_function = { type: "known", name: "default", config: {} };
    const path = await test.makeCollection({ name: "logged", configuration: { embedding_function } });
    await test.ask(`POST ${path}/add`, { json: { ids: [SECRET], documents: [SECRET] } });
    await test.ask(`POST ${path}/search`, {
      json: {
        searches: [{ where: { "#document": { $contains: SECRET } }, rank: { $knn: { query: SECRET } } }],
      },
    });
    await test.ask(`POST ${path}/search`, { json: { searches: [{ where: { [SECRET]: { $no: SECRET } } }] } });
    await test.ask(`GET ${COLLECTIONS}/no-such?q=${encodeURIComponent(SECRET)}`);
    const made = await test.ask("POST /api/v2/keys", { json: { name: "k", tenant: null, scopes: ["read"] } });
    const { key, id } = made.body as { key: string; id: string };
    await test.ask(`GET ${COLLECTIONS}`, { key });
    await test.ask(`GET ${COLLECTIONS}`, { key: "sheaf_wrong-key-that-was-tried" });
    const log = lines.join("");
    for (const secret of [SECRET, ROOT_KEY, key, "wrong-key-that-was-tried", "digest", "logged"]) {
      expect(log).not.toContain(secret);
    }
    const slow = lines
      .map((line) => JSON.parse(line) as { msg: string; route: string; key: string; stages: object })
      .filter(({ msg }) => msg === "slow request");
    const write = slow.find(({ route }) => route.endsWith("/add"));
    expect(Object.keys(write?.stages ?? {})).toEqual(
      expect.arrayContaining(["parse", "embed.dense", "engine.write"]),
    );
    expect(slow.map((line) => line.key)).toContain(id);
  });

  it("calls nothing slow where that is off", async () => {
    const lines: string[] = [];
    await start({ logger: pino({ level: "trace" }, { write: (line: string) => lines.push(line) }) });
    await test.ask(`GET ${COLLECTIONS}`);
    expect(lines.join("")).not.toContain("slow request");
  });
});
