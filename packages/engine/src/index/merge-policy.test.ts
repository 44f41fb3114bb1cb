import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SegmentMeta, chooseMerge, isDue } from "./merge-policy.ts";

const MUTABLE_ROWS = 64;
const SEGMENT_ROWS = 1_024;

interface Segment extends SegmentMeta {
  /** How often its rows were written, the most of them. */
  readonly writes: number;
}

function mutable(live = MUTABLE_ROWS): Segment {
  return { sealed: false, live, rows: MUTABLE_ROWS, kept: "whole", writes: 0 };
}

function sealed(live: number, changes: Partial<Segment> = {}): Segment {
  return { sealed: true, live, rows: live, kept: "whole", writes: 1, ...changes };
}

/** Merges until nothing is left to do, as the indexer does. */
function settle(segments: readonly Segment[], atRest = false): readonly Segment[] {
  for (;;) {
    const sources = chooseMerge(segments, { segmentRows: SEGMENT_ROWS, atRest });
    if (sources.length === 0) return segments;
    const live = sources.reduce((sum, source) => sum + source.live, 0);
    const writes = 1 + Math.max(...sources.map((source) => source.writes));
    const left = segments.filter((segment) => !sources.includes(segment));
    const isSealed = (segment: Segment): boolean => segment.sealed;
    segments = [
      ...left.filter(isSealed),
      sealed(live, { writes }),
      ...left.filter((segment) => !segment.sealed),
    ];
  }
}

describe("chooseMerge", () => {
  it("takes full mutable segments with the sealed ones that are not larger", () => {
    const [large, small, ...full] = [sealed(512), sealed(64), mutable(), mutable()];
    const request = { segmentRows: SEGMENT_ROWS, atRest: false };
    expect(chooseMerge([large, small, ...full], request)).toStrictEqual([full[1], full[0], small]);
    expect(chooseMerge([large, small], request)).toStrictEqual([]);
  });

  it("takes larger ones at rest, where they keep as much of their vectors", () => {
    const request = { segmentRows: SEGMENT_ROWS, atRest: true };
    const [large, small] = [sealed(512), sealed(64)];
    expect(chooseMerge([large, small], request)).toStrictEqual([small, large]);
    expect(chooseMerge([{ ...large, kept: "bf16" }, small], request)).toStrictEqual([]);
    expect(chooseMerge([sealed(1_000), small], request)).toStrictEqual([]);
  });

  it("leaves segments alone at rest that are many times as large as what is new", () => {
    const request = { segmentRows: SEGMENT_ROWS, atRest: true };
    const [large, small, full] = [sealed(513), sealed(48), mutable(16)];
    expect(chooseMerge([large, small, full], request)).toStrictEqual([full, small]);
    expect(chooseMerge([large, sealed(49), full], request)).toHaveLength(3);
  });

  it("writes anew what most rows have left", () => {
    const hollow = sealed(100, { rows: 201 });
    const request = { segmentRows: SEGMENT_ROWS, atRest: false };
    expect(chooseMerge([hollow, sealed(90, { rows: 170 })], request)).toStrictEqual([hollow]);
    expect(chooseMerge([sealed(101, { rows: 201 })], request)).toStrictEqual([]);
  });

  it("writes anew at rest what a fifth of the rows have left", () => {
    const request = { segmentRows: SEGMENT_ROWS, atRest: true };
    const hollow = sealed(159, { rows: 200 });
    expect(chooseMerge([hollow], request)).toStrictEqual([hollow]);
    expect(chooseMerge([sealed(160, { rows: 200 })], request)).toStrictEqual([]);
  });

  it("writes a row about as often as its segment doubles, and leaves few segments", () => {
    let segments: readonly Segment[] = [];
    const most = Math.log2(SEGMENT_ROWS / MUTABLE_ROWS) + 1;
    for (let i = 1; i <= 200; i++) {
      segments = settle([...segments, mutable()]);
      const full = Math.floor((i * MUTABLE_ROWS) / (SEGMENT_ROWS / 2));
      expect(segments.length).toBeLessThanOrEqual(full + most);
      for (const { writes } of segments) expect(writes).toBeLessThanOrEqual(most);
    }
  });

  it("comes to an end, loses no row and makes no segment too large, whatever there is", () => {
    const one = fc.record({ sealed: fc.boolean(), live: fc.integer({ min: 1, max: MUTABLE_ROWS }) });
    fc.assert(
      fc.property(fc.array(one), fc.boolean(), (list, atRest) => {
        const segments = [
          ...list.filter((segment) => segment.sealed).map(({ live }) => sealed(live)),
          ...list.filter((segment) => !segment.sealed).map(({ live }) => mutable(live)),
        ];
        const rows = (of: readonly Segment[]): number => of.reduce((sum, { live }) => sum + live, 0);
        const left = settle(segments, atRest);
        expect(rows(left)).toBe(rows(segments));
        for (const segment of left) {
          expect(segment.sealed).toBe(true);
          expect(segment.live).toBeLessThanOrEqual(SEGMENT_ROWS);
        }
      }),
    );
  });
});

describe("isDue", () => {
  const due = (live: number, span: number, atRest: boolean): boolean =>
    isDue({ live, span }, { mutableRows: MUTABLE_ROWS, atRest });

  it("seals at rest what an opening would replay for long: many rows, or a few and much that came after", () => {
    expect(due(15, 15, true)).toBe(false);
    expect(due(16, 16, true)).toBe(true);
    expect(due(1, 16, true)).toBe(true);
    expect(due(0, 1_000, true)).toBe(false);
  });

  it("lets rows be filled up while there are writes, unless one is far behind", () => {
    expect(due(63, 255, false)).toBe(false);
    expect(due(1, 256, false)).toBe(true);
  });
});
