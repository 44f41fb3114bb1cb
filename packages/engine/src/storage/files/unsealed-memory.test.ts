import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { UnsealedMemory } from "./unsealed-memory.ts";

const BOUNDS = { pressed: 100, most: 200, few: 10, waitMs: 60_000 };

describe("the memory of what is not sealed", () => {
  it("has segments sealed sooner, and unused collections closed, where it is too much", () => {
    const memory = new UnsealedMemory(BOUNDS);
    let pressed = 0;
    memory.onPressed = () => pressed++;
    memory.add(100);
    expect(memory.room(50)).toBeUndefined();
    expect([memory.excess, memory.isPressing(50), pressed]).toEqual([0, false, 0]);
    memory.add(20);
    expect(memory.room(50)).toBeUndefined();
    expect([memory.excess, memory.isPressing(50), memory.isPressing(9), pressed]).toEqual([
      20,
      true,
      false,
      1,
    ]);
  });

  it("lets those wait who have much already, until there is room", async () => {
    const memory = new UnsealedMemory(BOUNDS);
    memory.add(250);
    expect(memory.room(9)).toBeUndefined();
    let passed = false;
    const waited = memory.room(50)!.then(() => (passed = true));
    memory.add(-20);
    await setTimeout(1);
    expect(passed).toBe(false);
    memory.add(-40);
    await waited;
  });

  it("answers 503 where that takes too long", async () => {
    const memory = new UnsealedMemory({ ...BOUNDS, waitMs: 5 });
    memory.add(250);
    await expect(memory.room(50)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  });
});
