import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { invalid } from "../errors.ts";
import { findRepeatedMember } from "./json-reader-repeats.ts";
import { readJson } from "./json-reader.ts";
import { refusal } from "../testing/refusal.ts";

const encoder = new TextEncoder();
const read = (text: string): string => refusal(() => readJson(encoder.encode(text)));

/** JSON as it is written: a token, items, or members of which two may have one name. */
type Tree = string | readonly Tree[] | { readonly members: readonly (readonly [string, Tree])[] };

/** Few names, so that they meet; some with what could lead a scan of the text astray. */
const name = fc.constantFrom("a", "b", "é", "", "__proto__", "\u007f", 'x":1', "[{", "\\", "\\u0061", "0");
const token = fc.constantFrom(
  "1",
  "-2.5e3",
  "3.0",
  "12345678901234567890",
  "true",
  "null",
  '""',
  '"a\\":1,\\"a"',
  '"{\\\\"',
  '"\\u007f1"',
);
const tree = fc.letrec<{ value: Tree }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    token,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.record({ members: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }) }),
  ),
})).value;
const space = fc.constantFrom("", " ", "\n\t");

function write(value: Tree, gap: string, escaped: boolean): string {
  if (typeof value === "string") return value;
  const comma = `${gap},${gap}`;
  if (!("members" in value)) {
    return `[${gap}${value.map((item) => write(item, gap, escaped)).join(comma)}${gap}]`;
  }
  const members = value.members.map(
    ([key, member]) => `${quoted(key, escaped)}${gap}:${gap}${write(member, gap, escaped)}`,
  );
  return `{${gap}${members.join(comma)}${gap}}`;
}

/** One name has many spellings: every unit of it can be an escape. */
function quoted(key: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(key);
  const units = Array.from({ length: key.length }, (_, at) => key.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}

/** Path of the first repeat in the order of the text. */
function firstRepeat(value: Tree, path: string): string | null {
  if (typeof value === "string") return null;
  const seen = new Set<string>();
  const entries = "members" in value ? value.members : [...value.entries()];
  for (const [step, item] of entries) {
    const dotted = path === "" ? `${step}` : `${path}.${step}`;
    const inner = typeof step === "number" ? `${path}[${step}]` : dotted;
    if (typeof step === "string" && seen.has(step)) return inner;
    if (typeof step === "string") seen.add(step);
    const found = firstRepeat(item, inner);
    if (found !== null) return found;
  }
  return null;
}

describe("a member that stands twice in one object", () => {
  it("is refused wherever it is, and nothing else is", () => {
    fc.assert(
      fc.property(tree, space, fc.boolean(), (value, gap, escaped) => {
        const text = write(value, gap, escaped);
        const repeat = firstRepeat(value, "");
        expect(findRepeatedMember(encoder.encode(text))).toBe(repeat);
        const place = repeat === "" ? "" : `${repeat}: `;
        expect(read(text)).toBe(repeat === null ? "accepted" : `422 ${place}is given twice`);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{"ids":["a"],"ids":["b"]}', "ids"],
    ['{"ids":1,"\\u0069ds":2}', "ids"],
    ['{"a":{"b":[0,{"c":1,"d":{"x":1},"c":2}]}}', "a.b[1].c"],
    ['[1.5,{"a":1,"a":1}]', "[1].a"],
    ['{"a":{"x":1},"a":{"y":1}}', "a"],
    ['{"n":3.0,"m":{"f":1.0,"f":2.0}}', "m.f"],
    ['{"\u007f":1,"\\u007f":2}', "\u007f"],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    [`{"${"k".repeat(200)}":1,"${"k".repeat(200)}":2}`, `${"k".repeat(80)}…`],
  ])("%s", (text, path) => {
    expect(read(text)).toBe(`422 ${path}: is given twice`);
  });

  it("is a fault of its own, after those of the grammar", () => {
    expect(read('{"a":1,"a":2')).toMatch(/^400 .*unexpected end of input/u);
    expect(read('{"a":1,"a":1e400}')).toMatch(/^400 .*out of range/u);
    expect(read('{"a":1}{"a":1}')).toMatch(/^400 .*unexpected data/u);
  });

  it("is refused as the caller of readJson wants it", () => {
    const bytes = encoder.encode('{"a":1,"a":2}');
    expect(refusal(() => readJson(bytes, invalid))).toBe("400 a: is given twice");
  });
});
