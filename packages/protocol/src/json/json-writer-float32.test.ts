import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type WholeStyle, writeFloat32Array } from "./json-writer-float32.ts";

const writeFloat32 = (value: number, whole: WholeStyle): string =>
  writeFloat32Array(Float32Array.of(value), whole).slice(1, -1);

/** The definition: the fewest digits that read back as the same f32. */
function fewestDigits(value: number): number {
  let digits = 1;
  while (Math.fround(Number(value.toPrecision(digits))) !== value) digits += 1;
  return digits;
}

function digitsOf(text: string): number {
  const mantissa = text.replace(/e.*$/, "").replace(/[-.]/g, "");
  return mantissa.replace(/^0+/, "").replace(/0+$/, "").length;
}

function float32OfBits(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

const float32Bits = fc
  .integer({ min: 0, max: 2 ** 32 - 1 })
  .map(float32OfBits)
  .filter(Number.isFinite);

describe("a value", () => {
  it.each([
    [123.456, "123.456", "123.456"],
    [0.1, "0.1", "0.1"],
    [0.051316738, "0.051316738", "0.051316738"],
    [-0.5, "-0.5", "-0.5"],
    [1, "1.0", "1"],
    [-3, "-3.0", "-3"],
    [0, "0.0", "0"],
    [-0, "-0.0", "-0"],
    [100_000, "100000.0", "100000"],
    [16_777_216, "16777216.0", "16777216"],
    [999_999_930, "999999940.0", "999999940"],
    [1e9, "1000000000.0", "1000000000"],
    [1e-7, "0.0000001", "0.0000001"],
    [9e-8, "9e-8", "9e-8"],
    [2e-7, "0.0000002", "0.0000002"],
    [1.4e-45, "1e-45", "1e-45"],
    [3.4028234663852886e38, "3.4028235e+38", "3.4028235e+38"],
    [Number.NaN, "null", "null"],
    [Number.POSITIVE_INFINITY, "null", "null"],
    [Number.NEGATIVE_INFINITY, "null", "null"],
  ])("prints %d", (value, float, shortest) => {
    expect(writeFloat32(value, "2.0")).toBe(float);
    expect(writeFloat32(value, "2")).toBe(shortest);
  });

  it("reads back as the same f32 from the fewest digits, over all bit patterns", () => {
    fc.assert(
      fc.property(float32Bits, (value) => {
        const text = writeFloat32(value, "2");
        expect(Object.is(Math.fround(Number(JSON.parse(text))), value)).toBe(true);
        if (value !== 0) expect(digitsOf(text)).toBe(fewestDigits(value));
      }),
      { numRuns: 20_000 },
    );
  });

  it("does so in the range of embeddings and at the edges of every power of two and ten", () => {
    const edges: number[] = [];
    for (let exponent = -30; exponent <= 31; exponent += 1) edges.push(2 ** exponent);
    for (let exponent = -8; exponent <= 10; exponent += 1) edges.push(10 ** exponent);
    const neighbours = edges.flatMap((edge) => {
      const bits = new DataView(Float32Array.of(edge).buffer).getUint32(0, true);
      return [-2, -1, 0, 1, 2].map((step) => float32OfBits(bits + step));
    });
    const dense = Array.from({ length: 20_000 }, (_, index) => Math.fround(Math.sin(index) / 7));
    for (const value of [...neighbours, ...dense]) {
      const text = writeFloat32(value, "2.0");
      expect(Math.fround(Number(text))).toBe(value);
      expect(digitsOf(text)).toBe(value === 0 ? 0 : fewestDigits(value));
    }
  });
});

describe("writeFloat32Array", () => {
  it("prints a list", () => {
    expect(writeFloat32Array(Float32Array.of(), "2.0")).toBe("[]");
    expect(writeFloat32Array(Float32Array.of(0.25, -1, Number.NaN), "2.0")).toBe("[0.25,-1.0,null]");
  });

  it("has room for the longest values", () => {
    const longest = new Float32Array(4096).fill(-1.00000036e-7).fill(-3.4028235e38, 2048);
    expect(JSON.parse(writeFloat32Array(longest, "2.0"))).toHaveLength(4096);
  });
});
