import { describe, expect, it } from "vitest";
import { intercept } from "./intercept.ts";

class Counter {
  readonly unit = "calls";
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(by: number): number {
    this.#count += by;
    return this.#count;
  }

  fail(): Promise<never> {
    return Promise.reject(new Error("no"));
  }
}

describe("intercept", () => {
  it("hands every call over by name and leaves what is no method alone", async () => {
    const seen: string[] = [];
    const counter = intercept(new Counter(), (name, method) => (...args) => {
      seen.push(name);
      return method(...args);
    });
    expect([counter.add(2), counter.add(3), counter.unit, counter.count]).toEqual([2, 5, "calls", 5]);
    await expect(counter.fail()).rejects.toThrow("no");
    expect(seen).toEqual(["add", "add", "fail"]);
  });
});
