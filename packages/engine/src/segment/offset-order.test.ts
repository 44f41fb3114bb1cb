import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OffsetOrder } from "./offset-order.ts";

describe("docIds in insertion order", () => {
  it("are as they are while offsets ascend", () => {
    const order = new OffsetOrder();
    const offsets = Float64Array.of(3, 4, 4, 9);
    expect(order.docs(offsets, 2)).toBeNull();
    expect(order.docs(offsets, 4)).toBeNull();
  });

  it("are sorted by offset, then by docId, however rows arrive", () => {
    const offset = fc.oneof(
      fc.nat({ max: 20 }),
      fc.nat({ max: 20 }).map((n) => n * 2 ** 32 + 7),
    );
    fc.assert(
      fc.property(fc.array(fc.array(offset, { maxLength: 8 }), { maxLength: 8 }), (batches) => {
        const order = new OffsetOrder();
        const offsets = Float64Array.from(batches.flat());
        let count = 0;
        for (const batch of batches) {
          count += batch.length;
          const docs = Array.from({ length: count }, (_, i) => i);
          const expected = docs.toSorted((a, b) => offsets[a]! - offsets[b]!);
          expect([...(order.docs(offsets, count) ?? docs)]).toEqual(expected);
        }
      }),
    );
  });
});
