import { describe, expect, it } from "vitest";
import { Admission } from "./admission.ts";

function admission(rate: number): Admission {
  return new Admission({ name: "the queue of a model", unit: "tokens", bound: 100, rate: () => rate });
}

describe("Admission", () => {
  it("admits an owner up to its bound and refuses what exceeds it", () => {
    const gate = admission(0);
    gate.enter(60, "a");
    gate.enter(40, "a");
    expect(() => gate.enter(1, "a")).toThrow(
      "the queue of a model is full: 100 tokens of yours wait and 1 more",
    );
    gate.leave(1, "a");
    gate.enter(1, "a");
    expect(gate.waiting).toBe(100);
  });

  it("admits any request of an owner for whom nothing waits", () => {
    const gate = admission(0);
    gate.enter(1_000_000, "a");
    expect(() => gate.enter(1, "a")).toThrow("is full");
    gate.leave(1_000_000, "a");
    gate.enter(1_000_000, "a");
    expect(gate.waiting).toBe(1_000_000);
  });

  it("admits others beside an owner that is at its bound, up to four bounds together", () => {
    const gate = admission(0);
    for (const owner of ["a", "b", "c", "d"]) gate.enter(100, owner);
    expect(() => gate.enter(1, "a")).toThrow("of yours wait");
    expect(() => gate.enter(1, "e")).toThrow("400 tokens wait and 1 more would exceed 400");
    gate.leave(100, "b");
    gate.enter(1, "e");
    expect(gate.waiting).toBe(301);
  });

  it("says when to come back: what waits over the speed, from 1 to 60 seconds", () => {
    const seconds = (rate: number): unknown => {
      const gate = admission(rate);
      gate.enter(100, "a");
      try {
        gate.enter(1, "a");
      } catch (error) {
        return error;
      }
      return null;
    };
    expect(seconds(0)).toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
    expect(seconds(8)).toMatchObject({ retryAfterSeconds: 13 });
    expect(seconds(10_000)).toMatchObject({ retryAfterSeconds: 1 });
    expect(seconds(0.1)).toMatchObject({ retryAfterSeconds: 60 });
  });
});
