import { describe, expect, it } from "vitest";
import { Admission } from "./admission.ts";

function admission(rate: number): Admission {
  return new Admission({ name: "the queue of a model", unit: "tokens", bound: 100, rate: () => rate });
}

describe("Admission", () => {
  it("admits up to its bound and refuses what exceeds it", () => {
    const gate = admission(0);
    gate.enter(60);
    gate.enter(40);
    expect(() => gate.enter(1)).toThrow("the queue of a model is full: 100 tokens wait and 1 more");
    gate.leave(1);
    gate.enter(1);
    expect(gate.waiting).toBe(100);
  });

  it("admits any request to an empty queue", () => {
    const gate = admission(0);
    gate.enter(1_000_000);
    expect(() => gate.enter(1)).toThrow("is full");
    gate.leave(1_000_000);
    gate.enter(1_000_000);
    expect(gate.waiting).toBe(1_000_000);
  });

  it("says when to come back: what waits over the speed, from 1 to 60 seconds", () => {
    const seconds = (rate: number): unknown => {
      const gate = admission(rate);
      gate.enter(100);
      try {
        gate.enter(1);
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
