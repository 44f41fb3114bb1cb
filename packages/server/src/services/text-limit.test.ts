import { LIMITS } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { withinTextLimit } from "./text-limit.ts";

describe("withinTextLimit", () => {
  it.each(["", "short", "ü".repeat(LIMITS.textBytes / 2), "a".repeat(LIMITS.textBytes)])(
    "keeps a text at the limit or below",
    (text) => {
      expect(withinTextLimit(text)).toBe(text);
    },
  );

  it.each([
    ["a", 1],
    ["é", 2],
    ["€", 3],
    ["🙂", 4],
  ])("cuts a text of %s between characters", (character, bytes) => {
    const long = `x${character.repeat(LIMITS.textBytes)}`;
    const cut = withinTextLimit(long);
    expect(long.startsWith(cut)).toBe(true);
    expect(cut).not.toContain("\ufffd");
    expect(Buffer.byteLength(cut)).toBe(1 + bytes * Math.floor((LIMITS.textBytes - 1) / bytes));
  });
});
