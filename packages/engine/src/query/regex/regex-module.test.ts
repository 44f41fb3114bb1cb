import { RRegex } from "rregex";
import { describe, expect, it } from "vitest";
import { RegexInstance } from "./regex-module.ts";

const TEXTS = [
  "",
  "text 1",
  "straße",
  "日本語",
  "a\u0000b",
  "x".repeat(100_000),
  "line\nbreak",
  "\u{1F600}",
  "\uD800",
];

function refusal(compile: () => unknown): string {
  try {
    compile();
  } catch (error) {
    return String(error);
  }
  return "";
}

describe("a regular expression", () => {
  const instance = new RegexInstance();

  it.each([
    "t.x",
    "^$",
    "stra(ß|ss)e",
    "\\p{Han}+",
    "\\x00",
    "x{3,}$",
    "(?m)^b",
    "(?i)TEXT",
    "[^a-z]",
    ".",
    "abc",
  ])("matches and is parsed as by the package: %s", (pattern) => {
    const expected = new RRegex(pattern);
    const regex = instance.compile(pattern);
    for (const text of TEXTS) expect(regex.isMatch(Buffer.from(text))).toBe(expected.isMatch(text));
    expect(regex.syntax()).toStrictEqual(expected.syntax());
    expected.free();
  });

  it.each(["(", "(?=a)", "[z-a]", "\\", "a{1000000}", "\\w{400}", "\\k<no>"])(
    "is refused as by the package: %s",
    (pattern) => {
      const expected = refusal(() => new RRegex(pattern).free());
      expect(expected).not.toBe("");
      expect(refusal(() => instance.compile(pattern))).toBe(expected);
    },
  );

  it("says what memory its instance holds", () => {
    const fresh = new RegexInstance();
    const before = fresh.bytes;
    fresh.compile("\\w{60}");
    expect(fresh.bytes).toBeGreaterThan(before + 10 * 1024 * 1024);
  });
});
