import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Float32ListReader, readFloat32 } from "./json-reader-float32.ts";

/** What it gives for the token before a comma, and `null` where it gives up. */
function read(token: string): number | null {
  const out = new Float32Array(2);
  const end = readFloat32(Buffer.from(` ${token},`), 1, out, 1);
  if (end === -1) return null;
  expect(end).toBe(token.length + 1);
  return out[1]!;
}

const digits = (maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength }).map((list) => list.join(""));
const token = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1, max: 1 }).map((value) => JSON.stringify(value)),
  fc
    .tuple(fc.constantFrom("", "-"), digits(25), digits(40), fc.integer({ min: -60, max: 60 }))
    .map(([sign, whole, fraction, exponent]) => `${sign}${BigInt(whole)}.${fraction}e${exponent}`),
  fc.tuple(fc.constantFrom("0.", "-0.000", "1.", "16777217."), digits(30)).map((parts) => parts.join("")),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
);

/** Decimals of the points halfway between two neighbours, and a little beside them: the last digit decides. */
const halfway = fc
  .tuple(fc.integer({ min: 2 ** 23, max: 2 ** 24 - 1 }), fc.integer({ min: -40, max: 20 }), fc.nat(3))
  .map(([mantissa, exponent, beside]) => {
    const half = (2 * mantissa + 1) * 2 ** exponent;
    const exact = exponent >= 0 ? `${BigInt(half)}.0` : half.toFixed(Math.min(100, -exponent));
    return beside === 0 ? exact : `${exact}${"0".repeat(beside)}${beside}`;
  });

describe("readFloat32", () => {
  it("reads every number as the rounded value of JSON.parse, to the bit", () => {
    fc.assert(
      fc.property(fc.oneof(token, halfway), (text) => {
        const expected = Math.fround(JSON.parse(text) as number);
        expect(read(text)).toBe(Number.isFinite(expected) ? expected : null);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each(["", "-", "+1", "01", "-01.5", "1.", ".5", "1.e5", "1e", "1e+", "--1", "NaN", "1e39", "-1e400"])(
    "gives up on %j",
    (text) => {
      expect(read(text)).toBe(null);
    },
  );

  it.each(["1-", "1.5.", "1e5.0", "0x10", "1e5e"])(
    "ends before what cannot follow a number in %j",
    (text) => {
      const out = new Float32Array(1);
      const end = readFloat32(Buffer.from(text), 0, out, 0);
      expect(end).toBeGreaterThan(0);
      expect(end).toBeLessThan(text.length);
      expect(out[0]).toBe(Number(text.slice(0, end)));
    },
  );
});

describe("Float32ListReader", () => {
  const space = fc.constantFrom("", " ", "\n\t");
  const embedded = fc.float({ noNaN: true, min: -1, max: 1 }).map((value) => JSON.stringify(value));

  it("reads every number as readFloat32 does, wherever the body ends", () => {
    const list = fc.array(fc.oneof(embedded, token, halfway), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(list, space, fc.nat(40), (tokens, gap, behind) => {
        const bytes = Buffer.from(
          `[${tokens.map((text) => `${gap}${text}${gap}`).join(",")}]${" ".repeat(behind)}`,
        );
        const expected = tokens.map((text) => read(text));
        const out = new Float32Array(tokens.length);
        const reader = new Float32ListReader(bytes);
        const end = reader.read(0, out);
        if (expected.includes(null)) expect(end).toBe(-1);
        else {
          expect(end).toBe(bytes.indexOf("]"));
          expect([reader.count, [...out]]).toEqual([tokens.length, expected]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["[0.1234567890123456789x]", 22],
    ["[0.12345678e5]", 13],
    ["[0.123456789.5]", 12],
    ["[1,2]", 4],
  ])("stops in %s at %i", (text, end) => {
    expect(new Float32ListReader(Buffer.from(text.padEnd(60))).read(0, new Float32Array(2))).toBe(end);
  });

  it.each([
    "[]",
    "[1,]",
    "[-]",
    "[0.12345678,0.1,3]",
    "[00.12345678]",
    "[0.12345678e]",
    "[-.12345678]",
    "[1,2",
    "[",
  ])("gives up on %s", (text) => {
    const end = new Float32ListReader(Buffer.from(text)).read(0, new Float32Array(2));
    expect([-1, text.length]).toContain(end);
  });
});
