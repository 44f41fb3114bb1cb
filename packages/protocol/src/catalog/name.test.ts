import { assert as check, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import { parseName, parseTenantName } from "./name.ts";
import { refusalOf } from "./testing/refusal.ts";

describe("parseName", () => {
  it.each([
    "abc",
    "a-b",
    "My.Collection_2",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.1.1.1",
    "region+name",
    "a".repeat(LIMITS.nameCharacters),
    `${"a".repeat(255)}+${"b".repeat(256)}`,
  ])("accepts %s", (name) => {
    expect(parseName(name, "name")).toBe(name);
  });

  it.each([
    "",
    "ab",
    "_abc",
    "abc.",
    "a b",
    "a/b",
    "añb",
    "abc\n",
    "a".repeat(LIMITS.nameCharacters + 1),
    "ab+name",
    "name+ab",
    "one+two+three",
    `${"a".repeat(256)}+${"b".repeat(256)}`,
  ])("refuses %j", (name) => {
    expect(refusalOf(() => parseName(name, "name"))).toMatch(
      /^400 name: Expected a name containing 3-512 characters/,
    );
  });

  it("refuses two periods in a row and IPv4 addresses", () => {
    expect(refusalOf(() => parseName("a..b", "name"))).toBe(
      "400 name: Expected a name that does not contains two consecutive periods (..). Got a..b",
    );
    expect(refusalOf(() => parseName("192.168.0.1", "new_name"))).toBe(
      "400 new_name: Expected a name that is not a valid ip address. Got 192.168.0.1",
    );
  });

  it("refuses another type than string with 422", () => {
    for (const value of [undefined, null, 1, true, [], {}]) {
      expect(refusalOf(() => parseName(value, "name"))).toMatch(/^422 name: /);
    }
  });

  it("repeats only the beginning of a long name", () => {
    expect(refusalOf(() => parseName("x".repeat(1_000_000), "name")).length).toBeLessThan(300);
  });
});

describe("parseTenantName", () => {
  it.each(["abc", "a b", "mañana", "日", "a/b..c", "x".repeat(LIMITS.tenantNameBytes)])(
    "accepts %s",
    (name) => {
      expect(parseTenantName(name, "name")).toBe(name);
    },
  );

  it.each([
    ["ab", "3 to 128 bytes"],
    ["x".repeat(LIMITS.tenantNameBytes + 1), "3 to 128 bytes"],
    ["é".repeat(65), "3 to 128 bytes"],
    ["a\u0000b", "control characters"],
    ["a\u0085b", "control characters"],
    ["ab\ud800", "surrogate"],
  ])("refuses %j", (name, problem) => {
    expect(refusalOf(() => parseTenantName(name, "name"))).toMatch(/^400 name: /);
    expect(refusalOf(() => parseTenantName(name, "name"))).toContain(problem);
  });

  it("accepts only names that are stored as they are", () => {
    const changes = (text: string): boolean =>
      new TextDecoder().decode(new TextEncoder().encode(text)) !== text;
    const isSafe = (text: string): boolean =>
      !changes(text) || refusalOf(() => parseTenantName(text, "name")).startsWith("400 ");
    const names = string({ unit: "binary", minLength: 3, maxLength: 20 });
    expect(() => check(property(names, isSafe))).not.toThrow();
  });
});
