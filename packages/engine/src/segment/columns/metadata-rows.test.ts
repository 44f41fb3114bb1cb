import { type Metadata, type MetadataValue, integerArray } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MetadataRows } from "./metadata-rows.ts";

const texts = fc.oneof(
  fc.constantFrom("", "a", "ä", "日本", "x".repeat(65), "\u{1f600}", "\ud800"),
  fc.string({ maxLength: 100 }),
);
const ints = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const floats = fc.double({ noNaN: true });
const values: fc.Arbitrary<MetadataValue> = fc.oneof(
  ...[texts, ints, floats, fc.boolean()],
  ...[texts, fc.boolean()].map((member) => fc.array(member as fc.Arbitrary<never>, { maxLength: 4 })),
  ...[
    fc.array(ints, { minLength: 1, maxLength: 4 }),
    fc.array(fc.bigInt({ min: -200n, max: 200n }), { minLength: 1, maxLength: 5_000 }),
  ].map((list) => list.map(integerArray)),
  fc.array(floats, { minLength: 1, maxLength: 4 }).map((list) => Float64Array.from(list)),
  fc.constant({ indices: Uint32Array.of(3), values: Float32Array.of(1) }),
);
const keys = fc.oneof(fc.constantFrom("a", "b", "__proto__", ""), fc.string({ maxLength: 5 }));
const metadata: fc.Arbitrary<Metadata | null> = fc.option(
  fc.array(fc.tuple(keys, values), { maxLength: 6 }).map((entries) => new Map(entries)),
);

function emptied(of: Metadata | null): Metadata | null {
  if (of === null) return null;
  const isSparse = (value: MetadataValue): boolean => typeof value === "object" && "indices" in value;
  const nothing = { indices: new Uint32Array(0), values: new Float32Array(0) };
  return new Map([...of].map(([key, value]) => [key, isSparse(value) ? nothing : value]));
}

function rowsOf(list: readonly (Metadata | null)[]): MetadataRows {
  const rows = new MetadataRows();
  for (const one of list) rows.push(one);
  return rows;
}

describe("MetadataRows", () => {
  it("gives back every kind to the bit, keys in their order, sparse vectors empty", () => {
    fc.assert(
      fc.property(fc.array(metadata, { maxLength: 40 }), keys, (list, anyKey) => {
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
