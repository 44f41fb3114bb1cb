/**
 * Readers whose records are rewritten all the time: each call sees one state, all are answered, and former versions that
 * are kept for reads stay within bounds however slowly replies are read.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";
import { askUnread, openReads, replyBytes } from "./testing/unread-replies.ts";

const WITHIN_MIB = 2_000;
const RECORDS = 1_000;
const LARGE = 14;
const LARGE_CHARACTERS = 4 * 1024 * 1024;
const UNREAD = 10;
const SECONDS = 4;
const READERS = 4;
/** Tells slow from hung. */
const HUNG_MS = 30_000;
const PATIENCE = { timeout: 60_000, interval: 100 };

let stage: Stage;
let states: string;
let large: string;

beforeAll(async () => {
  stage = await Stage.open();
  states = await stage.attacker.createCollection("states");
  large = await stage.attacker.createCollection("large");
  await writeState(0);
  await writeLarge(0);
});
afterAll(() => stage.close());

/** All records in one write: a read must never see two versions. */
async function writeState(version: number): Promise<void> {
  const ids = Array.from({ length: RECORDS }, (_, i) => `r${i}`);
  await stage.attacker.expect(200, `${states}/upsert`, {
    ids,
    embeddings: ids.map((_, i) => [i, version]),
    documents: ids.map(() => `version ${version} `.padEnd(3_000, "x")),
    metadatas: ids.map(() => ({ version })),
  });
}

async function writeLarge(version: number): Promise<void> {
  for (let i = 0; i < LARGE; i++) {
    const documents = [`${version} `.padEnd(LARGE_CHARACTERS, "x")];
    const body = { ids: [`r${i}`], embeddings: [[i, 1]], documents };
    const reply = await stage.attacker.send(`${large}/upsert`, body);
    await reply.arrayBuffer();
    expect([200, 429]).toContain(reply.status);
  }
}

/** Over and over until the time is up; how often. */
async function keep(work: (round: number) => Promise<void>): Promise<number> {
  const until = performance.now() + SECONDS * 1_000;
  let rounds = 0;
  while (performance.now() < until) await work(++rounds);
  return rounds;
}

const reads: readonly (readonly [string, object, number])[] = [
  ["get", { include: ["documents", "metadatas"] }, RECORDS],
  ["get", { where: { version: { $gte: 0 } }, include: ["metadatas", "embeddings"] }, RECORDS],
  [
    "query",
    {
      query_embeddings: [
        [1, 1],
        [500, 1],
      ],
      n_results: RECORDS,
      include: ["metadatas", "documents"],
    },
    2 * RECORDS,
  ],
  [
    "search",
    {
      searches: [0, 1, 2].map((i) => ({
        rank: { $knn: { query: [i, 1], limit: RECORDS } },
        limit: { limit: RECORDS },
        select: { keys: ["version", "#document"] },
      })),
    },
    3 * RECORDS,
  ],
];

/** Every record of every list, in its metadata, its document and its vector. */
async function readState(turn: number): Promise<void> {
  const [operation, body, records] = reads[turn % reads.length]!;
  const reply = await stage.attacker.send(`${states}/${operation}`, body, {
    signal: AbortSignal.timeout(HUNG_MS),
  });
  const text = await reply.text();
  expect([operation, reply.status, reply.status === 200 ? "" : text]).toEqual([operation, 200, ""]);
  const versions = [...text.matchAll(/"version":(\d+)|"version (\d+) x/gu)].map(([, a, b]) => Number(a ?? b));
  expect(versions.length).toBeGreaterThanOrEqual(records);
  expect(new Set(versions).size, `versions that one ${operation} saw`).toBe(1);
}

describe("readers beside a writer that never rests", () => {
  it("see one state each, and are answered", async () => {
    const { value } = await stage.unharmed(WITHIN_MIB, () =>
      Promise.all([
        keep((round) => writeState(round)),
        ...Array.from({ length: READERS }, (_, reader) => keep((round) => readState(reader + round))),
      ]),
    );
    expect(Math.min(...value), "rounds of each").toBeGreaterThan(0);
  });

  it("hold former versions within bounds, however slowly they read", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const sockets = Array.from({ length: UNREAD }, () =>
        askUnread(stage.attacker, `${large}/get`, { include: ["documents"] }),
      );
      await keep((round) => writeLarge(round));
      // A slow reader holds its reply, and nothing of the engine.
      await expect.poll(() => openReads(stage), PATIENCE).toBe(0);
      for (const socket of sockets) socket.destroy();
    });
    await expect.poll(() => replyBytes(stage), PATIENCE).toEqual([0, 0]);
  });
});
