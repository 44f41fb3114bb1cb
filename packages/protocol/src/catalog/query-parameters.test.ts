import { describe, expect, it } from "vitest";
import { parsePage, parseReadLevel } from "./query-parameters.ts";
import { refusalOf } from "./testing/refusal.ts";

describe("parsePage", () => {
  it.each([
    [{}, { limit: null, offset: 0 }],
    [{ limit: "10" }, { limit: 10, offset: 0 }],
    [
      { limit: "0", offset: "7", other: "x" },
      { limit: 0, offset: 7 },
    ],
    [{ limit: "4294967295" }, { limit: 4294967295, offset: 0 }],
    [{ after: "0174" }, { limit: null, offset: 0, after: "0174" }],
  ])("reads %j", (query, page) => {
    expect(parsePage(query)).toEqual(page);
  });

  it.each(["", "-1", "1.5", "1e3", " 1", "0x10", "4294967296", "99999999999", "abc", ["1", "2"], 5, null])(
    "refuses %j",
    (value) => {
      expect(refusalOf(() => parsePage({ limit: value }))).toMatch(/^400 limit: /);
      expect(refusalOf(() => parsePage({ offset: value }))).toMatch(/^400 offset: /);
    },
  );

  it.each(["", "0", "0G", "0A", "../..", "00".repeat(2_049), ["01", "02"], 5, null])(
    "goes on after no %j",
    (value) => {
      expect(refusalOf(() => parsePage({ after: value }))).toMatch(/^400 after: must be /);
    },
  );
});

describe("parseReadLevel", () => {
  it("defaults to the freshest level", () => {
    expect(parseReadLevel(undefined)).toBe("index_and_wal");
    expect(parseReadLevel("index_only")).toBe("index_only");
    expect(parseReadLevel("index_and_bounded_wal")).toBe("index_and_bounded_wal");
  });

  it("names the levels in its refusal", () => {
    for (const value of ["all", "", null, 1]) {
      expect(refusalOf(() => parseReadLevel(value))).toBe(
        "400 read_level: must be `index_and_wal`, `index_only` or `index_and_bounded_wal`",
      );
    }
  });
});
