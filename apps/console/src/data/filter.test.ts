import { describe, expect, it } from "vitest";
import { hasValue, toggleValue } from "./filter.ts";

describe("a click on a value", () => {
  it("adds a clause, and the next one takes it away", () => {
    const once = toggleValue({ year: { $gt: 1 } }, "room", "sea");
    expect(once).toEqual({ $and: [{ year: { $gt: 1 } }, { room: "sea" }] });
    expect(hasValue(once, "room", "sea")).toBe(true);
    expect(toggleValue(once, "room", "sea")).toEqual({ year: { $gt: 1 } });
    expect(toggleValue({ room: "sea" }, "room", "sea")).toBeNull();
    expect(toggleValue(null, "n", 1)).toEqual({ n: 1 });
  });
});
