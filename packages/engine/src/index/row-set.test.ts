import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DocBases } from "./doc-bases.ts";
import { countBits, listBits } from "../segment/bits.ts";
import { RowSet } from "./row-set.ts";

describe("RowSet", () => {
  it("holds exactly the positions that were added", () => {
    const positions = fc.uniqueArray(fc.nat(4 * 4_096 - 1));
    fc.assert(
      fc.property(positions, (added) => {
        const rows = new RowSet(new DocBases([100, 10_000]));
        for (const position of added) rows.add(position);
        const sorted = [...added].sort((a, b) => a - b);
        expect(listBits(rows.words)).toStrictEqual(sorted);
        expect(rows.count()).toBe(added.length);
        expect(sorted.every((position) => rows.has(position))).toBe(true);
      }),
    );
  });

  it("gives each segment its own words", () => {
    const rows = new RowSet(new DocBases([4_096, 32]));
    rows.add(4_095);
    rows.add(4_096);
    expect(listBits(rows.segment(0))).toStrictEqual([4_095]);
    expect(listBits(rows.segment(1))).toStrictEqual([0]);
  });

  it("counts full words", () => {
    expect(countBits(Uint32Array.of(0xffff_ffff, 0, 0x8000_0001))).toBe(34);
  });
});

describe("DocBases", () => {
  it("finds the segment of every position, whatever the sizes", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 8 });
    fc.assert(
      fc.property(sizes, (capacities) => {
        const bases = new DocBases(capacities);
        let end = 0;
        for (const [segment, capacity] of capacities.entries()) {
          expect(bases.of(segment)).toBe(end);
          end = bases.of(segment + 1);
          expect(end - bases.of(segment)).toBeGreaterThanOrEqual(capacity);
          for (const position of [bases.of(segment), bases.of(segment) + capacity - 1, end - 1])
            expect(bases.segmentOf(position)).toBe(segment);
        }
        expect(bases.positions).toBe(end);
      }),
    );
  });
});
