import { describe, expect, it } from "vitest";
import { RecentOwners } from "./recent-owners.ts";

describe("RecentOwners", () => {
  it("tells whether others have sent work within the window", () => {
    const owners = new RecentOwners(1_000);
    expect(owners.othersThan("a", 0)).toBe(false);
    owners.note("a", 0);
    expect([owners.othersThan("a", 0), owners.othersThan("b", 0)]).toEqual([false, true]);
    owners.note("b", 100);
    owners.note("b", 200);
    expect([owners.othersThan("a", 1_100), owners.othersThan("b", 999)]).toEqual([true, true]);
    expect([owners.othersThan("a", 1_200), owners.othersThan("b", 1_001)]).toEqual([false, false]);
    owners.note("a", 2_000);
    expect([owners.othersThan("b", 2_001), owners.othersThan("a", 2_001)]).toEqual([true, false]);
  });
});
