import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { IndexMemory, type SegmentMemory } from "../../storage/files/index-memory.ts";
import { MemoryRelief } from "./memory-relief.ts";

/** What was asked of collections that give this back when they are closed, and that when they make room. */
function relieved(memory: IndexMemory, given: { closed: SegmentMemory; made: SegmentMemory }) {
  const asked: unknown[] = [];
  const collections = {
    close: (bytes: number, restedMs: number): number => {
      asked.push([bytes, restedMs]);
      const lacking = bytes - given.closed.taken.codes;
      given.closed.close();
      return lacking;
    },
    makeRoom: (): void => {
      asked.push("room");
      given.made.giveBack("vectors");
    },
    load: (): void => void asked.push("load"),
  };
  const relief = new MemoryRelief(memory, collections, 100);
  onTestFinished(() => relief.close());
  return { relief, asked };
}

it("looks again until the memory is not short any more, and is less patient where it is by far", async () => {
  const memory = new IndexMemory(100);
  const [closed, made, rest] = [memory.forSegment(), memory.forSegment(), memory.forSegment()];
  const { relief, asked } = relieved(memory, { closed, made });
  relief.look();
  expect(made.take("vectors", 10)).toBe(true);
  rest.add("codes", 65);
  relief.look();
  await sleep(300);
  expect(asked).toEqual([]);
  closed.add("codes", 40);
  made.add("codes", 1);
  relief.look();
  relief.look();
  await expect.poll(() => memory.isShort, { timeout: 30_000 }).toBe(false);
  // Of 116 there may be 75.
  expect(asked.slice(0, 2)).toEqual([[41, 250], "room"]);
  await expect.poll(() => asked, { timeout: 30_000 }).toHaveLength(3);
  expect(asked[2]).toBe("load");
  rest.add("codes", 10);
  relief.look();
  await expect.poll(() => asked.length, { timeout: 30_000 }).toBeGreaterThan(4);
  expect(asked.slice(3, 5)).toEqual([[1, 2_000], "room"]);
  rest.close();
  await expect.poll(() => asked.at(-1), { timeout: 30_000 }).toBe("load");
  const { length } = asked;
  await sleep(600);
  expect(asked).toHaveLength(length);
});
