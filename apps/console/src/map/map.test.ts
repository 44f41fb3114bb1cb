/** Where the points of a map lie, and what a loop and a pointer find. */
import * as fc from "fast-check";
import { PCA } from "ml-pca";
import { describe, expect, it } from "vitest";
import { readBase64Floats } from "./base64-floats.ts";
import { drawPoints } from "./draw-points.ts";
import { insideOf, nearestTo, nextFrom, placed } from "./points.ts";
import { principalAxes } from "./principal-axes.ts";

describe("the two principal axes", () => {
  it("are those of another implementation, up to their directions", () => {
    const DIMENSION = 6;
    const rows = fc.array(
      fc.tuple(...Array.from({ length: DIMENSION }, () => fc.integer({ min: -9, max: 9 }))),
      {
        minLength: 20,
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(rows, (made) => {
        // Spread apart, as axes of equal spread may be any.
        const spread = made.map((row) => row.map((value, i) => value * [40, 10, 1, 1, 1, 1][i]!));
        const pca = new PCA(spread);
        const [first = 0, second = 0, third = 0] = pca.getStandardDeviations();
        fc.pre(first > 1.5 * second && second > 1.5 * third && third > 0);
        const expected = pca.predict(spread, { nComponents: 2 });
        const places = principalAxes(Float32Array.from(spread.flat()), DIMENSION);
        for (const axis of [0, 1]) {
          const largest = spread.reduce((most, _, i) => Math.max(most, Math.abs(expected.get(i, axis))), 0);
          const at = spread.findIndex((_, i) => Math.abs(expected.get(i, axis)) === largest);
          const sign = Math.sign(expected.get(at, axis)) * Math.sign(places[2 * at + axis]!);
          for (const i of spread.keys())
            expect(Math.abs(sign * places[2 * i + axis]! - expected.get(i, axis))).toBeLessThan(
              0.01 * largest,
            );
        }
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ["one vector", [1, 2, 3], 3],
    ["equal vectors", [1, 2, 1, 2, 1, 2], 2],
    ["vectors of one dimension", [1, 2, 4], 1],
  ])("are numbers for %s", (_name, values, dimension) => {
    const places = principalAxes(Float32Array.from(values), dimension);
    expect(places).toHaveLength((2 * values.length) / dimension);
    expect(places.every(Number.isFinite)).toBe(true);
  });
});

describe("a vector in base64", () => {
  it("is read bit by bit", () => {
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 50 }), (vector) => {
        const text = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
        const into = new Float32Array(vector.length + 1);
        readBase64Floats(text, into, 1);
        expect(into.subarray(1)).toEqual(vector);
      }),
    );
    expect(() => readBase64Floats("AAAAAAAAAAA=", new Float32Array(1), 0)).toThrow(RangeError);
  });
});

describe("points", () => {
  const points = placed(Float32Array.of(0, 0, 1, 1, 0.5, 0.5), 100, 100);

  it("fill the plane, are found nearby and inside of a loop", () => {
    expect([...points]).toEqual([20, 20, 80, 80, 50, 50]);
    expect(nearestTo(points, { x: 52, y: 49 })).toBe(2);
    expect(nearestTo(points, { x: 65, y: 65 })).toBeNull();
    const loop = [
      { x: 10, y: 10 },
      { x: 60, y: 10 },
      { x: 60, y: 60 },
      { x: 10, y: 60 },
    ];
    expect(insideOf(points, loop)).toEqual([0, 2]);
    expect(insideOf(points, loop.slice(0, 2))).toEqual([]);
  });

  it("are drawn as discs, cut at the edges", () => {
    const pixels = new Uint32Array(10 * 10);
    drawPoints(
      { pixels, width: 10 },
      Float32Array.of(5, 5, 0, 9, 200, 5, Number.NaN, 1),
      Uint8Array.of(0, 1, 0, 0),
      [7, 8],
    );
    expect(pixels[5 * 10 + 5]).toBe(7);
    expect(pixels[9 * 10]).toBe(8);
    expect(pixels[2 * 10 + 2]).toBe(0);
    const inked = pixels.reduce((count, value) => count + (value === 0 ? 0 : 1), 0);
    expect(inked).toBe(37 + 13);
  });
});

it("an arrow key goes to the nearest point of its side, and stays where there is none", () => {
  const points = Float32Array.of(0, 0, 10, 1, 5, 4, 0, 20);
  expect(nextFrom(points, null, { x: 1, y: 0 })).toBe(0);
  expect(nextFrom(points, 0, { x: 1, y: 0 })).toBe(2);
  expect(nextFrom(points, 0, { x: 0, y: 1 })).toBe(3);
  expect(nextFrom(points, 0, { x: -1, y: 0 })).toBe(0);
  expect(nextFrom(new Float32Array(), null, { x: 1, y: 0 })).toBeNull();
});
