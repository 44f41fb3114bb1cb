import { describe, expect, it } from "vitest";
import { parsePlace, placeLink, writePlace } from "./place.ts";

describe("the address", () => {
  it("is read as it is written, whatever the names are", () => {
    const link = writePlace({
      ...{ view: "search", tenant: "a/b", database: "c?d", collection: "e#f %" },
      params: { search: '{"a": "&="}' },
    });
    expect(parsePlace(link)).toEqual({
      ...{ view: "search", tenant: "a/b", database: "c?d", collection: "e#f %", strange: null },
      params: { search: '{"a": "&="}' },
    });
  });

  it("tells what is no view, and takes none for the overview", () => {
    expect(parsePlace("#/nonsense/t")).toMatchObject({ view: "overview", strange: "nonsense", tenant: "t" });
    for (const hash of ["", "#", "#/"])
      expect(parsePlace(hash)).toMatchObject({ view: "overview", strange: null });
  });

  it("names nothing by what leads elsewhere in a path", () => {
    for (const hash of ["#/data/../../x", "#/data/%2e%2e/%2E/x"])
      expect(parsePlace(hash)).toMatchObject({ tenant: null, database: null, collection: "x" });
  });

  it("links to a view of the same collection without the state of this one", () => {
    const place = parsePlace("#/data/t/d/c?where=%7B%7D");
    expect(placeLink(place, { view: "map" })).toBe("#/map/t/d/c");
    expect(placeLink(place, { params: { record: "x" } })).toBe("#/data/t/d/c?record=x");
  });
});
