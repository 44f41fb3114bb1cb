import { describe, expect, it } from "vitest";
import { chosenValues, clauseToType, toggleValue, withoutValues } from "./filter.ts";

describe("values of a facet", () => {
  it("are taken beside each other, and one by one no more", () => {
    const year = { year: { $gt: 1 } };
    const both = toggleValue(toggleValue(year, "room", "sea"), "room", "garden");
    expect(both).toEqual({ $and: [year, { room: { $in: ["sea", "garden"] } }] });
    expect(chosenValues(both, "room")).toEqual(["sea", "garden"]);
    expect(chosenValues(both, "year")).toEqual([]);
    const one = toggleValue(both, "room", "sea");
    expect(one).toEqual({ $and: [year, { room: "garden" }] });
    expect(toggleValue(one, "room", "garden")).toEqual(year);
  });

  it("are those of a clause however it is written", () => {
    expect(chosenValues({ room: { $eq: "sea" } }, "room")).toEqual(["sea"]);
    expect(chosenValues({ room: { $ne: "sea" } }, "room")).toEqual([]);
    expect(chosenValues({ constructor: "c" }, "toString")).toEqual([]);
  });

  it("of another kind replace the others: a list has one kind", () => {
    expect(toggleValue({ year: "1995" }, "year", 1995)).toEqual({ year: 1995 });
  });

  it("can be left out of the filter", () => {
    expect(withoutValues({ $and: [{ room: "sea" }, { n: 1 }] }, "room")).toEqual({ n: 1 });
    expect(withoutValues({ room: { $in: ["sea", "garden"] } }, "room")).toBeNull();
  });
});

describe("a clause to type", () => {
  it("begins with a value of the key's kind", () => {
    expect(clauseToType("start", { int: {} })).toEqual({ start: { $gte: 0 } });
    expect(clauseToType("done", { bool: {} })).toEqual({ done: { $eq: true } });
    expect(clauseToType("room", { string: {} })).toEqual({ room: { $eq: "" } });
    expect(clauseToType("#document", undefined)).toEqual({ "#document": { $contains: "" } });
  });
});
