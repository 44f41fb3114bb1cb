import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exceedsBytes, listOf, memberPath, utf8Length } from "./json-shape.ts";

describe("utf8Length", () => {
  it("counts the bytes an encoder makes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
    for (const text of ["\ud800", "\udc00", "\ud800\ud800", "😀", "\ud83d", "é\ud83d\ude00z"]) {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    }
  });

  it("decides a bound at the byte", () => {
    expect(exceedsBytes("é".repeat(5), 10)).toBe(false);
    expect(exceedsBytes("é".repeat(5), 9)).toBe(true);
    expect(exceedsBytes("a".repeat(10), 10)).toBe(false);
    expect(exceedsBytes("a".repeat(11), 10)).toBe(true);
  });
});

it("shows a path that a long key cannot blow up", () => {
  expect(memberPath("where", "a")).toBe("where.a");
  expect(memberPath("", "a")).toBe("a");
  expect(memberPath("where", "k".repeat(1_000_000)).length).toBeLessThan(100);
});

it("lists words", () => {
  expect(listOf(["a"])).toBe("`a`");
  expect(listOf(["a", "b", "c"])).toBe("`a`, `b` or `c`");
});
