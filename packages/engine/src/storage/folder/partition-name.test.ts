import { expect, it } from "vitest";
import { collectionOf, namesOf, partitionIn, partitionName } from "./partition-name.ts";

const ID = "0f8fad5b-d9cb-469f-a165-70867728950e";

it("names a partition by its collection and its number", () => {
  expect(partitionName(ID, 12)).toBe(`${ID}.p12`);
  expect([collectionOf(`${ID}.p12`), partitionIn(`${ID}.p12`)]).toEqual([ID, 12]);
  expect([collectionOf(ID), partitionIn(ID)]).toEqual([ID, null]);
  const names = namesOf(ID);
  expect(names).toHaveLength(65);
  expect([names[0], names[1], names[64]]).toEqual([ID, `${ID}.p0`, `${ID}.p63`]);
});
