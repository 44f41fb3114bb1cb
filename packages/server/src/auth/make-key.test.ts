import { describe, expect, it } from "vitest";
import { isMadeKey, makeKey } from "./make-key.ts";

describe("makeKey", () => {
  it("makes keys that are recognised, and never the same", () => {
    const keys = Array.from({ length: 100 }, makeKey);
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) {
      expect(isMadeKey(key)).toBe(true);
      // At least 128 bits behind the prefix.
      expect(Buffer.from(key.slice("sheaf_".length, -8), "base64url").length).toBeGreaterThanOrEqual(16);
    }
  });

  it("does not take a key with a slip of the pen for one", () => {
    const key = makeKey();
    const other = key.at(10) === "a" ? "b" : "a";
    for (const wrong of [key.slice(0, 10) + other + key.slice(11), key.slice(1), `${key}0`, ` ${key}`, ""]) {
      expect(isMadeKey(wrong)).toBe(false);
    }
  });
});
