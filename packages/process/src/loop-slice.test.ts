import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import {
  beginSlice,
  isReadWaiting,
  isSliceOver,
  nextReadSlice,
  nextSlice,
  shortenTurn,
  wasSliceTaken,
} from "./loop-slice.ts";

it("has no slice in a turn that is short, and one in the next", async () => {
  shortenTurn();
  expect(isSliceOver()).toBe(true);
  await nextTurn();
  expect(isSliceOver()).toBe(false);
});

it("has long work go on where every turn is short", async () => {
  let isOver = false;
  const work = Promise.all(["one", "other", "one"].map(nextSlice)).then(() => (isOver = true));
  const shorten = (): void => {
    shortenTurn();
    if (!isOver) setImmediate(shorten);
  };
  shorten();
  expect(await work).toBe(true);
});

it("knows when long work began or went on last", async () => {
  beginSlice();
  expect(wasSliceTaken(1_000)).toBe(true);
  await sleep(12);
  expect(wasSliceTaken(10)).toBe(false);
  await nextSlice("");
  expect(wasSliceTaken(1_000)).toBe(true);
  await sleep(12);
  expect(wasSliceTaken(10)).toBe(false);
});

it("has reads go before what else their owner has begun, until that has waited long", async () => {
  let now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const order: string[] = [];
  const wait = (name: string, slice: (owner: string) => Promise<void>, owner = "one"): Promise<unknown> =>
    slice(owner).then(() => order.push(name));
  const work = [wait("old", nextSlice)];
  now += 20;
  work.push(wait("write", nextSlice), wait("first", nextReadSlice), wait("other", nextSlice, "other"));
  now += 5;
  work.push(wait("second", nextReadSlice));
  expect(isReadWaiting()).toBe(true);
  await Promise.all(work);
  vi.restoreAllMocks();
  expect(isReadWaiting()).toBe(false);
  expect(order).toEqual(["old", "other", "first", "second", "write"]);
});
