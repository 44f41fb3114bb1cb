/**
 * Collections in 1, 2 and 5 partitions against the oracle, on random collections and random requests: the same records in the
 * same order with the same f32 scores, to the bit. `SHEAF_DIFFERENTIAL_CASES` sets how many reads are compared,
 * `SHEAF_DIFFERENTIAL_SEED` repeats a run.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { FacetsRequest, Include, ResultRecord, Search } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type StartedRead, executeSearch } from "../execute.ts";
import {
  applyWrites,
  contents,
  orders,
  plans,
  searches,
  severalSearches,
  vectors,
  wheres,
  writes,
} from "../testing/arbitraries.ts";
import { DifferentialRun } from "../testing/differential-run.ts";
import { oracleFacets } from "../testing/oracle-facets.ts";
import { oracleGet, oracleNearest, oracleSearch, oracleSelect } from "../testing/oracle.ts";
import { PartitionedCollection } from "../testing/partitioned-collection.ts";
import { recordsOf } from "../testing/records-of.ts";
import { TestCollection } from "../testing/test-collection.ts";
import {
  countOfPartitions,
  facetsOfPartitions,
  getOfPartitions,
  offsetsOfPartitions,
  queryOfPartitions,
  searchOfPartitions,
} from "./read-partitions.ts";

const DIMENSION = 3;
const SEARCHES_PER_COLLECTION = 8;
const ROUNDS = 3;
const SEARCHES_PER_ROUND = 4;
const RUN = new DifferentialRun("partitions", 1 / 5);
console.log(RUN.words);

const SEALED = { denseRows: 1, sizes: { mutableRows: 32, sealedRows: 64 }, minSparseTail: 4 };
const IDS = [...Array.from({ length: 24 }, (_, i) => `r${i}`), "unknown"];
const ONLY_IDS: Include = {
  ...{ documents: false, embeddings: false, metadatas: false, uris: false, distances: false },
  keys: [],
};
const SCORED: Include = { ...ONLY_IDS, documents: true, metadatas: true, distances: true };

const numbers = fc.constantFrom(1, 2, 5);
let compared = 0;

function isSame(found: unknown, expected: unknown, reads = 1): void {
  compared += reads;
  expect(found).toStrictEqual(expected);
}

const collections = fc.tuple(plans, numbers, writes(DIMENSION)).map(([plan, partitions, list]) => {
  const collection = new PartitionedCollection(plan, partitions);
  applyWrites(collection, list);
  return collection;
});

function search(collection: PartitionedCollection, ...list: Search[]): Promise<ResultRecord[][]> {
  return recordsOf(searchOfPartitions(collection.context, { searches: list, readLevel: "index_and_wal" }));
}

async function built({ collections: partitions }: PartitionedCollection): Promise<void> {
  while (partitions.some(({ index }) => index.isBuilding)) await setTimeout(1);
}

describe("reads of partitions against the oracle", () => {
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
    const requests = severalSearches(DIMENSION, SEARCHES_PER_ROUND);
    const rounds = fc.array(fc.tuple(writes(DIMENSION), fc.boolean(), requests), {
      minLength: ROUNDS,
      maxLength: ROUNDS,
    });
    await fc.assert(
      fc.asyncProperty(plans, numbers, rounds, async (plan, partitions, list) => {
        const collection = new PartitionedCollection(plan, partitions, SEALED);
        for (const [changes, waits, asked] of list) {
          applyWrites(collection, changes);
          if (waits) await built(collection);
          const expected = asked.map((one) => oracleSearch(collection, one));
          isSame(await search(collection, ...asked), expected, asked.length);
        }
        collection.close();
      }),
      RUN.runs(0.3, ROUNDS * SEARCHES_PER_ROUND),
    );
  });

  it("selects, counts, pages and tallies alike", async () => {
    const ids = fc.option(fc.array(fc.constantFrom("r1", "r2", "r3", "r9", "r17", "unknown")));
    const bounds = fc.record({
      ...{ limit: fc.option(fc.nat(9)), offset: fc.nat(5), facets: fc.nat(4) },
      orderBy: fc.option(orders, { nil: undefined }),
      histogram: fc.option(fc.integer({ min: 1, max: 7 })),
    });
    await fc.assert(
      fc.asyncProperty(collections, ids, wheres, bounds, async (collection, ofIds, where, asked) => {
        const { limit, offset, orderBy, facets, histogram } = asked;
        const { context } = collection;
        const selector = { ids: ofIds, where };
        const rows = oracleSelect(collection, selector);
        isSame(await countOfPartitions(context, selector), rows.length);
        isSame(
          (await offsetsOfPartitions(context, selector, limit)).offsets,
          rows.map((record) => record.offset).slice(0, limit ?? rows.length),
        );
        const request = { ...selector, limit, offset, include: ONLY_IDS, ...(orderBy && { orderBy }) };
        const [records = []] = await recordsOf(getOfPartitions(context, request));
        isSame(
          records.map(({ id }) => id),
          oracleGet(collection, request),
        );
        const keys = ["i", "n", "s", "b", "list", "absent"];
        const counted: FacetsRequest = { ...selector, keys, limit: facets, histogram };
        isSame(await facetsOfPartitions(context, counted), oracleFacets(collection, counted));
      }),
      RUN.runs(0.2, 4),
    );
  });

  it("finds the same neighbours", async () => {
    const queries = fc.array(vectors(DIMENSION), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        collections,
        wheres,
        queries,
        fc.nat(12),
        async (collection, where, embeddings, limit) => {
          const rows = oracleSelect(collection, { ids: null, where });
          const expected = embeddings.map((vector) => oracleNearest(collection, rows, vector, limit));
          const request = { ids: null, where, embeddings, limit, include: SCORED };
          const found = await recordsOf(queryOfPartitions(collection.context, request));
          const scored = found.map((row) => row.map(({ id, score }) => ({ id, score })));
          isSame(scored, expected, embeddings.length);
        },
      ),
      RUN.runs(0.05, 1),
    );
  });

  it("explains as one index does", async () => {
    const asked = fc.tuple(searches(DIMENSION), fc.constantFrom(null, IDS)).map(([one, ids]) => ({
      ...one,
      explain: { ids, path: "searches[0].explain" },
    }));
    const requests = fc.array(asked, { minLength: SEARCHES_PER_ROUND, maxLength: SEARCHES_PER_ROUND });
    await fc.assert(
      fc.asyncProperty(
        plans,
        numbers,
        writes(DIMENSION),
        requests,
        async (plan, partitions, list, explained) => {
          const [whole, divided] = [new TestCollection(plan), new PartitionedCollection(plan, partitions)];
          for (const collection of [whole, divided]) applyWrites(collection, list);
          const request = { searches: explained, readLevel: "index_and_wal" } as const;
          const expected = await executeSearch(whole.context, request);
          const found = await searchOfPartitions(divided.context, request);
          expect(explanationsOf(found)).toStrictEqual(explanationsOf(expected));
          const records = await recordsOf(Promise.resolve(expected));
          isSame(await recordsOf(Promise.resolve(found)), records, explained.length);
        },
      ),
      RUN.runs(0.1, SEARCHES_PER_ROUND),
    );
  });
});

/** What of them does not depend on how an index is divided. */
function explanationsOf({ first: { explained = [] } }: StartedRead): unknown {
  return explained.map((one) => {
    if (one === null) return null;
    const { records, rows, ranked, diversified, grouped } = one.plan;
    const leaves = one.plan.leaves.map((leaf) => ({
      ...{ type: leaf.type, path: leaf.path, key: leaf.key },
      found: "found" in leaf ? leaf.found : null,
      averageLength: "averageLength" in leaf ? leaf.averageLength : null,
    }));
    return { whyNot: one.whyNot, records, rows, ranked, diversified, grouped, leaves };
  });
}

/** One of the values, neighbours of `i` far apart. */
function pick<T>(values: readonly T[], i: number): T {
  const value = values[(i * 7_919) % values.length];
  assert(value !== undefined);
  return value;
}

it("answers alike with several segments in each partition, after many updates and deletes", async () => {
  const [plan] = fc.sample(plans, { seed: RUN.seed, numRuns: 1 });
  assert(plan !== undefined);
  const collection = new PartitionedCollection(plan, 3, {
    ...{ denseRows: 256, sizes: { mutableRows: 512, sealedRows: 2_048 } },
  });
  const known = fc.sample(contents(16), { seed: RUN.seed, numRuns: 211 });
  for (let i = 0; i < 9_000; i++) {
    const id = `r${(i * 40_503) % 4_001}`;
    if (i % 9 === 4) collection.stageRemoval(id);
    else collection.stage(id, pick(known, i));
  }
  collection.publish();
  const select = { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] };
  const list = fc.sample(searches(16), { seed: RUN.seed, numRuns: 8 }).map((one) => ({ ...one, select }));
  const expected = list.map((one) => oracleSearch(collection, one));
  expect(await search(collection, ...list)).toStrictEqual(expected);
  await built(collection);
  expect(await search(collection, ...list)).toStrictEqual(expected);
  collection.close();
});

describe("the comparison", () => {
  it("was as long as asked for", () => {
    expect(compared).toBeGreaterThanOrEqual(RUN.cases);
  });
});
