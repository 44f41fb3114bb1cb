/**
 * The indexer process is killed again and again while records are written, and the engine host beside it: nothing that was
 * acknowledged is lost or found twice, nobody hears of the indexer, and nothing stays behind.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectionFile } from "../damage/testing/damage-files.ts";
import { descendants } from "../e2e/testing/served-sheaf.ts";
import { Stage } from "./testing/stage.ts";

const INDEXER = /indexer-process\.(?:js|ts)/u;
const DIMENSION = 32;
const BATCH = 4_000;
const BATCHES = 15;
const WITHIN_MIB = 2_000;
const PATIENCE = { timeout: 60_000, interval: 50 };

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open({ env: { SHEAF_INDEX_FILES: "indexer" } });
});
afterAll(() => stage.close());

/** Of no other record's. */
function vectorOf(i: number): number[] {
  let state = i + 1;
  return Array.from({ length: DIMENSION }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9;
    return (state ^ (state >>> 13)) / 2 ** 31;
  });
}

async function write(path: string, batch: number): Promise<void> {
  const numbers = Array.from({ length: BATCH }, (_, i) => batch * BATCH + i);
  await stage.attacker.expect(200, `${path}/upsert`, {
    ids: numbers.map((i) => `r${i}`),
    embeddings: numbers.map(vectorOf),
    metadatas: numbers.map((i) => ({ batch, third: i % 3 })),
  });
}

async function indexers(): Promise<number[]> {
  const all = await descendants(stage.served.pid);
  return all.filter(({ command }) => INDEXER.test(command)).map(({ pid }) => pid);
}

/** How often it was killed until `isOver`. */
async function killAllTheTime(isOver: () => boolean): Promise<number> {
  let kills = 0;
  for (let round = 0; !isOver(); round++) {
    const [pid] = await indexers();
    // From its start to the last of its work.
    await sleep((round % 7) * 60);
    if (pid === undefined || isOver()) continue;
    try {
      process.kill(pid, "SIGKILL");
      kills++;
    } catch {
      // It had ended by itself.
    }
  }
  return kills;
}

async function expectAll(path: string): Promise<void> {
  expect(await stage.attacker.expect<number>(200, `${path}/count`)).toBe(BATCHES * BATCH);
  for (const i of [0, 1, BATCH, 7 * BATCH + 5, BATCHES * BATCH - 1]) {
    const { ids } = await stage.attacker.expect<{ ids: string[][] }>(200, `${path}/query`, {
      query_embeddings: [vectorOf(i)],
      n_results: 3,
      include: [],
    });
    expect(ids[0]?.[0]).toBe(`r${i}`);
    expect(new Set(ids[0]).size).toBe(3);
  }
  const third = await stage.attacker.expect<{ ids: string[] }>(200, `${path}/get`, {
    where: { $and: [{ batch: 3 }, { third: 1 }] },
    include: [],
  });
  expect(third.ids.length).toBe(Math.floor((4 * BATCH + 1) / 3) - Math.floor((3 * BATCH + 1) / 3));
}

function indexFolder(path: string): string {
  return join(dirname(collectionFile(stage.served.data, path.split("/").at(-1)!)), "index");
}

function files(path: string, ending: string): string[] {
  const folder = indexFolder(path);
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(ending)) : [];
}

describe("an indexer that is killed", () => {
  it("loses nothing, and costs nobody anything", async () => {
    const path = await stage.attacker.createCollection("killed");
    const { value: kills } = await stage.unharmed(WITHIN_MIB, async () => {
      let written = 0;
      const killing = killAllTheTime(() => written === BATCHES);
      while (written < BATCHES) {
        await write(path, written);
        written++;
      }
      return killing;
    });
    expect(kills).toBeGreaterThan(0);
    await expectAll(path);
    // Left alone, it comes to its end, and leaves nothing half done.
    await expect.poll(() => files(path, ".seg").length, PATIENCE).toBeGreaterThan(0);
    await expect.poll(indexers, { ...PATIENCE, timeout: 90_000 }).toEqual([]);
    // The engine host may be writing one: it takes over from an indexer that fails again and again.
    await expect.poll(() => files(path, ".new"), PATIENCE).toEqual([]);
    await expectAll(path);
    // As much as the records take, not what readers that are dead have held back.
    const records = BATCHES * BATCH;
    expect(statSync(collectionFile(stage.served.data, path.split("/").at(-1)!)).size / records).toBeLessThan(
      2_000,
    );
  });

  it("ends with the engine host, and the next one goes on", async () => {
    const path = await stage.attacker.createCollection("orphaned");
    for (let batch = 0; batch < BATCHES; batch++) await write(path, batch);
    const [orphan] = await expect.poll(indexers, PATIENCE).not.toEqual([]).then(indexers);
    const host = await stage.hostPid();
    process.kill(host, "SIGKILL");
    await expect.poll(() => existsSync(`/proc/${orphan}`), PATIENCE).toBe(false);
    await expect.poll(async () => (await stage.attacker.send(`${path}/count`)).status, PATIENCE).toBe(200);
    await expectAll(path);
    await expect.poll(() => files(path, ".seg").length, PATIENCE).toBeGreaterThan(0);
    await expectAll(path);
  });
});
