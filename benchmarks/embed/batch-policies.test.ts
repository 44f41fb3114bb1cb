import { describe, expect, it } from "vitest";
import { fifoEight } from "./batch-policies.ts";
import { equalWorkload, logNormalWorkload } from "./workload.ts";

describe("fifoEight", () => {
  it("takes the eight oldest, or all of fewer", () => {
    const queue = Array.from({ length: 11 }, (_, index) => ({ length: index + 1 }));
    expect(fifoEight(queue, 1)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(fifoEight(queue.slice(0, 3), 1)).toEqual([0, 1, 2]);
  });
});

describe("workloads", () => {
  it("repeat themselves", () => {
    expect(logNormalWorkload(100, 5)).toEqual(logNormalWorkload(100, 5));
  });

  it("hold texts of the lengths they state", () => {
    const words = (text: string): number => text.split(" ").length;
    for (const { lengths, texts } of [logNormalWorkload(500, 1), equalWorkload(50, 1)]) {
      expect(texts.map((text) => words(text) + 2)).toEqual(lengths);
      expect(Math.min(...lengths)).toBeGreaterThanOrEqual(4);
      expect(Math.max(...lengths)).toBeLessThanOrEqual(256);
    }
  });
});
