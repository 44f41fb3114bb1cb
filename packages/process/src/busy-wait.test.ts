import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BusyWait, quotaOf } from "./busy-wait.ts";

/** How much of some milliseconds this thread's event loop was awake for: to be asked again where the machine held it up. */
async function awakeShare(milliseconds: number): Promise<number> {
  const before = performance.eventLoopUtilization();
  await sleep(milliseconds);
  return performance.eventLoopUtilization(before).utilization;
}

describe("BusyWait", () => {
  it("keeps the event loop awake until its end, which it may put off", async () => {
    const wait = new BusyWait();
    wait.begin(1);
    wait.begin(600_000);
    await expect.poll(() => awakeShare(100)).toBeGreaterThan(0.9);
    wait.end();
    await expect.poll(() => awakeShare(100)).toBeLessThan(0.5);
    wait.begin(600_000);
    await expect.poll(() => awakeShare(100)).toBeGreaterThan(0.9);
    wait.begin(1);
    await expect.poll(() => awakeShare(100)).toBeLessThan(0.5);
  });
});

describe("quotaOf", () => {
  it.each([
    ["max 100000\n", Infinity],
    ["", Infinity],
    ["150000 100000\n", 1.5],
    ["400000 100000", 4],
  ])("reads %j as %s cores", (text, cores) => {
    expect(quotaOf(text)).toBe(cores);
  });
});
