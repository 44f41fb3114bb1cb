import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { distance, dot, norm, normalize, prepare, preparedDistance, squaredL2 } from "./distance.ts";

const f = Math.fround;
const finite = fc.float({ noNaN: true, min: -(2 ** 50), max: 2 ** 50 });

/** An element that is there. */
function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

/** The definition, word for word. */
function sumByDefinition(terms: readonly number[]): number {
  const lane = Array.from({ length: 16 }, () => 0);
  terms.forEach((term, j) => (lane[j % 16] = f(at(lane, j % 16) + term)));
  const t = [0, 1, 2, 3].map((i) =>
    f(f(at(lane, i) + at(lane, i + 4)) + f(at(lane, i + 8) + at(lane, i + 12))),
  );
  return f(f(at(t, 0) + at(t, 1)) + f(at(t, 2) + at(t, 3)));
}

const pair = fc
  .integer({ min: 1, max: 200 })
  .chain((n) => fc.tuple(fc.float32Array(bounds(n)), fc.float32Array(bounds(n))));

function bounds(n: number) {
  return { minLength: n, maxLength: n, noNaN: true, min: -(2 ** 50), max: 2 ** 50 } as const;
}

describe("distance", () => {
  it("sums in 16 lanes and one tree", () => {
    fc.assert(
      fc.property(pair, fc.nat(20), ([a, b], offset) => {
        const shifted = new Float32Array(offset + b.length);
        shifted.set(b, offset);
        expect(dot(a, shifted, offset)).toBe(sumByDefinition([...a].map((x, j) => f(x * at(b, j)))));
        const squares = [...a].map((x, j) => f(f(x - at(b, j)) * f(x - at(b, j))));
        expect(squaredL2(a, shifted, offset)).toBe(sumByDefinition(squares));
      }),
    );
  });

  it("does not change when both vectors are padded with zeros", () => {
    fc.assert(
      fc.property(pair, fc.nat(40), ([a, b], more) => {
        const pad = (v: Float32Array) => Float32Array.from([...v, ...Array.from({ length: more }, () => 0)]);
        expect(dot(pad(a), pad(b))).toBe(dot(a, b));
        expect(squaredL2(pad(a), pad(b))).toBe(squaredL2(a, b));
      }),
    );
  });

  it("is symmetric, and l2 of a vector to itself is 0", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        for (const space of ["l2", "cosine", "ip"] as const) {
          expect(distance(space, a, b)).toBe(distance(space, b, a));
        }
        expect(distance("l2", a, a)).toBe(0);
      }),
    );
  });

  it("gives what each space promises", () => {
    const a = Float32Array.of(3, 4);
    const b = Float32Array.of(-4, 3);
    expect(distance("l2", a, b)).toBe(50);
    expect(distance("ip", a, b)).toBe(1);
    expect(distance("ip", a, a)).toBe(-24);
    expect(distance("cosine", a, b)).toBe(1);
    expect(distance("cosine", a, a)).toBeCloseTo(0, 6);
    expect(distance("cosine", a, Float32Array.of(-3, -4))).toBeCloseTo(2, 6);
  });

  it("calls the cosine distance of a zero vector 1", () => {
    expect(distance("cosine", new Float32Array(7), new Float32Array(7).fill(1))).toBe(1);
    expect(distance("cosine", new Float32Array(7), new Float32Array(7))).toBe(1);
  });

  it("knows the direction of very long and very short vectors", () => {
    for (const scale of [1e38, 1e-40]) {
      const a = Float32Array.of(scale, 2 * scale, -scale);
      const b = Float32Array.of(1, 2, -1);
      expect(distance("cosine", a, b)).toBeCloseTo(0, 3);
    }
  });

  it("normalizes to length 1", () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 50 }), (values) => {
        const vector = Float32Array.from(values);
        fc.pre(norm(vector) > 1e-30);
        expect(norm(normalize(vector))).toBeCloseTo(1, 5);
      }),
    );
  });

  it("prepares only what cosine needs", () => {
    const vector = Float32Array.of(1, 2, 3);
    expect(prepare("l2", vector)).toBe(vector);
    expect(prepare("ip", vector)).toBe(vector);
    const rows = Float32Array.from([9, ...prepare("cosine", vector)]);
    expect(preparedDistance("cosine", prepare("cosine", vector), rows, 1)).toBe(
      distance("cosine", vector, vector),
    );
  });
});
