/** What an export writes, an import reads as it was; and spreadsheets run none of it. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredRecord } from "../session/ask-collection.ts";
import { textCell, valueCell } from "./csv.ts";
import { exactNumber } from "./exact-json.ts";
import { asCsv, asJsonLines } from "./export-records.ts";
import { readFile } from "./read-files.ts";

const readBack = (name: string, lines: readonly string[]) => {
  const { records, refused } = readFile(name, new TextEncoder().encode(lines.join("")));
  expect(refused.shown).toEqual([]);
  return records.map(({ id, document, metadata, uri }) => ({ id, document, metadata, uri }));
};

const odd = fc.constantFrom(
  ..."=1+1 '=1 ''@a -1 +1 1990 007 true null [1] '[\"a\"] a;=1 a;'=1 \t=2 \n- ＝1 \" , 2.0 1e21 metadata.id id text".split(
    " ",
  ),
);
const text = fc.oneof(odd, fc.string({ unit: "grapheme" }), fc.string());
const key = fc.oneof(
  odd,
  fc.string({ minLength: 1 }),
  fc.constantFrom("__proto__", "constructor", "document"),
);
/** As a server writes floats. */
const float = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((of) => (Number.isInteger(of) && Math.abs(of) < 1e21 ? `${of}.0` : String(of)));
const number = fc
  .oneof(float, fc.constantFrom("2.0", "9007199254740993", "-9223372036854775808", "0", "1990"))
  .map(exactNumber);
const value = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.array(text, { minLength: 1 }),
  fc.array(number, { minLength: 1 }),
);
const metadata = fc.dictionary(key, value, { minKeys: 1, maxKeys: 4 });
const record = fc.record({
  id: fc.string({ minLength: 1 }),
  document: fc.option(text),
  metadata: fc.option(metadata),
  uri: fc.option(text),
});
const records: fc.Arbitrary<StoredRecord[]> = fc.array(record, { maxLength: 4 });

describe("an export", () => {
  it("as JSON lines is read back as it was", () => {
    fc.assert(
      fc.property(records, (stored) => {
        expect(readBack("a.jsonl", asJsonLines(stored))).toEqual(stored);
      }),
    );
  });

  it("as CSV is read back as it was", () => {
    fc.assert(
      fc.property(records, (stored) => {
        expect(readBack("a.csv", asCsv(stored))).toEqual(stored);
      }),
    );
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["-1+cmd", "'-1+cmd"],
    ["＝1", "'＝1"],
    ["\n=1", `"'\n=1"`],
    ["a;=1", "a;'=1"],
    ['=a"b', `"'=a""b"`],
    ["'=1", "''=1"],
    ["", '""'],
  ])("has for the text %j the cell %j", (of, cell) => {
    expect(textCell(of)).toBe(cell);
    expect(valueCell(of)).toBe(cell);
  });

  it.each([
    [-1, "-1"],
    ["-1", `"'-1"`],
    ["1990", '"1990"'],
    [true, "true"],
    [["=a;=b"], `"[""=a;'=b""]"`],
    [null, ""],
  ])("has for the value %j the cell %j", (of, cell) => {
    expect(valueCell(of)).toBe(cell);
  });
});
