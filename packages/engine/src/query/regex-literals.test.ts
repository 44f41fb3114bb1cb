import * as fc from "fast-check";
import { RRegex } from "rregex";
import { describe, expect, it } from "vitest";
import { requiredLiterals } from "./regex-literals.ts";

describe("requiredLiterals", () => {
  it.each([
    ["fox", [["fox"]]],
    ["^the (quick|slow) fox$", [["the ", " fox"]]],
    ["abc?d", [["ab", "d"]]],
    ["abc+d", [["abc", "d"]]],
    ["ab{2,}c", [["a", "c"]]],
    ["ab+?c", [["a", "c"]]],
    ["one|two", [["one"], ["two"]]],
    ["(?:one two)+ three", [["one two", " three"]]],
    ["(?P<n>one)(?<m>two)", [["one", "two"]]],
    ["(one)?two", [["two"]]],
    [String.raw`a\.b\d+c`, [["a.b", "c"]]],
    [String.raw`\bword\b{end}x`, [["word", "x"]]],
    [String.raw`a\<b\p{Greek}c\pLd`, [["a", "b", "c", "d"]]],
    ["x[^]y[:alpha:]]z", [["x", "z"]]],
    [String.raw`x[a\]b[c-d]&&e]z`, [["x", "z"]]],
    ["\u{1f600}?a", [["a"]]],
    ["", [[]]],
    ["(?i)fox", null],
    ["a(?x: b c)", null],
    [String.raw`\x41b`, null],
  ])("%s", (pattern, expected) => {
    new RRegex(pattern).free();
    expect(requiredLiterals(pattern)).toStrictEqual(expected);
  });

  it("names only what every match contains", () => {
    const pieces = fc.constantFrom(
      ...["a", "b", ".", "|", "(", ")", "?", "*", "+"],
      "[ab]",
      "[^b]",
      String.raw`\.`,
      String.raw`\w`,
      "{2}",
      "(?:",
      "{0,1}",
    );
    const patterns = fc.array(pieces, { maxLength: 10 }).map((list) => list.join(""));
    const documents = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 }), {
      minLength: 8,
    });
    fc.assert(
      fc.property(patterns, documents, (pattern, list) => {
        let compiled: RRegex;
        try {
          compiled = new RRegex(pattern);
        } catch {
          return;
        }
        const alternatives = requiredLiterals(pattern);
        for (const document of list) {
          if (alternatives === null || !compiled.isMatch(document)) continue;
          const holds = alternatives.some((texts) => texts.every((text) => document.includes(text)));
          expect(holds, `${pattern} matches ${document}`).toBe(true);
        }
        compiled.free();
      }),
      { numRuns: 1_000 },
    );
  });
});
