import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { IdleGc } from "./idle-gc.ts";

const WORK_MS = 100;

let memory: IdleGc | null = null;

afterEach(() => memory?.stop());

/** Something that only a collection takes away. */
function garbage(): WeakRef<object> {
  return new WeakRef({});
}

function work(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

async function isCollected(reference: WeakRef<object>, patienceMs: number): Promise<boolean> {
  for (let waited = 0; waited < patienceMs; waited += 50) {
    await sleep(50);
    if (reference.deref() === undefined) return true;
  }
  return false;
}

describe("IdleGc", () => {
  it("collects once the thread rests after much work, and again after more", async () => {
    memory = new IdleGc({ lookMs: 200, workMs: WORK_MS, grownBytes: -Infinity });
    for (let round = 0; round < 2; round++) {
      await sleep(1);
      work(2 * WORK_MS);
      expect(await isCollected(garbage(), 30_000)).toBe(true);
    }
  });

  it("leaves a heap alone that has not grown much", async () => {
    memory = new IdleGc({ lookMs: 20, workMs: WORK_MS, grownBytes: 2 ** 40 });
    const left = garbage();
    work(2 * WORK_MS);
    await sleep(2 * WORK_MS);
    expect(left.deref()).toBeDefined();
  });

  it("collects nothing when it was stopped", async () => {
    memory = new IdleGc({ lookMs: 20, workMs: WORK_MS, grownBytes: -Infinity });
    memory.stop();
    const left = garbage();
    await sleep(2 * WORK_MS);
    expect(left.deref()).toBeDefined();
  });
});
