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
    while (queue.size > 0) served.push(queue.shift());
    expect(served).toEqual(["a2", "b1", "a3", "b2"]);
    expect(queue.shift()).toBeUndefined();
  });

  it("puts an item before those of its owner that it is told to", () => {
    const queue = new TurnQueue<number>();
    for (const item of [1, 4, 3]) queue.push("a", item, (other) => other > item);
    queue.push("b", 2);
    expect(queue.clear()).toEqual([1, 3, 4, 2]);
    expect(queue.size).toBe(0);
  });

  it("forgets what is removed, once, and keeps the turns of the others", () => {
    const queue = new TurnQueue<string>();
    for (const item of ["a1", "b1", "c1", "b2"]) queue.push(item.charAt(0), item);
    expect([queue.remove("b", "b1"), queue.remove("b", "b1"), queue.remove("d", "d1")]).toEqual([
      true,
      false,
      false,
    ]);
    expect([queue.size, queue.shift(), queue.shift(), queue.shift(), queue.size]).toEqual([
      3,
      "a1",
      "b2",
      "c1",
      0,
    ]);
  });
});
