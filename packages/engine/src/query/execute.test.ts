import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type GetRequest,
  type Include,
  type Knn,
  LIMITS,
  type MetadataValue,
  type QueryRequest,
  type Rank,
  type ResultRecord,
  type Search,
  type Where,
} from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import { executeCount, executeGet, executeQuery, executeSearch, selectOffsets } from "./execute.ts";
import type { QueryContext } from "./query-context.ts";
import { recordsOf } from "./testing/records-of.ts";
import { SEARCH, knn } from "./testing/searches.ts";
import { type RecordContent, TestCollection, type TestCollectionOptions } from "./testing/test-collection.ts";

const INCLUDE: Include = {
  documents: true,
  embeddings: false,
  metadatas: false,
  uris: false,
  distances: true,
  keys: [],
};

function newCollection(
  count = 0,
  changes: (i: number) => Partial<RecordContent> = () => ({}),
  options: TestCollectionOptions = {},
): TestCollection {
  const sparse = [{ key: "terms", bm25: false, sourceKey: null, embeddingFunction: null }];
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse }, options);
  for (let i = 0; i < count; i++) collection.put(`r${i}`, content(i, changes(i)));
  return collection;
}

function content(i: number, changes: Partial<RecordContent> = {}): RecordContent {
  return {
    embedding: Float32Array.of(i, 0),
    document: `document ${i}`,
    uri: null,
    metadata: new Map([["i", BigInt(i)]]),
    ...changes,
  };
}

function search(context: QueryContext, ...searches: Partial<Search>[]): Promise<ResultRecord[][]> {
  return recordsOf(
    executeSearch(context, {
      searches: searches.map((one) => ({ ...SEARCH, ...one })),
      readLevel: "index_and_wal",
    }),
  );
}

function ids(records: readonly ResultRecord[] | undefined): string[] {
  return (records ?? []).map(({ id }) => id);
}

const contains = (text: string): Where => ({
  type: "document_contains",
  negated: false,
  text,
});
const isI = (i: bigint): Where => ({ type: "compare", key: "i", operator: "$eq", value: i });

describe("executeSearch", () => {
  it("answers nothing from a collection that was never written to", async () => {
    const { context } = newCollection();
    const vector = new Float32Array(7);
    expect(await search(context, {}, { rank: knn({ query: { type: "dense", vector } }) })).toStrictEqual([
      [],
      [],
    ]);
    expect(await search(context)).toStrictEqual([]);
  });

  it("scores a page without a rank by the place on it", async () => {
    const { context } = newCollection(5);
    expect(await search(context, { offset: 2, limit: 2 })).toStrictEqual([
      [
        { id: "r2", score: 0 },
        { id: "r3", score: 1 },
      ],
    ]);
  });

  it("returns no more than a page may hold", async () => {
    const { context } = newCollection(LIMITS.resultsPerPage + 5);
    const rank = knn({ limit: LIMITS.knnLimit });
    const [unranked, ranked] = await search(context, {}, { rank });
    expect(unranked).toHaveLength(LIMITS.resultsPerPage);
    expect(ranked).toHaveLength(LIMITS.resultsPerPage);
    expect(ids(ranked)).toStrictEqual(ids(unranked));
  });

  it("returns nothing for a constant", async () => {
    const { context } = newCollection(3);
    expect(await search(context, { rank: { type: "val", value: 1 } })).toStrictEqual([[]]);
  });

  it("numbers a leaf's records after the filter", async () => {
    const { context } = newCollection(9);
    const where: Where = { type: "compare", key: "i", operator: "$gte", value: 4.5 };
    const [found] = await search(context, { where, rank: knn({ limit: 2, returnRank: true }) });
    expect(found).toStrictEqual([
      { id: "r5", score: 0 },
      { id: "r6", score: 1 },
    ]);
  });

  it("finds no record that shares no term", async () => {
    const vector = { indices: Uint32Array.of(3, 9), values: Float32Array.of(2, 0) };
    const terms = [[3], [4], [9], []].map((indices) => ({
      indices: Uint32Array.from(indices),
      values: new Float32Array(indices.length).fill(0.5),
    }));
    const { context } = newCollection(5, (i) => {
      const value = terms[i];
      return { metadata: value === undefined ? null : new Map([["terms", value]]) };
    });
    const rank = knn({ key: "terms", query: { type: "sparse", vector } });
    expect(await search(context, { rank })).toStrictEqual([
      [
        { id: "r0", score: 0 },
        { id: "r2", score: 1 },
      ],
    ]);
  });

  it("selects fields, and tokens only the store has", async () => {
    const terms = { indices: Uint32Array.of(3), values: Float32Array.of(1), tokens: ["three"] };
    const metadata = new Map<string, MetadataValue>([
      ["a", 1n],
      ["terms", terms],
    ]);
    const collection = newCollection(1, () => ({ metadata, uri: "u" }));
    const select = (changes: Partial<Search["select"]>): Promise<ResultRecord[][]> =>
      search(collection.context, { select: { ...SEARCH.select, score: false, ...changes } });
    expect(await select({})).toStrictEqual([[{ id: "r0" }]]);
    expect(await select({ fields: ["a", "b"] })).toStrictEqual([
      [{ id: "r0", metadata: new Map([["a", 1n]]) }],
    ]);
    expect(await select({ fields: ["b"] })).toStrictEqual([[{ id: "r0", metadata: null }]]);
    expect(collection.reads).toBe(0);
    expect(await select({ metadata: true })).toStrictEqual([[{ id: "r0", metadata }]]);
    expect(await select({ document: true, embedding: true })).toStrictEqual([
      [{ id: "r0", document: "document 0", embedding: Float32Array.of(0, 0) }],
    ]);
  });

  const dense3 = { type: "dense", vector: new Float32Array(3) } as const;
  const sparse = {
    type: "sparse",
    vector: { indices: Uint32Array.of(1), values: Float32Array.of(1) },
  } as const;
  it.each<[string, Partial<Knn>, string]>([
    [
      "a vector of another dimension",
      { query: dense3 },
      "searches[0].rank.$knn.query: Collection expecting embedding with dimension of 2, got 3",
    ],
    [
      "a sparse query of #embedding",
      { query: sparse },
      "searches[0].rank.$knn.query: #embedding takes a dense vector",
    ],
    [
      "a dense query of a sparse key",
      { key: "terms" },
      'searches[0].rank.$knn.query: "terms" takes a sparse vector',
    ],
    [
      "a key without an index",
      { key: "other", query: sparse },
      'searches[0].rank.$knn.key: no sparse vector index on "other"',
    ],
  ])("refuses %s", async (_, changes, message) => {
    const { context } = newCollection(1);
    const rank: Rank = { type: "unary", operator: "$abs", operand: knn(changes) };
    await expect(search(context, { rank })).rejects.toMatchObject({ code: "invalid_argument", message });
  });

  it("refuses a bad pattern, even of an empty collection", async () => {
    const where: Where = { type: "document_regex", negated: true, pattern: "(", path: "searches[1].where.x" };
    await expect(search(newCollection().context, {}, { where })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^searches\[1\]\.where\.x: regex parse error/),
    });
  });
});

function queried(context: QueryContext, request: QueryRequest): Promise<ResultRecord[][]> {
  return recordsOf(executeQuery(context, request));
}

describe("executeQuery", () => {
  const query = { ids: null, where: null, limit: 10, include: INCLUDE, embeddings: [Float32Array.of(2, 0)] };

  it("finds the nearest, ties in insertion order", async () => {
    const { context } = newCollection(5);
    const [row] = await queried(context, { ...query, limit: 3 });
    expect(row).toStrictEqual([
      { id: "r2", document: "document 2", score: 0 },
      { id: "r1", document: "document 1", score: 1 },
      { id: "r3", document: "document 3", score: 1 },
    ]);
  });

  it("has one row per vector, whatever it finds", async () => {
    const { context } = newCollection(3);
    const two = [Float32Array.of(0, 0), Float32Array.of(2, 0)];
    const rows = await queried(context, { ...query, embeddings: two });
    expect(rows.map(ids)).toStrictEqual([
      ["r0", "r1", "r2"],
      ["r2", "r1", "r0"],
    ]);
    expect(await queried(context, { ...query, limit: 0 })).toStrictEqual([[]]);
    expect(await queried(context, { ...query, embeddings: [] })).toStrictEqual([]);
    expect(await queried(context, { ...query, ids: ["nobody"] })).toStrictEqual([[]]);
    expect(await queried(newCollection().context, query)).toStrictEqual([[]]);
  });

  it("names the vector that does not fit", async () => {
    const embeddings = [Float32Array.of(1, 1), Float32Array.of(1)];
    await expect(queried(newCollection(1).context, { ...query, embeddings })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "query_embeddings[1]: Collection expecting embedding with dimension of 2, got 1",
    });
  });
});

describe("executeGet", () => {
  const get: GetRequest = { ids: null, where: null, limit: null, offset: 0, include: INCLUDE };

  function got(collection: TestCollection, request: Partial<GetRequest> = {}): Promise<ResultRecord[][]> {
    return recordsOf(executeGet(collection.context, { ...get, ...request }));
  }

  it("keeps insertion order whatever the order of ids and updates", async () => {
    const collection = newCollection(5);
    collection.put("r1", content(1, { document: "changed" }));
    const [records] = await got(collection, { ids: ["r4", "r1", "x", "r0", "r1"] });
    expect(ids(records)).toStrictEqual(["r0", "r1", "r4"]);
    expect(records?.[1]).toStrictEqual({ id: "r1", document: "changed" });
  });

  it("returns nothing for no ids and for a limit of 0", async () => {
    const collection = newCollection(3);
    expect(await got(collection, { ids: [] })).toStrictEqual([[]]);
    expect(await got(collection, { limit: 0 })).toStrictEqual([[]]);
    expect(await got(newCollection())).toStrictEqual([[]]);
  });

  it("skips and counts in insertion order, across segments that updates have mixed", async () => {
    const count = 3 * BLOCK_DOCS;
    const collection = newCollection(count);
    for (let i = 0; i < count; i += 3) collection.put(`r${i}`, content(i));
    const [all] = await got(collection);
    expect(ids(all)).toStrictEqual(Array.from({ length: count }, (_, i) => `r${i}`));
    const [some] = await got(collection, { offset: 4_090, limit: 2_000 });
    expect(ids(some)).toStrictEqual(ids(all).slice(4_090, 6_090));
  });

  it("skips and counts in insertion order, across segments that were sealed", async () => {
    const count = 3 * BLOCK_DOCS;
    const sizes = { mutableRows: 1_024, sealedRows: 8_192 };
    const collection = newCollection(count, undefined, { sizes, denseRows: 1 });
    for (let i = 0; i < count; i += 3) collection.put(`r${i}`, content(i));
    while (collection.index.isBuilding) await nextTurn();
    const [all] = await got(collection);
    expect(ids(all)).toStrictEqual(Array.from({ length: count }, (_, i) => `r${i}`));
    const [some] = await got(collection, {
      where: { type: "compare", key: "i", operator: "$lt", value: 2_000n },
    });
    expect(ids(some)).toStrictEqual(ids(all).slice(0, 2_000));
    const [few] = await got(collection, {
      where: { type: "compare", key: "i", operator: "$lt", value: 200n },
    });
    expect(ids(few)).toStrictEqual(ids(all).slice(0, 200));
    collection.index.close();
  });
});

describe("executeCount and selectOffsets", () => {
  it("counts what ids and where leave over", async () => {
    const { context } = newCollection(9);
    const where: Where = { type: "compare", key: "i", operator: "$lt", value: 5n };
    expect(await executeCount(context, { ids: null, where: null })).toBe(9);
    expect(await executeCount(context, { ids: ["r1", "r7", "r7"], where })).toBe(1);
    expect(await selectOffsets(context, { ids: null, where }, null)).toStrictEqual([0, 1, 2, 3, 4]);
    expect(await selectOffsets(context, { ids: null, where }, 2)).toStrictEqual([0, 1]);
  });

  it("reads no document that metadata or ids rule out", async () => {
    const collection = newCollection(100);
    const where: Where = { type: "and", children: [contains("document"), isI(7n)] };
    expect(await executeCount(collection.context, { ids: null, where })).toBe(1);
    const byId: Where = { type: "id", negated: false, ids: ["r3", "r4"] };
    const both: Where = { type: "and", children: [contains("3"), byId] };
    expect(await executeCount(collection.context, { ids: null, where: both })).toBe(1);
    expect(collection.reads).toBe(3);
  });
});

describe("while records change", () => {
  it("starts over when the store is ahead of the index", async () => {
    const collection = newCollection(3);
    const metadata = new Map([["i", 50n]]);
    const changed = collection.store("r1", content(1, { document: "document changed", metadata }));
    const where: Where = { type: "and", children: [isI(1n), contains("document")] };
    const found = search(collection.context, { where });
    await new Promise(setImmediate);
    collection.hear(changed);
    expect(await found).toStrictEqual([[]]);
  });

  it("sees each record once, as it was or as it is", async () => {
    const count = 20_000;
    const collection = newCollection(count);
    const pages: Promise<number>[] = [];
    for (let round = 0; round < 5; round++) {
      pages.push(executeCount(collection.context, { ids: null, where: contains("document") }));
      for (let i = 0; i < 4_000; i++) {
        const id = (i * 5 + round) % count;
        collection.put(`r${id}`, content(id, { document: `document ${round}` }));
      }
      await new Promise(setImmediate);
    }
    expect(await Promise.all(pages)).toStrictEqual(pages.map(() => count));
  });
});

describe("an abort", () => {
  it("ends a read that is under way", async () => {
    const { context } = newCollection(60_000);
    const controller = new AbortController();
    const searches = Array.from({ length: LIMITS.searchesPerCall }, () => ({ ...SEARCH, rank: knn() }));
    const request = { searches, readLevel: "index_and_wal" } as const;
    const found = executeSearch(context, request, controller.signal);
    setImmediate(() => controller.abort());
    await expect(found).rejects.toMatchObject({ code: "cancelled" });
  });

  it("refuses a read that nobody waits for any more", async () => {
    const { context } = newCollection(1);
    const where = contains("x");
    const signal = AbortSignal.abort();
    await expect(executeCount(context, { ids: null, where }, signal)).rejects.toMatchObject({
      code: "cancelled",
    });
  });
});
