import { expect, it } from "vitest";
import { partitionOf } from "./partition-of.ts";

it("puts each id where every version of the server has to look for it", () => {
  expect(["", "a", "r17", "søk", "\u{1f600}"].map((id) => partitionOf(id, 64))).toStrictEqual([
    2, 18, 56, 42, 52,
  ]);
});

it("spreads ids evenly", () => {
  const counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < 10_000; i++) counts[partitionOf(`id ${i}`, 5)]!++;
  for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(200);
});

it("has one place where there is one partition", () => {
  expect(partitionOf("a", 1)).toBe(0);
});
