/** npm `chromadb`, unchanged: every record method of a collection but `search`. */
import { type ChromaClient, ChromaClientError, type Collection, IncludeEnum, type Metadata } from "chromadb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";

const EVERYTHING = [IncludeEnum.embeddings, IncludeEnum.documents, IncludeEnum.metadatas, IncludeEnum.uris];

let served: ServedSheaf;
let client: ChromaClient;
let collection: Collection;
let made = 0;

beforeAll(async () => {
  served = await ServedSheaf.start();
  client = chromaClient(served);
});

afterAll(async () => {
  await served.dispose();
});

beforeEach(async () => {
  collection = await client.createCollection({ name: `records-${made++}`, embeddingFunction: null });
  await collection.add({
    ids: ["a", "b", "c"],
    embeddings: [
      [1, 0, 0],
      [0, 1, 0],
      [0.5, 0.25, 0.125],
    ],
    documents: ["alpha beach", "beta cliff", "gamma beach"],
    metadatas: [
      { kind: "sand", n: 1, tags: ["x", "y"], counts: [1, 2] },
      { kind: "rock", n: 2.5, ok: true },
      { kind: "sand", n: 3 },
    ],
    uris: ["file:a", "file:b", "file:c"],
  });
});

describe("get and peek", () => {
  it("give records in insertion order with what was asked for", async () => {
    const all = await collection.get({ include: EVERYTHING });
    expect(all.ids).toEqual(["a", "b", "c"]);
    expect(all.embeddings[2]).toEqual([0.5, 0.25, 0.125]);
    expect(all.documents).toEqual(["alpha beach", "beta cliff", "gamma beach"]);
    expect(all.metadatas[0]).toEqual({ kind: "sand", n: 1, tags: ["x", "y"], counts: [1, 2] });
    expect(all.uris).toEqual(["file:a", "file:b", "file:c"]);
    expect(all.rows()[1]).toEqual({
      id: "b",
      document: "beta cliff",
      embedding: [0, 1, 0],
      metadata: { kind: "rock", n: 2.5, ok: true },
      uri: "file:b",
    });
  });

  it.each<[string, Parameters<Collection["get"]>[0], string[]]>([
    ["everything", {}, ["a", "b", "c"]],
    ["by id, in insertion order", { ids: ["c", "a", "nobody"] }, ["a", "c"]],
    ["a page", { limit: 1, offset: 1 }, ["b"]],
    ["no record", { limit: 0 }, []],
    ["past the end", { offset: 3 }, []],
    ["ids that also match", { ids: ["a", "b"], where: { kind: "sand" } }, ["a"]],
    ["both filters", { where: { kind: "sand" }, whereDocument: { $contains: "gamma" } }, ["c"]],
  ])("get %s", async (_, request, ids) => {
    expect((await collection.get(request)).ids).toEqual(ids);
  });

  it("peek gives the first ones", async () => {
    expect((await collection.peek({ limit: 2 })).ids).toEqual(["a", "b"]);
    expect((await collection.peek({})).ids).toEqual(["a", "b", "c"]);
  });

  it("leave out what was not asked for", async () => {
    const bare = await collection.get({ include: [] });
    expect(bare).toMatchObject({
      ids: ["a", "b", "c"],
      documents: [],
      metadatas: [],
      embeddings: [],
      uris: [],
    });
  });
});

describe("where", () => {
  it.each<[string, object, string[]]>([
    ["equality", { kind: "sand" }, ["a", "c"]],
    ["$eq", { kind: { $eq: "rock" } }, ["b"]],
    ["$ne", { kind: { $ne: "sand" } }, ["b"]],
    ["missing keys match $ne", { ok: { $ne: true } }, ["a", "c"]],
    ["$gt", { n: { $gt: 2.5 } }, ["c"]],
    ["$gte with a float", { n: { $gte: 1.5 } }, ["b", "c"]],
    ["$lt with a float", { n: { $lt: 2.5 } }, ["a"]],
    ["$lte", { n: { $lte: 2.5 } }, ["a", "b"]],
    ["$in", { n: { $in: [1, 3] } }, ["a", "c"]],
    ["$nin", { kind: { $nin: ["sand"] } }, ["b"]],
    ["$and", { $and: [{ kind: "sand" }, { n: { $gt: 1 } }] }, ["c"]],
    ["$or", { $or: [{ ok: true }, { n: 1 }] }, ["a", "b"]],
    ["nested", { $or: [{ $and: [{ kind: "sand" }, { n: 1 }] }, { ok: true }] }, ["a", "b"]],
    ["$contains in a list of strings", { tags: { $contains: "y" } }, ["a"]],
    ["$contains in a list of numbers", { counts: { $contains: 2 } }, ["a"]],
    ["$not_contains", { tags: { $not_contains: "y" } }, ["b", "c"]],
  ])("%s", async (_, where, ids) => {
    expect((await collection.get({ where: where as never })).ids).toEqual(ids);
  });
});

describe("whereDocument", () => {
  it.each<[string, object, string[]]>([
    ["$contains", { $contains: "beach" }, ["a", "c"]],
    ["$contains of one letter", { $contains: "f" }, ["b"]],
    ["$not_contains", { $not_contains: "beach" }, ["b"]],
    ["$regex", { $regex: "^(alpha|beta)" }, ["a", "b"]],
    ["$not_regex", { $not_regex: "(?i)BEACH$" }, ["b"]],
    ["$and", { $and: [{ $contains: "beach" }, { $not_contains: "alpha" }] }, ["c"]],
    ["$or", { $or: [{ $contains: "alpha" }, { $contains: "cliff" }] }, ["a", "b"]],
  ])("%s", async (_, whereDocument, ids) => {
    expect((await collection.get({ whereDocument: whereDocument as never })).ids).toEqual(ids);
  });
});

describe("query", () => {
  it("gives the nearest first, one row per query", async () => {
    const found = await collection.query({
      queryEmbeddings: [
        [1, 0, 0],
        [0, 1, 0],
      ],
      nResults: 2,
      include: [IncludeEnum.distances, IncludeEnum.documents, IncludeEnum.metadatas, IncludeEnum.embeddings],
    });
    expect(found.ids).toEqual([
      ["a", "c"],
      ["b", "c"],
    ]);
    expect(found.distances[0]).toEqual([0, 0.328125]);
    expect(found.documents[1]?.[0]).toBe("beta cliff");
    expect(found.embeddings[0]?.[1]).toEqual([0.5, 0.25, 0.125]);
    expect(found.rows()[0]?.[0]).toMatchObject({ id: "a", distance: 0, document: "alpha beach" });
  });

  it.each<[string, Partial<Parameters<Collection["query"]>[0]>, string[][]]>([
    ["ids", { ids: ["b", "c"] }, [["c", "b"]]],
    ["where", { where: { kind: "rock" } }, [["b"]]],
    ["whereDocument", { whereDocument: { $contains: "gamma" } }, [["c"]]],
    ["more results than records", { nResults: 50 }, [["a", "c", "b"]]],
    ["far more results than records", { nResults: 1_000_000 }, [["a", "c", "b"]]],
  ])("restricts by %s", async (_, more, ids) => {
    expect((await collection.query({ queryEmbeddings: [[1, 0, 0]], ...more })).ids).toEqual(ids);
  });

  it("takes 1,024 query embeddings", async () => {
    const queryEmbeddings = Array.from({ length: 1_024 }, (_, i) => [i % 2, (i + 1) % 2, 0]);
    const { ids } = await collection.query({ queryEmbeddings, nResults: await collection.count() });
    expect(ids).toHaveLength(1_024);
    expect(ids.slice(0, 2)).toEqual([
      ["b", "c", "a"],
      ["a", "c", "b"],
    ]);
  });

  it("gives an empty row in an empty collection", async () => {
    const empty = await client.createCollection({ name: `empty-${made++}`, embeddingFunction: null });
    expect((await empty.query({ queryEmbeddings: [[1, 0]] })).ids).toEqual([[]]);
  });

  it("refuses another dimension", async () => {
    await expect(collection.query({ queryEmbeddings: [[1, 0]] })).rejects.toThrow(/dimension of 3, got 2/u);
  });
});

describe("writes", () => {
  it("add leaves what exists", async () => {
    await collection.add({
      ids: ["a", "d"],
      embeddings: [
        [9, 9, 9],
        [4, 4, 4],
      ],
      documents: ["no", "delta"],
    });
    expect((await collection.get({ ids: ["a", "d"] })).documents).toEqual(["alpha beach", "delta"]);
    expect(await collection.count()).toBe(4);
  });

  it("update changes only what is sent and what exists", async () => {
    await collection.update({ ids: ["a", "nobody"], metadatas: [{ n: 7 }, { n: 8 }] });
    const { ids, metadatas, documents } = await collection.get({ ids: ["a", "nobody"] });
    expect(ids).toEqual(["a"]);
    expect(metadatas[0]).toEqual({ kind: "sand", n: 7, tags: ["x", "y"], counts: [1, 2] });
    expect(documents).toEqual(["alpha beach"]);
  });

  it("upsert does both", async () => {
    await collection.upsert({
      ids: ["b", "e"],
      embeddings: [
        [0, 2, 0],
        [5, 5, 5],
      ],
      documents: ["beta two", "eps"],
    });
    const { documents, embeddings, metadatas } = await collection.get({
      ids: ["b", "e"],
      include: EVERYTHING,
    });
    expect(documents).toEqual(["beta two", "eps"]);
    expect(embeddings).toEqual([
      [0, 2, 0],
      [5, 5, 5],
    ]);
    expect(metadatas).toEqual([{ kind: "rock", n: 2.5, ok: true }, null]);
  });

  it.each<[string, Parameters<Collection["delete"]>[0], number, string[]]>([
    ["ids that exist, counting only those", { ids: ["a", "nobody"] }, 1, ["b", "c"]],
    ["what matches", { where: { kind: "sand" } }, 2, ["b"]],
    ["what its document matches", { whereDocument: { $contains: "cliff" } }, 1, ["a", "c"]],
    ["ids that also match", { ids: ["a", "b"], where: { kind: "sand" } }, 1, ["b", "c"]],
    ["at most limit matches", { where: { kind: "sand" }, limit: 1 }, 1, ["b", "c"]],
  ])("delete removes %s", async (_, request, deleted, left) => {
    expect(await collection.delete(request)).toEqual({ deleted });
    expect((await collection.get()).ids).toEqual(left);
    expect(await collection.count()).toBe(left.length);
  });

  it("update ignores a record that does not exist, whatever comes for it", async () => {
    await collection.update({ ids: ["nobody"], embeddings: [[1, 2]], documents: ["x"] });
    expect(await collection.get({ include: EVERYTHING })).toMatchObject({ ids: ["a", "b", "c"] });
  });

  it("delete checks its filter where there is nothing to delete too", async () => {
    const empty = await client.createCollection({ name: `empty-${made++}`, embeddingFunction: null });
    await expect(empty.delete({ whereDocument: { $regex: "(" } })).rejects.toThrow(ChromaClientError);
    expect(await empty.delete({ where: { kind: "sand" } })).toEqual({ deleted: 0 });
  });

  it("refuses another dimension and keeps everything", async () => {
    const other = {
      ids: ["x", "y"],
      embeddings: [
        [1, 2],
        [3, 4],
      ],
    };
    await expect(collection.add(other)).rejects.toThrow(ChromaClientError);
    expect(await collection.count()).toBe(3);
  });

  it("takes 5,461 records in one call, as advertised", async () => {
    const ids = Array.from({ length: 5_461 }, (_, i) => `bulk${i}`);
    await collection.add({ ids, embeddings: ids.map((_, i) => [i, 1, 2]) });
    expect(await collection.count()).toBe(5_464);
  });

  it("returns metadata of every kind as it was written", async () => {
    const metadata: Metadata = {
      text: "ünïcode ☃",
      integer: 42,
      negative: -9_007_199_254_740_991,
      float: 0.1,
      no: false,
      numbers: [1.5, 2.5],
      flags: [true, false],
      sparse: { indices: [1, 7], values: [0.5, 123.456] },
    };
    await collection.upsert({ ids: ["m"], embeddings: [[1, 1, 1]], metadatas: [metadata] });
    expect((await collection.get({ ids: ["m"] })).metadatas).toEqual([metadata]);
  });
});

describe("getIndexingStatus", () => {
  it("reaches 1, and the version has risen then", async () => {
    const before = await versionOf(collection.id);
    await collection.upsert({ ids: ["a"], embeddings: [[3, 3, 3]] });
    for (let attempt = 0; (await versionOf(collection.id)) <= before; attempt++) {
      if (attempt > 1_000) throw new Error("the version never rose");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await collection.getIndexingStatus()).toEqual({
      op_indexing_progress: 1,
      num_unindexed_ops: 0,
      num_indexed_ops: 4,
      total_ops: 4,
    });
  });
});

async function versionOf(id: string): Promise<number> {
  const path = `/api/v2/tenants/default_tenant/databases/default_database/collections/by-id/${id}`;
  return (await served.ask<{ version: number }>(path)).version;
}
