import { describe, expect, it } from "vitest";
import { TurnQueue } from "./turn-queue.ts";

describe("TurnQueue", () => {
  it("serves owners in turn and the items of each in order", () => {
    const queue = new TurnQueue<string>();
    for (const item of ["a1", "a2", "a3"]) queue.push("a", item);
    expect(queue.shift()).toBe("a1");
    queue.push("b", "b1");
    queue.push("b", "b2");
    const served: (string | undefined)[] = [];
    while (!queue.empty) served.push(queue.shift());
    expect(served).toEqual(["a2", "b1", "a3", "b2"]);
    expect(queue.shift()).toBeUndefined();
  });
});
