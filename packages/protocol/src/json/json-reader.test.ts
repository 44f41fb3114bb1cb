import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFloat, readJson } from "./json-reader.ts";
import { LIMITS } from "../limits.ts";
import { SheafError } from "../errors.ts";
import { refusal } from "../testing/refusal.ts";

const encoder = new TextEncoder();
const read = (text: string): unknown => readJson(encoder.encode(text));

/** What `JSON.parse` would have made of it. */
function plain(value: unknown): unknown {
  if (value instanceof JsonFloat) return value.value;
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
  }
  return value;
}

/** JSON texts with number spellings that `JSON.stringify` never makes, and with marks in strings; no member twice. */
const numberToken = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map((value) => `${value}`),
  fc
    .tuple(fc.integer(), fc.integer({ min: 0, max: 99_999 }), fc.integer({ min: -30, max: 30 }))
    .map(([whole, fraction, exponent]) => `${whole}.${fraction}e${exponent}`),
  fc
    .tuple(
      fc.integer({ min: 0, max: 9999 }),
      fc.constantFrom("0", "00", "9999999999999999", "000000000000000001"),
    )
    .map(([whole, fraction]) => `${whole}.${fraction}`),
  fc.constantFrom("0.0", "-0.0", "-0", "1e2", "1E+2", "10e-1", "1e-400", "9007199254740993", "5e-324"),
);
const stringToken = fc
  .oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u007f", "\u007f\u007f", "\u007f1", "\u007f3.0", "__proto__", "constructor"),
  )
  .map((text) => JSON.stringify(text));
const markEscape = fc.constantFrom('"\\u007f1"', '"\\u007F\\u007f"', '"\\u007f"');
const jsonText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(numberToken, stringToken, markEscape, fc.constantFrom("true", "false", "null")),
    fc.array(tie("value"), { maxLength: 5 }).map((items) => `[${items.join(" , ")}]`),
    fc
      .uniqueArray(fc.tuple(fc.oneof(stringToken, markEscape), tie("value")), {
        maxLength: 5,
        selector: ([name]) => JSON.parse(name) as string,
      })
      .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`),
  ),
})).value;

describe("readJson", () => {
  it("agrees with JSON.parse on every value, numbers compared as numbers", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(plain(read(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("tells the kind of every number token", () => {
    fc.assert(
      fc.property(numberToken, (token) => {
        const [value] = read(`[${token}]`) as [unknown];
        const number = Number(token);
        if (/[.eE]/.test(token)) {
          expect(value).toEqual(Number.isInteger(number) ? new JsonFloat(number) : number);
          return;
        }
        const exact = BigInt(token);
        if (Number.isSafeInteger(number)) expect(value).toBe(number);
        else if (exact >= -(2n ** 63n) && exact < 2n ** 64n) expect(value).toBe(exact);
        else expect(value).toEqual(new JsonFloat(number));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ["3", 3],
    ["3.0", new JsonFloat(3)],
    ["-0.0", new JsonFloat(-0)],
    ["1e2", new JsonFloat(100)],
    ["1.5", 1.5],
    ["0.99999999999999999", new JsonFloat(1)],
    ["0.999999999999", 0.999999999999],
    ["123456789012345.0000000001", new JsonFloat(123456789012345)],
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["9223372036854775808", 2n ** 63n],
    ["18446744073709551615", 2n ** 64n - 1n],
    ["18446744073709551616", new JsonFloat(2 ** 64)],
    ["-9223372036854775809", new JsonFloat(-(2 ** 63))],
    ["1e-400", new JsonFloat(0)],
  ])("reads %s", (text, value) => {
    expect(read(text)).toEqual(value);
    expect(read(`{"a":[${text}]}`)).toEqual({ a: [value] });
  });

  it("keeps strings apart from marked numbers", () => {
    const texts = ["\u007f", "\u007f3.0", "\u007f\u007f3.0", "a\u007f1"];
    const body = `{"n":3.0,"s":${JSON.stringify(texts)},"\\u007f3.0":1,"\u007f\u007f":2.0,"":"\\u007F3.0"}`;
    expect(read(body)).toEqual({
      n: new JsonFloat(3),
      s: texts,
      "\u007f3.0": 1,
      "\u007f\u007f": new JsonFloat(2),
      "": "\u007f3.0",
    });
  });

  it.each([
    "{3.0:1}",
    "{1e2:1}",
    '{"a":1,3.0:2}',
    '{"a" 3.0}',
    "[1 3.0]",
    '[3.0"a"]',
    "[01.0]",
    "[1.e5]",
    "[3.0.0]",
  ])("refuses %s, marked or not", (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(refusal(() => read(text))).toMatch(/^400 Failed to parse the request body as JSON: /);
  });

  it("leaves prototypes alone on both paths", () => {
    for (const text of ['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1.0}}']) {
      const value = read(text) as object;
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.keys(value)).toEqual(["__proto__"]);
      expect("polluted" in value).toBe(false);
    }
    const renamed = read('{"__proto__":{"polluted":1.0},"\\u007f":1}') as object;
    expect(Object.getPrototypeOf(renamed)).toBe(Object.prototype);
    expect(Object.keys(renamed)).toEqual(["__proto__", "\u007f"]);
  });

  it("throws nothing but SheafError, and only where JSON.parse does", () => {
    const mutation = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(jsonText, fc.array(mutation, { minLength: 1, maxLength: 4 }), (text, mutations) => {
        const bytes = encoder.encode(text);
        for (const [at, byte] of mutations) bytes[at % bytes.length] = byte;
        let parsed: unknown;
        let valid = true;
        try {
          parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
        } catch {
          valid = false;
        }
        try {
          expect(plain(readJson(bytes))).toEqual(parsed);
        } catch (error) {
          if (!(error instanceof SheafError)) throw error;
          // A change of a byte may make a name that is there already.
          const isRepeated = error.message.endsWith(" is given twice");
          expect(error.status).toBe(isRepeated ? 422 : 400);
          expect(valid && !isRepeated && !/lone surrogate|out of range/.test(error.message)).toBe(false);
          return;
        }
        expect(valid).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("readJson refuses", () => {
  const prefix = "400 Failed to parse the request body as JSON: ";

  it.each([
    ["", "unexpected end of input at line 1 column 1 (byte 0)"],
    ["  ", "unexpected end of input at line 1 column 3 (byte 2)"],
    ["NaN", "unexpected character, expected a value at line 1 column 1 (byte 0)"],
    ["Infinity", "unexpected character, expected a value at line 1 column 1 (byte 0)"],
    ['{"a":1,}', "unexpected character, expected a member name in double quotes at line 1 column 8 (byte 7)"],
    ['{"a" 1}', "unexpected character, expected `:` at line 1 column 6 (byte 5)"],
    ['{\n "a": 1\n "b": 2}', "unexpected character, expected `,` or `}` at line 3 column 2 (byte 11)"],
    ["[1 2]", "unexpected character, expected `,` or `]` at line 1 column 4 (byte 3)"],
    ["[1.0 2]", "unexpected character, expected `,` or `]` at line 1 column 6 (byte 5)"],
    ["[1,]", "unexpected character, expected a value at line 1 column 4 (byte 3)"],
    ["[1", "unexpected end of input, expected `,` or `]` at line 1 column 3 (byte 2)"],
    ['"abc', "unexpected end of input in a string at line 1 column 5 (byte 4)"],
    ['"a\tb"', "control character in a string at line 1 column 3 (byte 2)"],
    ['"\\x"', "unexpected character, expected an escape at line 1 column 3 (byte 2)"],
    ['"\\u12g4"', "unexpected character, expected a hexadecimal digit at line 1 column 6 (byte 5)"],
    ["01", "unexpected data after the value at line 1 column 2 (byte 1)"],
    ["1.", "unexpected end of input, expected a digit at line 1 column 3 (byte 2)"],
    ["1e+", "unexpected end of input, expected a digit at line 1 column 4 (byte 3)"],
    ["-", "unexpected end of input, expected a value at line 1 column 2 (byte 1)"],
    ["{} {}", "unexpected data after the value at line 1 column 4 (byte 3)"],
    ["\ufeff{}", "unexpected character, expected a value at line 1 column 1 (byte 0)"],
    ["[1e400]", "number out of range at byte 1"],
    ["[-1e309]", "number out of range at byte 1"],
    [`[${"9".repeat(310)}]`, "number out of range at byte 1"],
    ['["\\ud800"]', "lone surrogate in a string at byte 2"],
    ['["a\\udc00"]', "lone surrogate in a string at byte 3"],
    ['["\\ud800\\ud800"]', "lone surrogate in a string at byte 2"],
  ])("%j", (text, problem) => {
    expect(refusal(() => read(text))).toBe(prefix + problem);
  });

  it("accepts a pair of escaped surrogates and an escaped backslash before `u`", () => {
    expect(read('["\\ud83d\\ude00","\\\\ud800"]')).toEqual(["😀", "\\ud800"]);
  });

  it("bytes that are not UTF-8", () => {
    expect(refusal(() => readJson(Uint8Array.of(0x22, 0xff, 0x22)))).toBe(`${prefix}not valid UTF-8`);
    expect(refusal(() => readJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)))).toBe(
      `${prefix}not valid UTF-8`,
    );
  });

  it("one level too many, before anything is built", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    expect(refusal(() => read(nested(LIMITS.jsonDepth)))).toBe("accepted");
    expect(refusal(() => read(nested(LIMITS.jsonDepth + 1)))).toBe(
      "400 JSON is nested deeper than 64 levels",
    );
    expect(refusal(() => read("[".repeat(5_000_000)))).toBe("400 JSON is nested deeper than 64 levels");
    expect(refusal(() => read(`"${"[".repeat(100)}"`))).toBe("accepted");
  });

  it("one value or one container too many", () => {
    const zeros = new Uint8Array(2 * LIMITS.jsonNodes + 1).fill(0x30);
    for (let at = 2; at < zeros.length; at += 2) zeros[at] = 0x2c;
    zeros[0] = 0x5b;
    zeros[zeros.length - 1] = 0x5d;
    expect(refusal(() => readJson(zeros))).toBe("400 JSON holds more than 32000000 values");
    const arrays = "[],".repeat(LIMITS.jsonContainers - 2);
    expect(refusal(() => read(`[${arrays}[]]`))).toBe("accepted");
    expect(refusal(() => read(`[${arrays}[],[]]`))).toBe(
      "400 JSON holds more than 2000000 arrays and objects",
    );
  });
});
