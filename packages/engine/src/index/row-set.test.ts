import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowSet, SEGMENT_ROWS, countBits, listBits } from "./row-set.ts";

describe("RowSet", () => {
  it("holds exactly the positions that were added", () => {
    const positions = fc.uniqueArray(fc.nat(3 * SEGMENT_ROWS - 1));
    fc.assert(
      fc.property(positions, (added) => {
        const rows = RowSet.empty(3);
        for (const position of added) rows.add(position);
        const sorted = [...added].sort((a, b) => a - b);
        expect(listBits(rows.words)).toStrictEqual(sorted);
        expect(rows.count()).toBe(added.length);
        expect(sorted.every((position) => rows.has(position))).toBe(true);
      }),
    );
  });

  it("gives each segment its own stretch", () => {
    const rows = RowSet.empty(2);
    rows.add(SEGMENT_ROWS - 1);
    rows.add(SEGMENT_ROWS);
    expect(listBits(rows.segment(0))).toStrictEqual([SEGMENT_ROWS - 1]);
    expect(listBits(rows.segment(1))).toStrictEqual([0]);
  });

  it("counts full words", () => {
    expect(countBits(Uint32Array.of(0xffff_ffff, 0, 0x8000_0001))).toBe(34);
  });
});
