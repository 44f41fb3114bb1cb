import { describe, expect, it } from "vitest";
import { ndcg } from "./ndcg.ts";

const GRADES = new Map([
  ["a", 3],
  ["b", 2],
  ["c", 1],
  ["d", 0],
]);

describe("ndcg", () => {
  it("is 1 for the best order and for any order of equal grades", () => {
    expect(ndcg(["a", "b", "c", "d"], GRADES, 10)).toBe(1);
    const equal = new Map([
      ["a", 1],
      ["b", 1],
    ]);
    expect(ndcg(["b", "a", "x"], equal, 10)).toBe(1);
  });

  it("is the discounted gain over the best one", () => {
    // Gains 0, 3, 0, 1 at positions 1 to 4: 3 / 1.5849625 + 1 / 2.3219281 = 2.3234659; best 3 + 2 / 1.5849625 + 1 / 2 =
    // 4.7618595.
    expect(ndcg(["x", "a", "d", "c"], GRADES, 10)).toBeCloseTo(2.3234659 / 4.7618595, 6);
    // One relevant document at position 3: 1 / log2(4).
    expect(ndcg(["x", "y", "z"], new Map([["z", 1]]), 10)).toBe(0.5);
  });

  it("looks no deeper than its depth, in the ranking and in the best order", () => {
    expect(ndcg(["x", "y", "a"], GRADES, 2)).toBe(0);
    // 2 / 1 at depth 1 against 3 / 1.
    expect(ndcg(["b", "a"], GRADES, 1)).toBeCloseTo(2 / 3, 12);
  });

  it("is 0 where nothing is found or nothing is relevant", () => {
    expect(ndcg([], GRADES, 10)).toBe(0);
    expect(ndcg(["d"], new Map([["d", 0]]), 10)).toBe(0);
    expect(ndcg(["d"], new Map([["d", -1]]), 10)).toBe(0);
  });
});
