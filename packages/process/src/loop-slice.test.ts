import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { beginSlice, isSliceOver, nextSlice, shortenTurn, wasSliceTaken } from "./loop-slice.ts";

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
