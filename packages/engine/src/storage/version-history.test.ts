import { expect, it } from "vitest";
import { historyBounds } from "./version-history.ts";

const MEBIBYTE = 2 ** 20;

it.each([
  [Infinity, 64, 256],
  [3 * 1024 * MEBIBYTE, 64, 256],
  [1024 * MEBIBYTE, 64, 128],
  [160 * MEBIBYTE, 20, 20],
])("holds former versions to a part of the memory of indexes (%d bytes)", (memory, perCollection, whole) => {
  expect(historyBounds(memory)).toStrictEqual({
    perCollection: perCollection * MEBIBYTE,
    whole: whole * MEBIBYTE,
  });
});
