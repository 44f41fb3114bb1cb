import { RRegex } from "rregex";
import { describe, expect, it } from "vitest";
import { compileRegex } from "./regex-module.ts";

const MEBIBYTE = 1024 * 1024;
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

describe("a regular expression", () => {
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
  ])("matches as the package does: %s", (pattern) => {
    const expected = new RRegex(pattern);
    const regex = compileRegex(pattern);
    for (const text of TEXTS) expect(regex.isMatch(text)).toBe(expected.isMatch(text));
    regex.free();
    expected.free();
  });

  it.each(["(", "(?=a)", "[z-a]", "\\", "a{1000000}", "\\k<no>"])(
    "is refused as the package does: %s",
    (pattern) => {
      let expected = "";
      try {
        new RRegex(pattern).free();
      } catch (error) {
        expected = String(error);
      }
      expect(expected).not.toBe("");
      let refused = "";
      try {
        compileRegex(pattern).free();
      } catch (error) {
        refused = String(error);
      }
      expect(refused).toBe(expected);
    },
  );

  it("outlives its instance, and many of them cost no memory for good", () => {
    const kept = compileRegex("ke.t");
    const before = process.memoryUsage().external;
    for (let i = 0; i < 4_000; i++) compileRegex(`t.x${i}`).free();
    expect(kept.isMatch("it is kept")).toBe(true);
    kept.free();
    // One instance for each 16 MiB, of which the collector leaves some: without them it is 1,000 MiB.
    expect((process.memoryUsage().external - before) / MEBIBYTE).toBeLessThan(250);
  });
});
