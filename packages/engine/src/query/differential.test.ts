/**
 * The engine against the oracle on random collections and random requests: the same records in the same order with
 * the same f32 scores, to the bit. `SHEAF_DIFFERENTIAL_CASES` sets how many requests are tried,
 * `SHEAF_DIFFERENTIAL_SEED` repeats a run.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Include, Search } from "@sheaf/protocol";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { type ScanPool, createScanPool } from "../index/scan-pool.ts";
import { executeCount, executeGet, executeQuery, executeSearch, selectOffsets } from "./execute.ts";
import { contents, denseKnns, plans, searches, vectors, wheres, writes } from "./testing/arbitraries.ts";
import { oracleGet, oracleNearest, oracleSearch, oracleSelect } from "./testing/oracle.ts";
import { TestCollection } from "./testing/test-collection.ts";

const DIMENSION = 3;
const SEARCHES_PER_COLLECTION = 8;
const CASES = Number(process.env["SHEAF_DIFFERENTIAL_CASES"] ?? 4_000);
const SEED = Number(process.env["SHEAF_DIFFERENTIAL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`differential: ${CASES} cases, SHEAF_DIFFERENTIAL_SEED=${SEED}`);

const EVERYTHING: Include = {
  documents: true,
  embeddings: true,
  metadatas: true,
  uris: true,
  distances: true,
  keys: [],
};
const ONLY_IDS: Include = {
  documents: false,
  embeddings: false,
  metadatas: false,
  uris: false,
  distances: false,
  keys: [],
};

const collections = fc.tuple(plans, writes(DIMENSION)).map(([plan, list]) => {
  const collection = new TestCollection(plan);
  for (const write of list) {
    if (write.type === "put") collection.put(write.id, write.content);
    else collection.remove(write.id);
  }
  return collection;
});

const run = { seed: SEED, numRuns: Math.ceil(CASES / SEARCHES_PER_COLLECTION) };

function search(collection: TestCollection, ...list: Search[]): Promise<unknown> {
  return executeSearch(collection.context, { searches: list, readLevel: "index_and_wal" });
}

describe("reads against the oracle", () => {
  it("answers every search alike", async () => {
    const requests = fc.array(searches(DIMENSION), {
      minLength: SEARCHES_PER_COLLECTION,
      maxLength: SEARCHES_PER_COLLECTION,
    });
    await fc.assert(
      fc.asyncProperty(collections, requests, async (collection, list) => {
        const expected = list.map((one) => oracleSearch(collection, one));
        expect(await search(collection, ...list)).toStrictEqual(expected);
      }),
      run,
    );
  });

  it("selects, counts and pages alike", async () => {
    const ids = fc.option(fc.array(fc.constantFrom("r1", "r2", "r3", "r9", "r17", "unknown")));
    const bounds = fc.record({ limit: fc.option(fc.nat(9)), offset: fc.nat(5) });
    await fc.assert(
      fc.asyncProperty(
        collections,
        ids,
        wheres,
        bounds,
        async (collection, ids, where, { limit, offset }) => {
          const selector = { ids, where };
          const rows = oracleSelect(collection, selector);
          expect(await executeCount(collection.context, selector)).toBe(rows.length);
          expect(await selectOffsets(collection.context, selector, limit)).toStrictEqual(
            rows.map((record) => record.offset).slice(0, limit ?? rows.length),
          );
          const request = { ...selector, limit, offset, include: ONLY_IDS };
          const page = await executeGet(collection.context, request, null);
          expect(page.next).toBeNull();
          expect(page.records.map(({ id }) => id)).toStrictEqual(oracleGet(collection, request));
        },
      ),
      run,
    );
  });

  it("finds the same neighbours", async () => {
    const limits = fc.nat(12);
    const queries = fc.array(vectors(DIMENSION), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(collections, wheres, queries, limits, async (collection, where, embeddings, limit) => {
        const rows = oracleSelect(collection, { ids: null, where });
        const expected = embeddings.map((vector) => oracleNearest(collection, rows, vector, limit));
        const request = { ids: null, where, embeddings, limit, include: EVERYTHING };
        const found = await executeQuery(collection.context, request);
        expect(found.map((row) => row.map(({ id, score }) => ({ id, score })))).toStrictEqual(expected);
      }),
      run,
    );
  });
});

describe("a collection of several segments", () => {
  const workers = createScanPool({ threads: 1 });
  let scans = 0;
  const scanPool: ScanPool = {
    scan: (scan, signal) => {
      scans++;
      return workers.scan(scan, signal);
    },
    close: () => workers.close(),
  };
  afterAll(() => scanPool.close());

  it("answers alike in this thread, on workers and by the fast index, after many updates and deletes", async () => {
    const [plan] = fc.sample(plans, { seed: SEED, numRuns: 1 });
    assert(plan !== undefined);
    const pooled = new TestCollection(plan, { scanPool, denseRows: Infinity });
    const inline = new TestCollection(plan, { denseRows: Infinity });
    const fast = new TestCollection(plan, { denseRows: 1_024 });
    const dimension = 256;
    const pick = <T>(values: readonly T[], i: number): T | undefined => values[(i * 7_919) % values.length];
    const known = fc.sample(contents(dimension), { seed: SEED, numRuns: 211 });
    for (let i = 0; i < 30_000; i++) {
      const id = `r${(i * 40_503) % 7_001}`;
      const content = pick(known, i);
      assert(content !== undefined);
      for (const collection of [pooled, inline, fast]) {
        if (i % 9 === 4) collection.remove(id);
        else collection.put(id, content);
      }
    }
    const select = { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] };
    const list = fc
      .sample(searches(dimension), { seed: SEED, numRuns: 24 })
      .map((one) => ({ ...one, select }));
    const [rank] = fc.sample(denseKnns(dimension), { seed: SEED, numRuns: 1 });
    assert(rank !== undefined);
    list.push({ where: null, rank, groupBy: null, offset: 0, limit: null, select });
    const expected = list.map((one) => oracleSearch(inline, one));
    expect(await search(inline, ...list)).toStrictEqual(expected);
    expect(await search(pooled, ...list)).toStrictEqual(expected);
    expect(scans).toBeGreaterThan(0);
    // While rows get into the fast index, and when all that can have.
    expect(await search(fast, ...list)).toStrictEqual(expected);
    while (fast.index.isBuilding) await setTimeout(5);
    expect(await search(fast, ...list)).toStrictEqual(expected);
    fast.index.close();
  });
});
