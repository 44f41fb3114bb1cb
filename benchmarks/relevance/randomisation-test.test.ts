import { describe, expect, it } from "vitest";
import { seededRandom } from "../measure/random.ts";
import { comparePaired } from "./randomisation-test.ts";

describe("comparePaired", () => {
  it("finds no difference between equal systems", () => {
    const scores = [0.1, 0.5, 1, 0];
    expect(comparePaired(scores, scores, seededRandom(1))).toEqual({ difference: 0, p: 1 });
  });

  it("comes to the exact share of sign assignments", () => {
    // Five queries, all better by 1: 2 of the 32 assignments are as extreme.
    const better = comparePaired([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], seededRandom(2));
    expect(better.difference).toBe(1);
    expect(better.p).toBeCloseTo(2 / 32, 2);
    // Differences 3, 1, -1: |sum| = 3 or more in 6 of the 8 assignments (5, 3, 3 and their opposites).
    const mixed = comparePaired([3, 1, 0], [0, 0, 1], seededRandom(3));
    expect(mixed.difference).toBe(1);
    expect(mixed.p).toBeCloseTo(6 / 8, 2);
  });

  it("is small where one system is better nearly everywhere", () => {
    const a = Array.from({ length: 40 }, (_, query) => (query < 3 ? 0 : 1));
    const b = Array.from({ length: 40 }, (_, query) => (query < 3 ? 1 : 0));
    expect(comparePaired(a, b, seededRandom(4)).p).toBeLessThan(0.001);
  });
});
