import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TopK } from "./top-k.ts";
import { compareTotal } from "./total-order.ts";

const distances = fc.oneof(fc.constantFrom(0, -0, 1, Infinity, Number.NaN), fc.float({ noNaN: true }));

describe("TopK", () => {
  it("keeps what a full sort would keep, in its order", () => {
    fc.assert(
      fc.property(fc.array(distances, { maxLength: 300 }), fc.integer({ min: 1, max: 320 }), (list, k) => {
        // Offsets descend, so that the order of pushes is not the order of ties.
        const rows = list.map((distance, i) => ({ distance, offset: list.length - i, position: i }));
        const top = new TopK(k);
        for (const { distance, offset, position } of rows) top.push(distance, offset, position);
        const expected = rows
          .sort((a, b) => compareTotal(a.distance, b.distance) || a.offset - b.offset)
          .slice(0, k);
        const { positions, distances: found, offsets } = top.sorted();
        expect([...positions]).toStrictEqual(expected.map(({ position }) => position));
        expect([...found]).toStrictEqual(expected.map(({ distance }) => distance));
        expect([...offsets]).toStrictEqual(expected.map(({ offset }) => offset));
      }),
    );
  });
});
