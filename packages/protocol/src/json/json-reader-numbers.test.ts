import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFloat, readJson } from "./json-reader.ts";
import { isNumberList, itemsOf } from "./json-shape.ts";
import { parseMetadata } from "../metadata-parser.ts";
import { parseWhere } from "../search/where.ts";
import { refusal } from "../testing/refusal.ts";

/** Makes a body large, and its lists such as are read from the bytes. */
const PADDING = `"padding":"${"x".repeat(70_000)}"`;

const small = (text: string): unknown => readJson(Buffer.from(`{"x":${text}}`));
const large = (text: string): unknown => readJson(Buffer.from(`{${PADDING},"x":${text}}`));

/** Typed arrays as the lists that they would be. */
function listed(value: unknown): unknown {
  if (isNumberList(value)) return itemsOf(value, "");
  if (Array.isArray(value)) return value.map(listed);
  if (typeof value !== "object" || value === null || value instanceof JsonFloat) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "padding");
  return Object.fromEntries(entries.map(([key, member]) => [key, listed(member)]));
}

const space = fc.constantFrom("", "", " ", "\n\t", "\r ");
const integer = fc.oneof(
  fc.integer({ min: -200, max: 200 }).map(String),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 65n }).map(String),
  fc.constantFrom(
    "0",
    "-0",
    "999999999999999",
    "9007199254740993",
    "-9223372036854775808",
    "9223372036854775808",
  ),
);
const float = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => {
    const text = JSON.stringify(value);
    return /[.e]/.test(text) ? text : `${text}.0`;
  }),
  fc.constantFrom("0.1", "-0.0", "1.0", "1e5", "1E-7", "0.30000000000000004", "123456789012345678.5", "2.50"),
);
const odd = fc.constantFrom("null", '"a"', "[1]", "01", "-", "1.", "+1", "1e", "1e400", "true", "");
const list = fc
  .tuple(
    fc.oneof(
      fc.array(integer, { minLength: 50, maxLength: 90 }),
      fc.array(float, { minLength: 50, maxLength: 90 }),
      fc.array(fc.oneof({ weight: 60, arbitrary: integer }, float, odd), { minLength: 50, maxLength: 90 }),
    ),
    space,
  )
  .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`);

describe("long lists of numbers in a large body", () => {
  it("hold what they hold in a small one, or are refused as there", () => {
    fc.assert(
      fc.property(list, list, (a, b) => {
        const text = `{"a":${a},"b":[${b},${a}]}`;
        const outcome = (read: (text: string) => unknown): unknown => {
          try {
            return listed(read(text));
          } catch (error) {
            // Positions differ by the padding.
            return (error as Error).message.replaceAll(/\d+/g, "");
          }
        };
        expect(outcome(large)).toEqual(outcome(small));
      }),
      { numRuns: 1_500 },
    );
  });

  it("are metadata of the same kind and form", () => {
    fc.assert(
      fc.property(list, (text) => {
        const outcome = (value: () => unknown): unknown => {
          try {
            return parseMetadata(listlessPadding(value()), "m").get("x");
          } catch (error) {
            return (error as Error).message.replaceAll(/\d+/g, "");
          }
        };
        expect(outcome(() => large(text))).toEqual(outcome(() => small(text)));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["1", Int8Array],
    ["200", Int16Array],
    ["-70000", Int32Array],
    ["2147483648", BigInt64Array],
    ["9007199254740993", BigInt64Array],
    ["1.5", Float64Array],
  ])("of %s come as a typed array", (number, form) => {
    const { x } = large(`[${Array.from({ length: 64 }, () => number).join()}]`) as { x: unknown };
    expect(x).toBeInstanceOf(form);
    expect(x).toHaveLength(64);
  });

  it("are values of $in, with the same bounds", () => {
    const where = (count: number): unknown =>
      (large(`{"k":{"$in":[${Array.from({ length: count }, (_, i) => i).join()}]}}`) as { x: unknown }).x;
    expect(parseWhere(where(1_000), "where")).toMatchObject({ type: "in", values: { length: 1_000 } });
    expect(refusal(() => parseWhere(where(100_001), "where"))).toBe("400 where.k.$in: is over 100000 values");
  });
});

function listlessPadding(value: unknown): unknown {
  const { x } = value as { x: unknown };
  return { x };
}
