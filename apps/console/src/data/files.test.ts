/** What is read from files and written to them. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvCell, csvLine, parseCsv } from "./csv.ts";
import { hasValue, toggleValue } from "./filter.ts";
import { piecesOf, readFile } from "./read-files.ts";

describe("CSV", () => {
  it("reads back what it has written", () => {
    const cell = fc.string({ minLength: 1 }).filter((text) => !/^[=+\-@\t\r]/u.test(text));
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }));
    fc.assert(
      fc.property(rows, (table) => {
        expect(parseCsv(table.map(csvLine).join(""))).toEqual(table);
      }),
    );
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["-1+cmd", "'-1+cmd"],
    ["+1", "'+1"],
    ['=a"b', `"'=a""b"`],
    [-1, "-1"],
    [null, ""],
  ])("a cell of %j is %j", (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });
});

describe("a file as records", () => {
  it("loses no word of a text and keeps pieces short", () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/u), { minLength: 1, maxLength: 500 });
    fc.assert(
      fc.property(words, (list) => {
        const pieces = piecesOf(list.join(" "), 20);
        expect(pieces.join(" ").split(/\s+/u)).toEqual(list);
        expect(pieces.every((piece) => piece.length <= 50)).toBe(true);
      }),
    );
  });

  it("names the lines that it cannot read, and goes on", () => {
    const { records, problems } = readFile("a.jsonl", '{"id": 1, "text": "x", "n": 2}\n[]\nno\n', 256);
    expect(records).toEqual([{ id: "1", document: "x", metadata: { n: 2 } }]);
    expect(problems).toEqual([expect.stringMatching(/^line 2/u), expect.stringMatching(/^line 3/u)]);
  });
});

describe("a click on a value", () => {
  it("adds a clause, and the next one takes it away", () => {
    const once = toggleValue({ year: { $gt: 1 } }, "room", "sea");
    expect(once).toEqual({ $and: [{ year: { $gt: 1 } }, { room: "sea" }] });
    expect(hasValue(once, "room", "sea")).toBe(true);
    expect(toggleValue(once, "room", "sea")).toEqual({ year: { $gt: 1 } });
    expect(toggleValue({ room: "sea" }, "room", "sea")).toBeNull();
    expect(toggleValue(null, "n", 1)).toEqual({ n: 1 });
  });
});
