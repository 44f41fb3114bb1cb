import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { isSliceOver, nextSlice, shortenTurn } from "./loop-slice.ts";

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
