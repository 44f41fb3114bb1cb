/** Recall where the lengths of the vectors differ by many powers of ten. */
import { describe, expect, it } from "vitest";
import { type DataSet, gaussOf, randomOf, sampler } from "../segment/dense/testing/data-sets.ts";
import { Indexed } from "./testing/indexed.ts";

const ROWS = 14_000;
const DIMENSION = 128;
const DECADES = 12;
const QUERIES = 100;

describe("recall in l2", () => {
  it.each<[dataSet: DataSet, least: number]>([
    ["clusters", -6],
    ["topics", -6],
    ["topics", 0],
    ["topics", -14],
  ])("is at least 0.95 on %s with lengths of twelve decades, from 10^%i on", (dataSet, least) => {
    const random = randomOf(3);
    const gauss = gaussOf(random);
    const source = sampler(dataSet, DIMENSION, 1);
    const data = Array.from({ length: ROWS }, () => {
      const length = 10 ** (least + DECADES * random());
      return source.next().vector.map((value) => value * length);
    });
    const indexed = new Indexed("l2", {
      denseRows: 1_024,
      sizes: { mutableRows: 4_096, sealedRows: 131_072 },
    });
    for (const [row, vector] of data.entries()) indexed.put(row, vector);
    const queries = Array.from({ length: QUERIES }, () => {
      const near = data[Math.floor(random() * ROWS)]!;
      const length = Math.hypot(...near);
      return near.map((value) => value + ((0.3 * length) / Math.sqrt(DIMENSION)) * gauss());
    });
    const recall = (keeps: (offset: number) => boolean): number => {
      const rows = indexed.rows(keeps);
      let found = 0;
      for (const query of queries) {
        const truth = indexed.bruteForce(query, 10, keeps);
        const near = new Set(indexed.search(query, 10, { rows }).map(([offset]) => offset));
        found += truth.filter(([offset]) => near.has(offset)).length;
      }
      return found / (10 * QUERIES);
    };
    const draws = data.map(() => random());
    const all = (): boolean => true;
    const some = (offset: number): boolean => draws[offset]! < 0.05;
    const expectRecall = (): void => {
      expect(recall(all)).toBeGreaterThanOrEqual(0.95);
      indexed.asked = 0;
      expect(recall(some)).toBeGreaterThanOrEqual(0.95);
      // Few more than are wanted are read: what bf16 leaves of a row tells short ones from shorter ones.
      expect(indexed.asked).toBeLessThan(20 * QUERIES);
    };
    while (indexed.rest() > 0) indexed.index.maintain(false);
    expectRecall();
    indexed.maintain(true);
    expectRecall();
    indexed.index.close();
  });
});
