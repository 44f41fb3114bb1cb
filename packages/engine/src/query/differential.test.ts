/**
 * The engine against the oracle on random collections and random requests: the same records in the same order with
 * the same f32 scores, to the bit. `SHEAF_DIFFERENTIAL_CASES` sets how many reads are compared,
 * `SHEAF_DIFFERENTIAL_SEED` repeats a run.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Include, Search } from "@sheaf/protocol";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import { type ScanPool, createScanPool } from "../index/scan-pool.ts";
import { executeCount, executeGet, executeQuery, executeSearch, selectOffsets } from "./execute.ts";
import {
  applyWrites,
  contents,
  denseKnns,
  orders,
  plans,
  searches,
  severalSearches,
  vectors,
  wheres,
  writes,
} from "./testing/arbitraries.ts";
import { DifferentialRun } from "./testing/differential-run.ts";
import { oracleGet, oracleNearest, oracleSearch, oracleSelect } from "./testing/oracle.ts";
import { recordsOf } from "./testing/records-of.ts";
import { TestCollection } from "./testing/test-collection.ts";

const DIMENSION = 3;
const SEARCHES_PER_COLLECTION = 8;
const ROUNDS = 3;
const SEARCHES_PER_ROUND = 4;
const RUN = new DifferentialRun("differential");
console.log(RUN.words);

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

let compared = 0;

function isSame(found: unknown, expected: unknown, reads = 1): void {
  compared += reads;
  expect(found).toStrictEqual(expected);
}

const collections = fc.tuple(plans, writes(DIMENSION)).map(([plan, list]) => {
  const collection = new TestCollection(plan);
  applyWrites(collection, list);
  return collection;
});

function search(collection: TestCollection, ...list: Search[]): Promise<unknown> {
  return recordsOf(executeSearch(collection.context, { searches: list, readLevel: "index_and_wal" }));
}

async function built({ index }: TestCollection): Promise<void> {
  while (index.isBuilding) await setTimeout(1);
}

describe("reads against the oracle", () => {
  it("answers every search alike", async () => {
    const requests = severalSearches(DIMENSION, SEARCHES_PER_COLLECTION);
    await fc.assert(
      fc.asyncProperty(collections, requests, async (collection, list) => {
        const expected = list.map((one) => oracleSearch(collection, one));
        isSame(await search(collection, ...list), expected, list.length);
      }),
      RUN.runs(0.4, SEARCHES_PER_COLLECTION),
    );
  });

  it("answers alike between writes, with fast indexes from the first record on", async () => {
    const sizes = { mutableRows: 32, sealedRows: 64 };
    const requests = severalSearches(DIMENSION, SEARCHES_PER_ROUND);
    const rounds = fc.array(fc.tuple(writes(DIMENSION), fc.boolean(), requests), {
      minLength: ROUNDS,
      maxLength: ROUNDS,
    });
    await fc.assert(
      fc.asyncProperty(plans, rounds, async (plan, list) => {
        const collection = new TestCollection(plan, { denseRows: 1, sizes, minSparseTail: 4 });
        for (const [changes, waits, asked] of list) {
          applyWrites(collection, changes);
          if (waits) await built(collection);
          const expected = asked.map((one) => oracleSearch(collection, one));
          isSame(await search(collection, ...asked), expected, asked.length);
        }
        collection.index.close();
      }),
      RUN.runs(0.35, ROUNDS * SEARCHES_PER_ROUND),
    );
  });

  it("selects, counts and pages alike", async () => {
    const ids = fc.option(fc.array(fc.constantFrom("r1", "r2", "r3", "r9", "r17", "unknown")));
    const bounds = fc.record({
      ...{ limit: fc.option(fc.nat(9)), offset: fc.nat(5) },
      orderBy: fc.option(orders, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(
        collections,
        ids,
        wheres,
        bounds,
        async (collection, ids, where, { limit, offset, orderBy }) => {
          const selector = { ids, where };
          const rows = oracleSelect(collection, selector);
          isSame(await executeCount(collection.context, selector), rows.length);
          isSame(
            await selectOffsets(collection.context, selector, limit),
            rows.map((record) => record.offset).slice(0, limit ?? rows.length),
          );
          const request = { ...selector, limit, offset, include: ONLY_IDS, ...(orderBy && { orderBy }) };
          const [records = []] = await recordsOf(executeGet(collection.context, request));
          isSame(
            records.map(({ id }) => id),
            oracleGet(collection, request),
          );
        },
      ),
      RUN.runs(0.15, 3),
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
        const found = await recordsOf(executeQuery(collection.context, request));
        const scored = found.map((row) => row.map(({ id, score }) => ({ id, score })));
        isSame(scored, expected, embeddings.length);
      }),
      RUN.runs(0.05, 1),
    );
  });
});

/** One of the values, neighbours of `i` far apart. */
function pick<T>(values: readonly T[], i: number): T {
  const value = values[(i * 7_919) % values.length];
  assert(value !== undefined);
  return value;
}

describe("a collection of several segments", () => {
  const workers = createScanPool({ threads: 1 });
  let scans = 0;
  const scanPool: ScanPool = {
    scan: (scan, signal) => {
      scans++;
      return workers.scan(scan, signal);
    },
    sideThread: workers.sideThread,
    close: () => workers.close(),
  };
  afterAll(() => scanPool.close());

  it("answers alike in this thread, on workers and by the fast index, after many updates and deletes", async () => {
    const [plan] = fc.sample(plans, { seed: RUN.seed, numRuns: 1 });
    assert(plan !== undefined);
    const pooled = new TestCollection(plan, { scanPool, denseRows: Infinity });
    const inline = new TestCollection(plan, { denseRows: Infinity });
    const fast = new TestCollection(plan, { denseRows: 1_024 });
    const dimension = 256;
    const known = fc.sample(contents(dimension), { seed: RUN.seed, numRuns: 211 });
    for (let i = 0; i < 30_000; i++) {
      const id = `r${(i * 40_503) % 7_001}`;
      for (const collection of [pooled, inline, fast]) {
        if (i % 9 === 4) collection.remove(id);
        else collection.put(id, pick(known, i));
      }
    }
    const select = { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] };
    const list = fc
      .sample(searches(dimension), { seed: RUN.seed, numRuns: 24 })
      .map((one) => ({ ...one, select }));
    const [rank] = fc.sample(denseKnns(dimension), { seed: RUN.seed, numRuns: 1 });
    assert(rank !== undefined);
    list.push({ where: null, rank, groupBy: null, offset: 0, limit: null, select });
    const expected = list.map((one) => oracleSearch(inline, one));
    expect(await search(inline, ...list)).toStrictEqual(expected);
    expect(await search(pooled, ...list)).toStrictEqual(expected);
    expect(scans).toBeGreaterThan(0);
    // While rows get into the fast index, and when all that can have.
    expect(await search(fast, ...list)).toStrictEqual(expected);
    await built(fast);
    expect(await search(fast, ...list)).toStrictEqual(expected);
    fast.index.close();
  });

  it("filters alike by columns, between writes", async () => {
    const [plan] = fc.sample(plans, { seed: RUN.seed, numRuns: 1 });
    assert(plan !== undefined);
    const collection = new TestCollection(plan, { denseRows: Infinity });
    const known = fc.sample(contents(DIMENSION), { seed: RUN.seed, numRuns: 97 });
    for (let i = 0; i < BLOCK_DOCS + 900; i++) collection.put(`r${i}`, pick(known, i));
    const { numRuns } = RUN.runs(0.05, 2);
    for (const [i, where] of fc.sample(wheres, { seed: RUN.seed, numRuns }).entries()) {
      // Rows that the columns do not have yet, and a few that are gone.
      for (let j = 0; j < 3; j++) collection.put(`r${(i * 37 + j * 1_009) % 6_000}`, pick(known, i + j));
      collection.remove(`r${(i * 53) % 6_000}`);
      const selector = { ids: null, where };
      const rows = oracleSelect(collection, selector);
      isSame(await executeCount(collection.context, selector), rows.length);
      isSame(
        await selectOffsets(collection.context, selector, null),
        rows.map(({ offset }) => offset),
      );
    }
  });
});

describe("the comparison", () => {
  it("was as long as asked for", () => {
    expect(compared).toBeGreaterThanOrEqual(RUN.cases);
  });
});
