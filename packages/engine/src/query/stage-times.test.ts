import type { Rank } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { executeSearch } from "./execute.ts";
import { CallMeter } from "./stage-times.ts";
import { recordsOf } from "./testing/records-of.ts";
import { SEARCH, knn } from "./testing/searches.ts";
import { TestCollection } from "./testing/test-collection.ts";

const BOTH: Rank = { type: "nary", operator: "$sum", operands: [knn(), knn()] };

/** What a caller hears of a search, in order. */
async function heard(rank: Rank): Promise<unknown[]> {
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
  const embedding = Float32Array.of(1, 2);
  collection.put("a", { embedding, document: null, uri: null, metadata: null });
  const said: unknown[] = [];
  const options = {
    onNear: () => said.push("near"),
    onReport: ({ stages }: { stages: object }) => said.push(Object.keys(stages)),
  };
  const found = await new CallMeter().measure(options, (times) =>
    recordsOf(
      executeSearch(
        { ...collection.context, times },
        { searches: [{ ...SEARCH, rank }], readLevel: "index_and_wal" },
      ),
    ),
  );
  expect(found).toMatchObject([[{ id: "a" }]]);
  return said;
}

describe("CallMeter", () => {
  it("tells where the time went, and before that when several leaves were found", async () => {
    const stages = ["filter", "dense", "rank", "select"];
    expect(await heard(knn())).toStrictEqual([stages]);
    expect(await heard(BOTH)).toStrictEqual(["near", stages]);
  });
});
