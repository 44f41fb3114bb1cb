import { describe, expect, it } from "vitest";
import { slopes } from "./growth.ts";

describe("slopes", () => {
  it("leaves the first quarter out", () => {
    const samples = Array.from({ length: 101 }, (_, i) => ({
      at: i * 36_000,
      mebibytes: new Map([
        ["rises and stays", Math.min(i, 25) * 10],
        ["rises", 100 + i],
      ]),
    }));
    const [stays, rises] = slopes(samples);
    expect(stays).toMatchObject({ name: "rises and stays", first: 0, last: 250 });
    expect(stays!.perHour).toBeCloseTo(0);
    expect(rises!.quarter).toBeCloseTo(125);
    expect(rises!.perHour).toBeCloseTo(100);
  });

  it("has no slope where there is one sample", () => {
    expect(slopes([{ at: 5, mebibytes: new Map([["a", 3]]) }])).toEqual([
      { name: "a", first: 3, quarter: 3, perHour: 0, last: 3 },
    ]);
  });
});
