import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { takeBatch } from "./take-batch.ts";

const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 200 });
const budgets = fc.integer({ min: 1, max: 1_024 });

function queueOf(values: readonly number[]): { length: number }[] {
  return values.map((length) => ({ length }));
}

function paddedTokens(values: readonly number[], taken: readonly number[]): number {
  return Math.max(...taken.map((position) => values[position] ?? 0)) * taken.length;
}

describe("takeBatch", () => {
  it("takes nothing from an empty queue", () => {
    expect(takeBatch([], 512)).toEqual([]);
  });

  it("packs the lengths nearest to the oldest text", () => {
    expect(takeBatch(queueOf([10, 200, 11, 9, 100, 10, 12]), 50)).toEqual([0, 2, 3, 5]);
  });

  it("prefers the older of two equally near texts", () => {
    expect(takeBatch(queueOf([10, 12, 8, 12]), 24)).toEqual([0, 1]);
  });

  it("always takes the oldest text, each position once and in order", () => {
    fc.assert(
      fc.property(lengths, budgets, (values, budget) => {
        const taken = takeBatch(queueOf(values), budget);
        expect(taken[0]).toBe(0);
        expect(taken).toEqual([...new Set(taken)].sort((a, b) => a - b));
        expect(taken.every((position) => position < values.length)).toBe(true);
      }),
    );
  });

  it("keeps the padded budget unless a single text exceeds it", () => {
    fc.assert(
      fc.property(lengths, budgets, (values, budget) => {
        const taken = takeBatch(queueOf(values), budget);
        expect(taken.length === 1 || paddedTokens(values, taken) <= budget).toBe(true);
      }),
    );
  });

  it("leaves no text behind that would still have fitted without padding it", () => {
    fc.assert(
      fc.property(lengths, budgets, (values, budget) => {
        const taken = takeBatch(queueOf(values), budget);
        const longest = Math.max(...taken.map((position) => values[position] ?? 0));
        const fitting = values.filter((length, position) => !taken.includes(position) && length <= longest);
        const roomLeft = longest * (taken.length + 1) <= budget;
        expect(roomLeft ? fitting : []).toEqual([]);
      }),
    );
  });

  it("empties every queue in at most as many batches as texts, and the first text waits for none", () => {
    fc.assert(
      fc.property(lengths, budgets, (values, budget) => {
        let queue = values.map((length, index) => ({ length, index }));
        const served: number[] = [];
        while (queue.length > 0) {
          const taken = new Set(takeBatch(queue, budget));
          expect(queue[0]?.index).toBe(Math.min(...queue.map((text) => text.index)));
          served.push(...queue.filter((_, position) => taken.has(position)).map((text) => text.index));
          queue = queue.filter((_, position) => !taken.has(position));
        }
        expect(served.sort((a, b) => a - b)).toEqual(values.map((_, index) => index));
      }),
    );
  });
});
