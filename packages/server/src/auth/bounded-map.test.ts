import { expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

it("keeps what was set or looked up last", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  expect([...map.entries()]).toEqual([
    ["a", 1],
    ["c", 3],
  ]);
  map.replace("a", 4);
  map.set("d", 5);
  expect([...map.entries()].map(([key]) => key)).toEqual(["c", "d"]);
  map.delete("c");
  expect(map.get("c")).toBeUndefined();
  map.clear();
  expect([...map.entries()]).toEqual([]);
});
