import type { Metadata, MetadataValue } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSteps } from "../../storage/steps.ts";
import { arbitraryKey, arbitraryMetadata } from "../testing/arbitrary-metadata.ts";
import { MetadataRows } from "./metadata-rows.ts";

function emptied(of: Metadata | null): Metadata | null {
  if (of === null) return null;
  const isSparse = (value: MetadataValue): boolean => typeof value === "object" && "indices" in value;
  const nothing = { indices: new Uint32Array(0), values: new Float32Array(0) };
  return new Map([...of].map(([key, value]) => [key, isSparse(value) ? nothing : value]));
}

function rowsOf(list: readonly (Metadata | null)[]): MetadataRows {
  const rows = new MetadataRows();
  for (const one of list) runSteps(rows.push(one));
  return rows;
}

describe("MetadataRows", () => {
  it("writes and reads a long array in steps, between which other rows are read", () => {
    const long: Metadata = new Map<string, MetadataValue>([
      ["before", 1n],
      ["texts", Array.from({ length: 50_000 }, (_, i) => `text ${i}`)],
      ["flags", Array.from({ length: 70_000 }, (_, i) => i % 3 === 0)],
    ]);
    const short: Metadata = new Map([["texts", ["text 7", "other"]]]);
    const rows = rowsOf([short, long, short]);
    let steps = 0;
    for (const _ of rows.push(long)) {
      steps++;
      expect(rows.length).toBe(3);
      expect(rows.get(2)).toEqual(short);
    }
    expect(rows.length).toBe(4);
    expect(steps).toBeGreaterThan(20);
    const reading = rows.getInSteps(3);
    let step = reading.next();
    for (; step.done !== true; step = reading.next()) {
      steps--;
      expect(rows.value(0, "texts")).toEqual(["text 7", "other"]);
    }
    expect(steps).toBeLessThan(5);
    expect(step.value).toEqual(long);
    expect(rows.get(3)).toEqual(long);
  });

  it("gives back every kind to the bit, keys in their order, sparse vectors empty", () => {
    fc.assert(
      fc.property(fc.array(arbitraryMetadata, { maxLength: 40 }), arbitraryKey, (list, anyKey) => {
        const rows = rowsOf(list);
        expect(rows.length).toBe(list.length);
        for (const [row, original] of list.entries()) {
          const expected = emptied(original);
          const read = rows.get(row);
          expect(read).toStrictEqual(expected);
          expect([...(read?.keys() ?? [])]).toEqual([...(expected?.keys() ?? [])]);
          for (const key of [...(expected?.keys() ?? []), anyKey])
            expect(rows.value(row, key)).toStrictEqual(expected?.get(key));
        }
      }),
    );
  });

  it("holds rows of which each is longer than a buffer", () => {
    const list = Array.from({ length: 5 }, (_, row) => new Map([["text", String(row).repeat(2_000_000)]]));
    const rows = rowsOf([...list, null]);
    for (const [row, original] of list.entries()) expect(rows.get(row)).toStrictEqual(original);
    expect(rows.get(5)).toBeNull();
    expect(rows.totalBytes).toBeGreaterThanOrEqual(10_000_000);
  });

  it("holds more rows than a block and more texts than are kept once", () => {
    const list = Array.from({ length: 6_000 }, (_, row) =>
      row % 7 === 0
        ? null
        : new Map<string, MetadataValue>([
            ["title", `title ${row}`],
            ["row", BigInt(row)],
          ]),
    );
    const rows = rowsOf(list);
    for (const [row, original] of list.entries()) {
      expect(rows.get(row)).toStrictEqual(original);
      expect(rows.value(row, "title")).toBe(original?.get("title"));
    }
  });
});
