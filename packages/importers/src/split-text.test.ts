import { array, assert, constantFrom, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { splitText } from "./split-text.ts";

const cut = (text: string, tokens: number): string[] =>
  splitText(text, tokens).map(({ start, end }) => text.slice(start, end));

describe("splitText", () => {
  it("leaves a short text whole, and cuts at the best border", () => {
    expect(cut("  one two\n\nthree ", 50)).toEqual(["one two\n\nthree"]);
    expect(cut("# A\nfirst words\n\n# B\nother words", 9)).toEqual(["# A\nfirst words", "# B\nother words"]);
    expect(cut("one two three. four five six! seven", 5)).toEqual([
      "one two three.",
      "four five six!",
      "seven",
    ]);
    expect(cut("海".repeat(7), 3).map((part) => part.length)).toEqual([3, 3, 1]);
  });

  it("loses nothing but white space, whatever the text is", () => {
    const units = constantFrom(
      " ",
      "\n",
      "\n\n",
      ". ",
      "# ",
      "word",
      "海",
      "\u{1f30a}",
      "x".repeat(40),
      "é",
      "\r\n",
    );
    assert(
      property(
        array(units).map((parts) => parts.join("")),
        integer({ min: 1, max: 30 }),
        (text, tokens) => {
          const ranges = splitText(text, tokens);
          let end = 0;
          for (const range of ranges) {
            expect(text.slice(end, range.start).trim()).toBe("");
            expect(range.end).toBeGreaterThan(range.start);
            expect(text.slice(range.start, range.end)).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
            end = range.end;
          }
          expect(text.slice(end).trim()).toBe("");
        },
      ),
    );
  });
});
