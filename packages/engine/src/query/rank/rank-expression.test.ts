import type { Knn, NaryOperator, Rank } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

const F32_MAX = 3.4028234663852886e38;

function leaf(fallback: number | null = null): Knn {
  return {
    type: "knn",
    query: { type: "text", text: "" },
    key: "#embedding",
    limit: 1,
    default: fallback,
    returnRank: false,
    exact: false,
    path: "",
  };
}

function val(value: number): Rank {
  return { type: "val", value: Math.fround(value) };
}

function nary(operator: NaryOperator, ...operands: Rank[]): Rank {
  return { type: "nary", operator, operands };
}

/** `undefined`: the leaf did not find the record. */
function foundBy(leaves: (number | undefined)[][]): FoundByLeaf[] {
  return leaves.map((values) => ({
    values: Float32Array.from(values, (value) => value ?? 0),
    present: Uint8Array.from(values, (value) => Number(value !== undefined)),
  }));
}

function support(rank: Rank, ...leaves: (number | undefined)[][]): (number | undefined)[] {
  const { values, present } = evaluateRank(rank, foundBy(leaves));
  return [...values].map((value, i) => (present[i] === 1 ? value : undefined));
}

describe("supports and defaults", () => {
  const left = [1, 2, undefined, undefined];
  const right = [10, undefined, 20, undefined];

  it("intersects where neither side has a default", () => {
    expect(support(nary("$sum", leaf(), leaf()), left, right)).toStrictEqual([
      11,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("keeps the side without a default where the other has one", () => {
    expect(support(nary("$sum", leaf(), leaf(100)), left, right)).toStrictEqual([
      11,
      102,
      undefined,
      undefined,
    ]);
    expect(support(nary("$sum", leaf(100), leaf()), left, right)).toStrictEqual([
      11,
      undefined,
      120,
      undefined,
    ]);
  });

  it("unites where both have one, and has a default of its own", () => {
    const sum = nary("$sum", leaf(100), leaf(1_000));
    expect(support(sum, left, right)).toStrictEqual([11, 1_002, 120, undefined]);
    expect(evaluateRank(sum, foundBy([left, right])).default).toBe(1_100);
  });

  it("gives a constant no support", () => {
    expect(support(nary("$sum", val(1), val(2)), left)).toStrictEqual([]);
  });

  it("takes leaves in depth-first order", () => {
    const rank: Rank = {
      type: "binary",
      operator: "$sub",
      left: nary("$sum", leaf(), { type: "unary", operator: "$abs", operand: leaf() }),
      right: leaf(),
    };
    expect(support(rank, [1], [-20], [300])).toStrictEqual([-279]);
  });
});

describe("operators in f32", () => {
  const one = (rank: Rank, ...values: number[]): number | undefined =>
    support(rank, ...values.map((value) => [value]))[0];
  const unary = (operator: "$abs" | "$exp" | "$log"): Rank => ({ type: "unary", operator, operand: leaf() });
  const divide: Rank = { type: "binary", operator: "$div", left: leaf(), right: leaf() };

  it("rounds every step", () => {
    expect(one(nary("$sum", leaf(), leaf(), leaf()), 2 ** 24, 1, 1)).toBe(2 ** 24);
    expect(one(nary("$mul", leaf(), leaf()), 0.1, 0.1)).toBe(Math.fround(Math.fround(0.1) ** 2));
    expect(one(divide, 1, 3)).toBe(Math.fround(1 / 3));
    expect(one(unary("$exp"), 1)).toBe(Math.fround(Math.E));
    expect(one(unary("$log"), 10)).toBe(Math.fround(Math.LN10));
  });

  it("overflows to infinity and goes on", () => {
    expect(one(nary("$mul", leaf(), leaf()), F32_MAX, 2)).toBe(Infinity);
    expect(one(divide, 1, 0)).toBe(Infinity);
    expect(one(divide, 1, -0)).toBe(-Infinity);
    expect(one(divide, 0, 0)).toBe(Number.NaN);
    expect(one(unary("$log"), 0)).toBe(-Infinity);
    expect(one(unary("$log"), -1)).toBe(Number.NaN);
  });

  it("starts $max and $min at the ends of the finite numbers", () => {
    expect(one(nary("$max", leaf(), leaf()), -Infinity, -Infinity)).toBe(-F32_MAX);
    expect(one(nary("$min", leaf(), leaf()), Infinity, Infinity)).toBe(F32_MAX);
  });

  it("passes over NaN in $max and $min", () => {
    expect(one(nary("$max", leaf(), leaf()), Number.NaN, 3)).toBe(3);
    expect(one(nary("$min", leaf(), leaf()), 3, Number.NaN)).toBe(3);
    expect(one(nary("$max", leaf(), leaf()), Number.NaN, Number.NaN)).toBe(-F32_MAX);
  });
});
