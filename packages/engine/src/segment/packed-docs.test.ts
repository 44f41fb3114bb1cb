import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PackedDocs } from "./packed-docs.ts";
import { sortedOrder } from "./sorted-order.ts";

function whole<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

describe("PackedDocs", () => {
  it("finds rows by id and offset, and gives back what they were written with", () => {
    const ids = fc.uniqueArray(fc.string({ unit: "grapheme", maxLength: 12 }), { maxLength: 60 });
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 3 }), (names, step) => {
        const docs = names.map((id, i) => {
          return { docId: i * step, offset: (i * 7_919) % 100_003, sequence: i * 3, id };
        });
        const packed = whole(PackedDocs.write(64 * 3, docs));
        for (const { docId, offset, sequence, id } of docs) {
          expect(packed.idAt(docId)).toBe(id);
          expect([packed.offsets[docId], packed.sequences[docId]]).toStrictEqual([offset, sequence]);
          expect(packed.docOfId(id)).toBe(docId);
          expect(packed.docOfOffset(offset)).toBe(docId);
        }
        expect(packed.minOffset).toBe(Math.min(...docs.map(({ offset }) => offset)));
        expect(packed.docOfId("not there at all")).toBe(-1);
        expect(packed.docOfOffset(-1)).toBe(-1);
        expect(packed.docOfOffset(1_000_000)).toBe(-1);
      }),
    );
  });
});

describe("sortedOrder", () => {
  it("sorts whatever the length, equals in their order", () => {
    const lengths = fc.constantFrom(0, 1, 2, 1_023, 1_024, 1_025, 5_000);
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 3_000 }), (length, values) => {
        const numbers = Array.from({ length }, (_, i) => (i * 40_503) % values);
        const order = whole(sortedOrder(length, (a, b) => numbers[a]! - numbers[b]!));
        const expected = [...numbers.keys()].sort((a, b) => numbers[a]! - numbers[b]! || a - b);
        expect([...order]).toStrictEqual(expected);
      }),
      { numRuns: 30 },
    );
  });
});
