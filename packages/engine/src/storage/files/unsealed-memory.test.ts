import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { UnsealedMemory, unsealedBounds } from "./unsealed-memory.ts";

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
    expect(memory.room(9)).toBeUndefined();
    expect(memory.room(50)).toBeInstanceOf(Promise);
    expect([memory.excess, memory.isPressing(50), memory.isPressing(9), pressed]).toEqual([
      20,
      true,
      false,
      2,
    ]);
  });

  it("slows those down who have much already, the more the nearer it is to the bound", async () => {
    const most = 2 ** 26;
    const memory = new UnsealedMemory(unsealedBounds(most));
    memory.add((3 / 4) * most);
    expect(memory.room(most / 2)).toBeUndefined();
    const pauses = [];
    for (let i = 0; i < 3; i++) {
      memory.add(most / 100);
      pauses.push(memory.pauseMs);
      const paused = memory.room(most / 2);
      expect(memory.pauseMs).toBe(0);
      await paused;
    }
    expect(pauses[0]).toBeGreaterThan(0);
    expect(pauses[1]! / pauses[0]!).toBeCloseTo(2);
    expect(pauses[2]! / pauses[0]!).toBeCloseTo(3);
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

  it("counts what was sealed and has no file as well, where that is too much", async () => {
    const memory = new UnsealedMemory(BOUNDS);
    memory.add(20);
    memory.setUnfiled(230);
    expect([memory.bytes, memory.excess]).toEqual([20, 150]);
    expect(memory.room(9)).toBeUndefined();
    let passed = false;
    const waited = memory.room(50)!.then(() => (passed = true));
    memory.setUnfiled(180);
    await setTimeout(1);
    expect(passed).toBe(false);
    memory.setUnfiled(10);
    await waited;
    expect(memory.room(50)).toBeUndefined();
  });

  it("answers 503 where that takes too long", async () => {
    const memory = new UnsealedMemory({ ...BOUNDS, waitMs: 5 });
    memory.add(250);
    await expect(memory.room(50)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  });
});
