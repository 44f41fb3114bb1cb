import { expect, it } from "vitest";
import { movesOf, summaryOf } from "./moves.ts";
import type { Hit } from "./run-search.ts";

const hit = { document: null, metadata: null, score: null, trace: null, highlights: [] };
const found = (ids: string): { readonly hits: readonly Hit[] } => ({
  hits: ids
    .split(" ")
    .filter((id) => id !== "")
    .map((id) => ({ ...hit, id })),
});

it("says what each record has moved, and sums it up", () => {
  const [before, now] = [found("a b c d"), found("c x b a")];
  expect([...movesOf(before, now)]).toEqual([
    ["c", "up 2"],
    ["x", "new"],
    ["b", "down 1"],
    ["a", "down 3"],
  ]);
  expect(summaryOf(before, now)).toBe("1 moved up, 2 moved down, 1 new, 1 gone.");
  expect(summaryOf(before, before)).toBe("4 in the same place.");
  expect(summaryOf(found(""), found(""))).toBe("Both find nothing.");
});
