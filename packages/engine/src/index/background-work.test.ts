import { setTimeout } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { Pace } from "../query/pace.ts";
import { BackgroundWork, LONGEST_WAIT_MS } from "./background-work.ts";

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(1);
}

function busyFor(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
}

/** Tells the number of each turn of the loop, until what it returns is called. */
function countTurns(onTurn: (turn: number) => void): () => void {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    onTurn(++turn);
    if (!isOver) setImmediate(count);
  };
  count();
  return () => (isOver = true);
}

describe("BackgroundWork", () => {
  it("steps until nothing is left, and again when woken", async () => {
    let left = 5;
    let failed = false;
    const work = new BackgroundWork({ step: () => left-- > 0, onFailure: () => (failed = true) });
    work.wake();
    expect(left).toBe(5);
    await until(() => left < 0);
    left = 2;
    work.wake();
    work.wake();
    await until(() => left < 0);
    expect(failed).toBe(false);
  });

  it("wakes by itself after a while, as it was told last", async () => {
    let steps = 0;
    const work = new BackgroundWork({ step: () => ++steps < 0, onFailure: () => {} });
    work.wakeIn(3_600_000);
    work.wakeIn(1);
    await until(() => steps === 1);
    work.wakeIn(1);
    work.close();
    work.wakeIn(1);
    await setTimeout(10);
    expect(steps).toBe(1);
  });

  it("begins only after a rest", async () => {
    let begun = 0;
    const work = new BackgroundWork({ step: () => (begun = performance.now()) < 0, onFailure: () => {} });
    const restedFrom = performance.now();
    work.restFor(20);
    work.wake();
    await until(() => begun > 0);
    // Timers count whole milliseconds.
    expect(begun - restedFrom).toBeGreaterThan(18);
  });

  it("hands over what a step throws and stops", async () => {
    const failures: unknown[] = [];
    let steps = 0;
    const work = new BackgroundWork({
      step: () => {
        steps++;
        throw new RangeError("no memory");
      },
      onFailure: (error) => failures.push(error),
    });
    work.wake();
    await until(() => failures.length > 0);
    await setTimeout(5);
    expect([steps, failures]).toStrictEqual([1, [new RangeError("no memory")]]);
  });

  it("takes one step at a time where a slice is to have no length, and is awake until nothing is left", async () => {
    const turns: number[] = [];
    let turn = 0;
    const count = (): void => {
      turn++;
      if (turns.length < 4) setImmediate(count);
    };
    const step = (): boolean => turns.push(turn) < 4;
    const work = new BackgroundWork({ step, onFailure: () => {}, sliceMs: () => 0 });
    expect(work.isAwake).toBe(false);
    work.wake();
    expect(work.isAwake).toBe(true);
    count();
    await until(() => turns.length === 4);
    expect(new Set(turns).size).toBe(4);
    expect(work.isAwake).toBe(false);
  });

  it("has one slice in each turn of the loop, of whichever work", async () => {
    let now = 0;
    const turns: number[] = [];
    const endCounting = countTurns((turn) => (now = turn));
    const works = Array.from({ length: 3 }, () => {
      let left = 4;
      const step = (): boolean => turns.push(now) > 0 && --left > 0;
      return new BackgroundWork({ step, onFailure: () => {}, sliceMs: () => 0 });
    });
    for (const work of works) work.wake();
    await until(() => turns.length === 12);
    endCounting();
    expect(new Set(turns).size).toBe(12);
  });

  it("goes on in the next turn where nobody calls", async () => {
    await setTimeout(150);
    let now = 0;
    const turns: number[] = [];
    const endCounting = countTurns((turn) => (now = turn));
    // Longer than the slice.
    const step = (): boolean => {
      busyFor(0.1);
      return turns.push(now) < 8;
    };
    new BackgroundWork({ step, onFailure: () => {}, sliceMs: () => 0.05 }).wake();
    await until(() => turns.length === 8);
    endCounting();
    // The first one is that of a timer.
    const after = turns.slice(1);
    expect(after).toStrictEqual(after.map((_, i) => after[0]! + i));
  });

  it("gives way to a read in every turn but for one now and then", async () => {
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const slices: { readonly from: number; readonly to: number }[] = [];
    const step = (): boolean => {
      slices.push({ from: now, to: (now += 3) });
      return slices.length < 6;
    };
    const work = new BackgroundWork({ step, onFailure: () => {} });
    work.wake();
    const pace = new Pace(undefined);
    while (slices.length < 6) {
      now += 5;
      // So long that a timer of the background is due in each turn.
      for (const end = Date.now() + 3; Date.now() < end;);
      await pace.breathe();
    }
    vi.restoreAllMocks();
    const gaps = slices.slice(1).map(({ from }, i) => from - slices[i]!.to);
    expect(gaps).toHaveLength(5);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(LONGEST_WAIT_MS);
  });

  it("gives all works that have more to do their turn", async () => {
    const steps = [0, 0, 0];
    const works = steps.map((_, i) => {
      const step = (): boolean => {
        busyFor(0.2);
        return (steps[i]! += 1) > 0;
      };
      return new BackgroundWork({ step, onFailure: () => {} });
    });
    for (const work of works) work.wake();
    await until(() => steps.reduce((all, each) => all + each) > 300);
    for (const work of works) work.close();
    expect(Math.min(...steps)).toBeGreaterThan(50);
  });

  it("does nothing once closed", async () => {
    let steps = 0;
    const work = new BackgroundWork({ step: () => steps++ < 10, onFailure: () => {} });
    work.wake();
    work.close();
    work.wake();
    await setTimeout(10);
    expect(steps).toBe(0);
  });
});
