import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wholeFloats } from "../../kernels/plain/rows.ts";
import { floatsToHalves, halvesToFloats, reorderForHalves } from "./half-float.ts";
import { ListOrder } from "./list-order.ts";
import { Nearest } from "./nearest.ts";

/** An element that is there. */
function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

describe("nearest", () => {
  it("keeps the rows that k others do not surely beat, the best bound first", () => {
    const scores = fc.array(fc.record({ score: fc.integer({ min: -50, max: 50 }), slack: fc.nat(10) }), {
      maxLength: 3_000,
    });
    fc.assert(
      fc.property(scores, fc.integer({ min: 1, max: 40 }), (offered, k) => {
        const nearest = new Nearest(k);
        for (const [row, { score, slack }] of offered.entries()) nearest.offer(row, score, slack);
        const threshold =
          offered.map(({ score, slack }) => score - slack).sort((a, b) => b - a)[k - 1] ?? -Infinity;
        const sorted = offered
          .map(({ score, slack }, row) => ({ row, bound: score + slack }))
          .sort((a, b) => b.bound - a.bound || a.row - b.row);
        expect(nearest.threshold).toBe(threshold);
        expect(nearest.ranked()).toEqual(sorted.filter(({ bound }) => bound >= threshold));
      }),
    );
  });
});

describe("list order", () => {
  it("takes every list once, by descending bound", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 200 }), (bounds) => {
        const order = new ListOrder(bounds.length);
        order.bounds.set(bounds);
        order.restart();
        const taken: number[] = [];
        for (let list = order.take(); list >= 0; list = order.take()) taken.push(list);
        expect(taken.toSorted((a, b) => a - b)).toEqual([...bounds.keys()]);
        expect(taken.map((list) => bounds[list])).toEqual(bounds.toSorted((a, b) => b - a));
      }),
    );
  });

  it("takes those from a least bound on, and no others", () => {
    const bounds = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(bounds, fc.integer({ min: -22, max: 22 }), (bounds, least) => {
        const order = new ListOrder(bounds.length);
        order.bounds.set(bounds);
        order.restart(least);
        const taken: number[] = [];
        for (let list = order.take(); list >= 0; list = order.take()) taken.push(at(bounds, list));
        expect(taken).toEqual(bounds.filter((bound) => bound >= least).sort((a, b) => b - a));
      }),
    );
  });
});

describe("bf16", () => {
  it("rounds to 8 significant bits, says how much it lost, and gives it all back with the lower halves", () => {
    const numbers = fc.float32Array({
      noNaN: true,
      min: -(2 ** 60),
      max: 2 ** 60,
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(numbers, fc.nat(5), (floats, first) => {
        const halves = new Uint16Array(first + floats.length);
        const lows = new Uint16Array(halves.length);
        const back = new Float32Array(floats.length);
        const lost = floatsToHalves(floats, { halves, lows, at: first });
        wholeFloats({ halves, lows, at: first }, back);
        expect(new Uint32Array(back.buffer)).toEqual(new Uint32Array(floats.slice().buffer));
        halvesToFloats(halves, first, back);
        const differences = floats.map((x, j) => x - at(back, j));
        for (const [j, x] of floats.entries()) {
          expect(Math.abs(at(differences, j))).toBeLessThanOrEqual(Math.max(Math.abs(x) / 256, 2 ** -133));
        }
        const length = Math.sqrt(differences.reduce((sum, x) => sum + x * x, 0));
        expect(Math.abs(lost - length)).toBeLessThanOrEqual(length / 1_000 + 1e-30);
      }),
    );
  });

  it("keeps what has 8 significant bits", () => {
    const floats = Float32Array.of(0, 1, -1.5, 255, 2 ** -40);
    const halves = new Uint16Array(5);
    expect(floatsToHalves(floats, { halves, lows: new Uint16Array(0), at: 0 })).toBe(0);
  });

  it("reorders a query by eights, even elements first", () => {
    const target = new Float32Array(8);
    reorderForHalves(
      Float32Array.from({ length: 8 }, (_, i) => i),
      target,
    );
    expect([...target]).toEqual([0, 2, 4, 6, 1, 3, 5, 7]);
  });
});
