import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepLargest } from "./keep-largest.ts";

describe("keepLargest", () => {
  it("leaves a vector within the bound alone", () => {
    const vector = { indices: Uint32Array.of(1, 5), values: Float32Array.of(2, 1) };
    expect(keepLargest(vector, 2)).toBe(vector);
  });

  it("keeps the largest values with their tokens, in index order, and of equal ones the lower index", () => {
    const vector = {
      indices: Uint32Array.of(1, 3, 5, 7, 9),
      values: Float32Array.of(1, 4, 1, 2, 1),
      tokens: ["a", "b", "c", "d", "e"],
    };
    expect(keepLargest(vector, 3)).toEqual({
      indices: Uint32Array.of(1, 3, 7),
      values: Float32Array.of(1, 4, 2),
      tokens: ["a", "b", "d"],
    });
  });

  it("drops no value above one that stays", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 20 })),
        fc.integer({ min: 0, max: 30 }),
        (values, count) => {
          const vector = {
            indices: Uint32Array.from(values, (_, index) => index * 2),
            values: Float32Array.from(values),
          };
          const kept = keepLargest(vector, count);
          expect([...kept.indices]).toEqual([...kept.indices].sort((a, b) => a - b));
          expect([...kept.values].sort((a, b) => b - a)).toEqual(
            values.sort((a, b) => b - a).slice(0, count),
          );
        },
      ),
    );
  });
});
