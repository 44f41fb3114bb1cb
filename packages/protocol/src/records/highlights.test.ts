import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeRanges, sourceBit, writeRanges } from "./highlights.ts";

const CONTAINS = sourceBit("$contains");
const KNN = sourceBit("$knn");

describe("mergeRanges", () => {
  it("unites ranges that overlap and leaves those apart that touch", () => {
    const ranges = [5, 9, KNN, 0, 2, CONTAINS, 2, 4, KNN, 8, 12, CONTAINS, 6, 7, KNN, 20, 20, KNN];
    expect([...mergeRanges(ranges, 64)]).toEqual([0, 2, CONTAINS, 2, 4, KNN, 5, 12, CONTAINS | KNN]);
  });

  it("keeps the first ones, each with all that overlaps it", () => {
    expect([...mergeRanges([7, 8, KNN, 0, 2, KNN, 1, 5, CONTAINS, 9, 10, KNN], 1)]).toEqual([
      0,
      5,
      CONTAINS | KNN,
    ]);
  });

  it("covers just the units that one of the ranges covers, in order and without overlap", () => {
    const range = fc.tuple(fc.nat(30), fc.nat(6), fc.integer({ min: 1, max: 7 }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), (list) => {
        const merged = mergeRanges(
          list.flatMap(([start, length, by]) => [start, start + length, by]),
          100,
        );
        const covered = new Map<number, number>();
        for (const [start, length, by] of list)
          for (let at = start; at < start + length; at++) covered.set(at, (covered.get(at) ?? 0) | by);
        const units = new Set<number>();
        for (let i = 0; i < merged.length; i += 3) {
          if (i > 0) expect(merged[i]).toBeGreaterThanOrEqual(merged[i - 2]!);
          let by = 0;
          for (let at = merged[i]!; at < merged[i + 1]!; at++) {
            units.add(at);
            by |= covered.get(at) ?? 0;
          }
          expect(merged[i + 2]).toBe(by);
        }
        expect(units).toEqual(new Set(covered.keys()));
      }),
    );
  });
});

it("writes what found a range by name", () => {
  expect(JSON.parse(writeRanges(Uint32Array.of(0, 5, CONTAINS | KNN, 7, 9, sourceBit("$regex"))))).toEqual([
    { start: 0, end: 5, by: ["$contains", "$knn"] },
    { start: 7, end: 9, by: ["$regex"] },
  ]);
  expect(writeRanges(new Uint32Array())).toBe("[]");
});
