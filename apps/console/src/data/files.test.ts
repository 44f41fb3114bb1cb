/** What is read from files and written to them. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvCell, csvLine } from "./csv.ts";
import { hasValue, toggleValue } from "./filter.ts";
import { parseCsv, readFile } from "./read-files.ts";

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

describe("CSV", () => {
  it("reads back what it has written", () => {
    const cell = fc.string({ minLength: 1 }).filter((text) => !/^[=+\-@\t\r]/u.test(text));
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }));
    fc.assert(
      fc.property(rows, (table) => {
        const head = ["id", "text"];
        expect(parseCsv([head, ...table].map(csvLine).join(""))).toEqual([head, ...table]);
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
  it("leaves it to the server to cut what it takes whole", () => {
    const document = "# Tides\n\nShips leave. They come back.\n";
    const records = [{ id: "a.md", document, metadata: { source: "a.md" } }];
    expect(readFile("a.md", bytes(document))).toMatchObject({ records, chunking: { by: "headings" } });
    expect(readFile("a.txt", bytes(document))).toMatchObject({ chunking: { by: "sentences" } });
  });

  it("is a row each, whatever parts the cells", () => {
    const { records, chunking } = readFile("a.csv", bytes('\uFEFFid;text;n\n1;"a;""b""";2\n;c;\n'));
    expect(chunking).toBeNull();
    expect(records).toEqual([
      { id: "1", document: 'a;"b"', metadata: { n: "2" } },
      { id: "a.csv#2", document: "c", metadata: null },
    ]);
  });

  it.each([
    ["a.csv", bytes('id,text\n1,"never closed'), /quote/iu],
    ["a.md", Uint8Array.of(0xff, 0xfe), /UTF-8/u],
    ["a.txt", bytes(" \n"), /empty/u],
  ])("says why %s is of no use", (name, content, problem) => {
    expect(readFile(name, content)).toMatchObject({
      records: [],
      problems: [expect.stringMatching(problem)],
    });
  });

  it("names the lines that it cannot read, and goes on", () => {
    const { records, problems } = readFile("a.jsonl", bytes('{"id": 1, "text": "x", "n": 2}\n[]\nno\n'));
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
