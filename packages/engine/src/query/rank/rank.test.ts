import type { Rank } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { executeSearch, selectOffsets } from "../execute.ts";
import { recordsOf } from "../testing/records-of.ts";
import { SEARCH, knn } from "../testing/searches.ts";
import { TestCollection } from "../testing/test-collection.ts";

/** More than are ranked in one block, and more than are sorted at once. */
const RECORDS = 20_000;

function numbered(): TestCollection {
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
  const content = { document: null, uri: null, metadata: null };
  for (let i = 0; i < RECORDS; i++)
    collection.put(`r${i}`, { ...content, embedding: Float32Array.of(i % 100, 0) });
  // Their places in insertion order stay, their rows do not.
  for (let i = 0; i < RECORDS; i += 7)
    collection.put(`r${i}`, { ...content, embedding: Float32Array.of(i % 100, 0) });
  return collection;
}

describe("ranking of many records", () => {
  it("adds up what two leaves found, ties in insertion order", async () => {
    const { context } = numbered();
    const to99 = knn({ limit: RECORDS, query: { type: "dense", vector: Float32Array.of(99, 0) } });
    const rank: Rank = { type: "nary", operator: "$sum", operands: [knn({ limit: RECORDS }), to99] };
    const request = { searches: [{ ...SEARCH, rank, limit: 10_000 }], readLevel: "index_and_wal" } as const;
    const [found] = await recordsOf(executeSearch(context, request));
    const score = (i: number): number => (i % 100) ** 2 + (99 - (i % 100)) ** 2;
    const order = Array.from({ length: RECORDS }, (_, i) => i).sort((a, b) => score(a) - score(b) || a - b);
    expect(found!.map(({ id }) => id)).toEqual(order.slice(0, 10_000).map((i) => `r${i}`));
    expect(found!.map((record) => record.score)).toEqual(order.slice(0, 10_000).map(score));
  });

  it("lists them in insertion order whatever the order of their rows", async () => {
    const offsets = await selectOffsets(numbered().context, { ids: null, where: null }, null);
    expect(offsets).toEqual(Array.from({ length: RECORDS }, (_, i) => i));
  });
});
