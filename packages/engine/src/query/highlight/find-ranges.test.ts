import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS, sourceBit } from "@sheaf/protocol";
import { RegexInstance } from "../regex/regex-module.ts";
import { findRanges } from "./find-ranges.ts";
import type { SoughtClause } from "./sought-clauses.ts";

const instance = new RegexInstance();
const CONTAINS = sourceBit("$contains");
const REGEX = sourceBit("$regex");

function found(document: string, ...clauses: readonly SoughtClause[]): readonly (readonly number[])[] {
  const [ranges = new Uint32Array()] = findRanges([Buffer.from(document)], clauses, (pattern) =>
    instance.compile(pattern),
  );
  return Array.from({ length: ranges.length / 3 }, (_, i) => [...ranges.subarray(3 * i, 3 * i + 3)]);
}

const contains = (text: string): SoughtClause => ({ by: "$contains", text });
const regex = (text: string): SoughtClause => ({ by: "$regex", text });

describe("findRanges", () => {
  it("counts UTF-16 units, whatever the characters take in UTF-8", () => {
    const document = "😀 Häfen, häfen und \u4e2d\u6587 tide";
    expect(found(document, contains("tide"))).toEqual([[23, 27, CONTAINS]]);
    expect(found(document, regex("(?i)häfen"))).toEqual([
      [3, 8, REGEX],
      [10, 15, REGEX],
    ]);
    expect(found(document, regex("😀|文"))).toEqual([
      [0, 2, REGEX],
      [21, 22, REGEX],
    ]);
  });

  it("sees what stands before a match", () => {
    expect(found("tide tides riptide", regex("\\btide"))).toEqual([
      [0, 4, REGEX],
      [5, 9, REGEX],
    ]);
    expect(found("a\na", regex("^a"))).toEqual([[0, 1, REGEX]]);
  });

  it("passes over empty matches", () => {
    expect(found("öxöxx", regex("x*"))).toEqual([
      [1, 2, REGEX],
      [3, 5, REGEX],
    ]);
    expect(found("ööö", regex("(?:)"))).toEqual([]);
  });

  it("gives up after many empty matches, each of which takes as long as a look at the document", () => {
    expect(found(`${"b".repeat(500)}a`, regex("a*"))).toEqual([[500, 501, REGEX]]);
    expect(found(`${"b".repeat(1_000_000)}a`, regex("a*"))).toEqual([]);
  });

  it("unites what several clauses found, and is case-sensitive as the filter is", () => {
    expect(found("The Tides", contains("tide"), contains("Tid"), regex("ides"))).toEqual([
      [4, 9, CONTAINS | REGEX],
    ]);
  });

  it("has the first ones where there are more than a document may have", () => {
    const ranges = found("ab".repeat(500), regex("a"));
    expect(ranges).toHaveLength(LIMITS.highlights);
    expect(ranges.at(-1)).toEqual([126, 127, REGEX]);
  });

  it("finds what a regular expression of JavaScript finds", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "ä", "\u4e2d", "😀", " "), maxLength: 30 });
    const pattern = fc.constantFrom("a", "[aä]+", "b|😀", "a.", "\u4e2d ", "(a|ab)(b|)", "b*a");
    fc.assert(
      fc.property(text, pattern, (document, expression) => {
        const expected = [...document.matchAll(new RegExp(expression, "gsu"))].map(({ index, 0: match }) => [
          index,
          index + match.length,
          REGEX,
        ]);
        expect(found(document, regex(`(?s)${expression}`))).toEqual(expected);
      }),
    );
  });
});
