import { describe, expect, it } from "vitest";
import { normal, seededRandom } from "./random.ts";
import { mean, quantile } from "./statistics.ts";

describe("quantile", () => {
  it("is the nearest rank", () => {
    const values = [50, 15, 40, 20, 35];
    expect([0.05, 0.3, 0.4, 0.5, 1].map((share) => quantile(values, share))).toEqual([15, 20, 20, 35, 50]);
  });

  it("is not a number where there are no values", () => {
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe("seeded randomness", () => {
  it("repeats itself and fills its range", () => {
    const draw = (): number[] => {
      const random = seededRandom(7);
      return Array.from({ length: 10_000 }, () => random());
    };
    expect(draw()).toEqual(draw());
    expect(draw().every((value) => value >= 0 && value < 1)).toBe(true);
    expect(mean(draw())).toBeCloseTo(0.5, 2);
  });

  it("draws normal numbers of mean 0 and variance 1", () => {
    const random = seededRandom(11);
    const values = Array.from({ length: 20_000 }, () => normal(random));
    expect(mean(values)).toBeCloseTo(0, 1);
    expect(mean(values.map((value) => value * value))).toBeCloseTo(1, 1);
  });
});
