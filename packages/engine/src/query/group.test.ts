import type { GroupBy, MetadataValue } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { groupRecords } from "./group.ts";
import { Pace } from "./pace.ts";
import { RecordView } from "./record-view.ts";
import { TestCollection } from "./testing/test-collection.ts";

const PLAN = { space: "l2", embeddingFunction: null, sparse: [] } as const;

/** Records `0`, `1`, ... in the order of their scores: 0, 1, ... */
async function group(
  values: Record<string, MetadataValue>[],
  groupBy: GroupBy,
  { scores, wanted = Infinity }: { scores?: number[]; wanted?: number } = {},
): Promise<string[]> {
  const collection = new TestCollection(PLAN);
  for (const [i, metadata] of values.entries()) {
    collection.put(`${i}`, {
      embedding: Float32Array.of(1),
      document: null,
      uri: null,
      metadata: new Map(Object.entries(metadata)),
    });
  }
  const ranked = {
    positions: Int32Array.from(values.keys()),
    scores: Float32Array.from(scores ?? values.keys()),
  };
  const snapshot = collection.index.snapshot();
  const view = new RecordView(snapshot, collection, null);
  const { positions } = await groupRecords(ranked, groupBy, wanted, { view, pace: new Pace(undefined) });
  return Array.from(positions, (position) => snapshot.id(position));
}

function groupBy(operator: "$min_k" | "$max_k", keys: string[], k: number, by: string[] = ["c"]): GroupBy {
  return { keys: by, aggregate: { operator, keys, k } };
}

describe("groupRecords", () => {
  it("keeps the best of each group and orders them by score", async () => {
    const values = [{ c: "x" }, { c: "x" }, { c: "y" }, { c: "x" }, { c: "y" }];
    expect(await group(values, groupBy("$min_k", ["#score"], 1))).toStrictEqual(["0", "2"]);
    expect(await group(values, groupBy("$max_k", ["#score"], 2))).toStrictEqual(["1", "2", "3", "4"]);
  });

  it("keeps an int, a float, a string and a missing value apart", async () => {
    const values = [
      { c: 1n },
      { c: 1 },
      { c: "1" },
      {},
      { c: 1n },
      {},
      { c: Int8Array.of(1) },
      { c: Int8Array.of(1, 1) },
    ];
    expect(await group(values, groupBy("$min_k", ["#score"], 1))).toStrictEqual([
      "0",
      "1",
      "2",
      "3",
      "6",
      "7",
    ]);
  });

  it("takes a missing value as the smallest", async () => {
    const values = [{ c: 0n, y: 5n }, { c: 0n }, { c: 0n, y: 9n }];
    expect(await group(values, groupBy("$min_k", ["y"], 1))).toStrictEqual(["1"]);
    expect(await group(values, groupBy("$max_k", ["y"], 2))).toStrictEqual(["0", "2"]);
  });

  it("compares by one aggregate key after the other, ties by rank", async () => {
    const values = [
      { c: 0n, y: 1n, z: "b" },
      { c: 0n, y: 1n, z: "a" },
      { c: 0n, y: 0n, z: "z" },
      { c: 0n, y: 1n, z: "a" },
    ];
    expect(await group(values, groupBy("$min_k", ["y", "z"], 2))).toStrictEqual(["1", "2"]);
    expect(await group(values, groupBy("$max_k", ["y"], 1))).toStrictEqual(["0"]);
  });

  it("groups by several keys without mixing them up", async () => {
    const values = [
      { a: "1", c: "23" },
      { a: "12", c: "3" },
      { a: "1", c: "23" },
    ];
    expect(await group(values, groupBy("$min_k", ["#score"], 1, ["a", "c"]))).toStrictEqual(["0", "1"]);
  });

  it("breaks ties of the score by insertion order", async () => {
    const values = [{ c: "b" }, { c: "a" }, { c: "b" }, { c: "a" }];
    const kept = await group(values, groupBy("$min_k", ["#score"], 1), { scores: [1, 1, 1, 1] });
    expect(kept).toStrictEqual(["0", "1"]);
  });

  it("looks no further than it has to for the best by score", async () => {
    const values = [{ c: "a" }, { c: "a" }, { c: "a" }, { c: "b" }, { c: "b" }, { c: "a" }];
    const kept = await group(values, groupBy("$min_k", ["#score"], 2), { wanted: 3 });
    expect(kept).toStrictEqual(["0", "1", "3"]);
  });
});
