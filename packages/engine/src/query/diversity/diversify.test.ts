import { Cancellation, type Mmr, type Rank, type Search } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { executeSearch } from "../execute.ts";
import { oracleSearch } from "../testing/oracle.ts";
import { recordsOf } from "../testing/records-of.ts";
import { SEARCH, knn } from "../testing/searches.ts";
import { TestCollection } from "../testing/test-collection.ts";

const SPACES = ["l2", "cosine", "ip"] as const;

function collectionOf(
  vectors: readonly (readonly number[])[],
  space: (typeof SPACES)[number] = "l2",
): TestCollection {
  const collection = new TestCollection({ space, embeddingFunction: null, sparse: [] });
  for (const [i, vector] of vectors.entries()) {
    const metadata = new Map([["parity", i % 2 === 0]]);
    collection.put(`r${i}`, { embedding: Float32Array.from(vector), document: null, uri: null, metadata });
  }
  return collection;
}

/** Two near each other, one elsewhere, all about as far from the origin. */
const CLUSTERS = [
  [1, 0],
  [1, 0.01],
  [1, 0.02],
  [0, 1.1],
];

async function found(
  collection: TestCollection,
  changes: Partial<Search>,
): Promise<(string | number | undefined)[][]> {
  const search = { ...SEARCH, rank: knn() as Rank, ...changes };
  const request = { searches: [search], readLevel: "index_and_wal" } as const;
  const [records = []] = await recordsOf(executeSearch(collection.context, request));
  expect(records).toStrictEqual(oracleSearch(collection, search));
  return records.map(({ id, score }) => [id, score]);
}

async function ids(collection: TestCollection, mmr: Mmr, changes: Partial<Search> = {}): Promise<string[]> {
  return (await found(collection, { mmr, ...changes })).map(([id]) => String(id));
}

describe("maximal marginal relevance", () => {
  it.each(SPACES)("prefers what differs from what was chosen, in the space %s", async (space) => {
    const rank = knn({ query: { type: "dense", vector: Float32Array.of(1, 0) } });
    const collection = collectionOf(CLUSTERS, space);
    expect(await ids(collection, { lambda: 0.3, limit: 2 }, { rank })).toEqual(["r0", "r3"]);
    expect(await ids(collection, { lambda: 1, limit: 3 }, { rank })).toEqual(["r0", "r1", "r2"]);
  });

  it("keeps scores as the rank gave them", async () => {
    const plain = new Map((await found(collectionOf(CLUSTERS), {})).map(([id, score]) => [id, score]));
    const chosen = await found(collectionOf(CLUSTERS), { mmr: { lambda: 0, limit: 3 } });
    expect(chosen).toHaveLength(3);
    for (const [id, score] of chosen) expect(score).toBe(plain.get(id));
  });

  it("keeps the order of the ranking between equals", async () => {
    const same = collectionOf(Array.from({ length: 5 }, () => [1, 1]));
    expect(await ids(same, { lambda: 0, limit: 9 })).toEqual(["r0", "r1", "r2", "r3", "r4"]);
  });

  it("comes before groups and pages", async () => {
    const groupBy = {
      keys: ["parity"],
      aggregate: { operator: "$min_k" as const, keys: ["#score"], k: 1 },
    };
    const mmr = { lambda: 0.1, limit: 3 };
    const collection = collectionOf(CLUSTERS);
    const chosen = await ids(collection, mmr);
    expect(await ids(collection, mmr, { offset: 1, limit: 1 })).toEqual([chosen[1]]);
    expect(await ids(collection, mmr, { groupBy })).toHaveLength(2);
  });

  it("gives relevance to scores that are not finite", async () => {
    const rank: Rank = {
      type: "unary",
      operator: "$log",
      operand: { type: "binary", operator: "$sub", left: knn(), right: { type: "val", value: 1 } },
    };
    // log(-0.5) is not a number, log(0) is -Infinity.
    const collection = collectionOf([
      [0.5, 0.5],
      [1, 0],
      [3, 0],
      [0, 2],
    ]);
    expect(await ids(collection, { lambda: 0.9, limit: 4 }, { rank })).toHaveLength(4);
  });

  it("chooses among a thousand", async () => {
    const many = collectionOf(Array.from({ length: 1_010 }, (_, i) => [1, i]));
    const rank = knn({ limit: 2_000 });
    const chosen = await ids(many, { lambda: 0, limit: 40 }, { rank, limit: 5 });
    expect(chosen).not.toContain("r1005");
  });

  it("stops when it is cancelled", async () => {
    const collection = collectionOf(
      Array.from({ length: 1_000 }, (_, i) => Array.from({ length: 512 }, (_, j) => (i * j) % 17)),
    );
    const vector = new Float32Array(512);
    const rank = knn({ limit: 1_000, query: { type: "dense", vector } });
    const cancellation = new Cancellation();
    const searches = [{ ...SEARCH, rank, mmr: { lambda: 0.5, limit: 1_000 } }];
    const search = recordsOf(
      executeSearch(collection.context, { searches, readLevel: "index_and_wal" }, cancellation),
    );
    setImmediate(() => cancellation.abort(undefined));
    await expect(search).rejects.toMatchObject({ code: "cancelled" });
  });
});
