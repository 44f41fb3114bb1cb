/** An engine whose collections do not fit the memory of their indexes all at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionRef } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine, EngineStatistics } from "./engine.ts";
import { makeCollection, write } from "./testing/engine-fixtures.ts";
import { ALL, INDEX, IndexedFolder, ROWS, expected, nearest, row } from "./testing/indexed-folder.ts";

const COLLECTIONS = 6;

let folder: IndexedFolder;

/** Takes of the indexes what makes room for nothing else. */
function kept({ indexCodeBytes, indexVectorBytes, indexCopyBytes }: EngineStatistics): number {
  return indexCodeBytes + indexVectorBytes + indexCopyBytes;
}

async function settled(engine: Engine): Promise<EngineStatistics> {
  for (let before = -1; ; await sleep(400)) {
    const statistics = await engine.statistics();
    if (kept(statistics) === before) return statistics;
    before = kept(statistics);
  }
}

/** Of which nobody has searched one yet. */
async function filled(collections: number): Promise<CollectionRef[]> {
  const engine = await folder.open();
  const refs = await Promise.all(Array.from({ length: collections }, () => folder.filled(engine)));
  await engine.close();
  return refs;
}

/** What one takes, with its vectors and without. */
async function sizes(ref: CollectionRef): Promise<{ whole: number; codes: number }> {
  const engine = await folder.open();
  expect(await nearest(engine, ref, 3)).toEqual(expected(ALL, 3));
  const statistics = await settled(engine);
  await engine.close();
  return { whole: kept(statistics), codes: statistics.indexCodeBytes };
}

beforeEach(() => {
  folder = new IndexedFolder();
});

describe("an engine whose collections do not fit the memory of their indexes", { timeout: 120_000 }, () => {
  it("closes those that nobody uses, the least recently used first, and answers as before", async () => {
    const refs = await filled(COLLECTIONS);
    const { codes } = await sizes(refs[0]!);
    // Two of them in three quarters, with magnitudes; some more without, which are left away where memory is short.
    const indexMemory = (codes * 2) / 0.75 / 0.75;
    const engine = await folder.open(INDEX, { indexMemory });
    for (const ref of refs) expect(await nearest(engine, ref, 7)).toEqual(expected(ALL, 7));
    await expect
      .poll(async () => kept(await engine.statistics()), { timeout: 60_000 })
      .toBeLessThan(2 * codes);
    const { openCollections } = await engine.statistics();
    expect(openCollections).toBeGreaterThan(1);
    expect(openCollections).toBeLessThan(COLLECTIONS);
    // What was used last is open.
    expect(await nearest(engine, refs.at(-1)!, 9)).toEqual(expected(ALL, 9));
    expect(await engine.statistics()).toMatchObject({ openCollections });
    for (const ref of refs) {
      expect(await nearest(engine, ref, 9)).toEqual(expected(ALL, 9));
      expect(await engine.indexingStatus(ref)).toEqual({ indexedOperations: ROWS, totalOperations: ROWS });
    }
    await write(engine, refs[0]!, "add", row(ROWS));
    await expect
      .poll(async () => (await engine.statistics()).openCollections, { timeout: 60_000 })
      .toBeLessThan(COLLECTIONS);
    for (const ref of refs) {
      const rows = ref === refs[0] ? [...ALL, ROWS] : ALL;
      expect(await nearest(engine, ref, ROWS)).toEqual(expected(rows, ROWS));
    }
    expect(folder.logged).toEqual([]);
  });

  it("has one that is searched all the time give vectors back where others need the memory", async () => {
    const [searched] = (await filled(1)) as [CollectionRef];
    const { codes, whole } = await sizes(searched);
    // Of which vectors take at most half.
    const indexMemory = whole / 0.75 / 0.75 / 0.5;
    const engine = await folder.open(INDEX, { indexMemory, unsealedMemory: 2 ** 30 });
    expect(await nearest(engine, searched, 3)).toEqual(expected(ALL, 3));
    expect(kept(await settled(engine))).toBe(whole);
    // It stays open, for a segment with so few rows has no file.
    const unsealed = await makeCollection(engine);
    const metadata = new Map([["text", "x".repeat((1.5 * whole) / 16)]]);
    await write(engine, unsealed, "add", ...Array.from({ length: 16 }, (_, i) => ({ ...row(i), metadata })));
    expect(await engine.count(unsealed, { ids: null, where: null })).toBe(16);
    for (let query = 0; kept(await engine.statistics()) > codes; query++) {
      expect(await nearest(engine, searched, query)).toEqual(expected(ALL, query));
      await sleep(5);
    }
    expect(await nearest(engine, searched, 11)).toEqual(expected(ALL, 11));
    expect(folder.logged).toEqual([]);
  });
});
