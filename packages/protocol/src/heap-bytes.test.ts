import { describe, expect, it } from "vitest";
import { heapBytes } from "./heap-bytes.ts";

describe("heapBytes", () => {
  it("counts what a value holds beside its text", () => {
    expect(heapBytes("")).toBeGreaterThan(0);
    expect(heapBytes("x".repeat(1_000))).toBeGreaterThan(1_000);
    expect(heapBytes(new Float64Array(1_000))).toBeGreaterThan(8_000);
    const members = Array.from({ length: 1_000 }, () => "");
    expect(heapBytes(members)).toBeGreaterThan(8_000);
    expect(heapBytes(members.map((_, i) => [i]))).toBeGreaterThan(heapBytes(members));
    const map = new Map(members.map((_, i) => [`k${i}`, 1n]));
    expect(heapBytes(map)).toBeGreaterThan(40_000);
    expect(heapBytes({ map, more: "text" })).toBeGreaterThan(heapBytes(map));
    expect([1, null, undefined, true].map(heapBytes)).toEqual([0, 0, 0, 0]);
  });
});
