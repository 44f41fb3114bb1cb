import { setImmediate, setTimeout } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { Pace } from "./pace.ts";

const SLICE_MS = 5;

function busyFor(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

// What a test has left to be done in its last turn is done before the next one begins.
beforeEach(async () => {
  await setTimeout(1);
  await setImmediate();
});

describe("Pace", () => {
  it("lets the event loop turn between any two slices, whatever the number of reads", async () => {
    const order: string[] = [];
    const read = async (name: string): Promise<void> => {
      const pace = new Pace(undefined);
      for (let slice = 0; slice < 4; slice++) {
        busyFor(SLICE_MS);
        order.push(name);
        await pace.breathe();
      }
    };
    // Due in every turn, for each slice takes longer.
    const ticking = setInterval(() => order.push("turn"), 1);
    await Promise.all(["a", "b", "c", "d"].map(read));
    clearInterval(ticking);
    // The first slices began before anything could turn.
    const [first, rest] = [order.slice(0, 4), order.slice(4)];
    expect(first).toEqual(["a", "b", "c", "d"]);
    expect(rest.filter((name) => name !== "turn")).toEqual("abcdabcdabcd".split(""));
    const unturned = rest.filter((name, i) => i > 0 && name !== "turn" && rest[i - 1] !== "turn");
    expect(unturned).toEqual([]);
  });

  it("lets reads begin one in a turn once its slice is used up, tenants in turn", async () => {
    const order: string[] = [];
    const read = async (tenant: string): Promise<void> => {
      const pace = new Pace(undefined, tenant);
      if (pace.isDue) await pace.breathe();
      busyFor(SLICE_MS);
      order.push(tenant);
    };
    await Promise.all(["many", "many", "many", "many", "few"].map(read));
    expect(order).toHaveLength(5);
    // Behind the one that had begun, and one more at most.
    expect(order.indexOf("few")).toBeLessThanOrEqual(2);
  });

  it("throws after an abort, also one that comes while the read waits for its turn", async () => {
    const controller = new AbortController();
    const pace = new Pace(controller.signal);
    busyFor(SLICE_MS);
    const breath = pace.breathe();
    controller.abort();
    await expect(breath).rejects.toMatchObject({ code: "cancelled" });
    expect(() => new Pace(controller.signal)).toThrow();
  });
});
