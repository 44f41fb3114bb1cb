import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Random, randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import { FLOATS, PLACE, ROTATE } from "../argument-layouts.generated.ts";
import { norm } from "../distance.ts";
import { fillFloats, sameBits } from "../testing/same-bits.ts";

const spread = (random: Random) => (random() - 0.5) * 2 ** Math.floor(random() * 40 - 20);

describe("a vector in its slot", () => {
  it("is placed as by the twin, and read as it was", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.boolean(),
        fc.integer(),
        (sixteens, keepsLows, seed) => {
          const width = sixteens * 16;
          const size = Math.ceil(width / 64) * 64;
          const read: Float32Array[] = [];
          let vector: Float32Array = new Float32Array(0);
          const lengths: number[] = [];
          const same = sameBits((memory) => {
            const random = randomOf(seed);
            const next = seed % 9 === 0 ? () => 0 : () => spread(random);
            const rotation = memory.block(ROTATE);
            setFields(rotation, { vector: fillFloats(memory, size, next), size });
            setFields(rotation, { window: 2 ** Math.floor(Math.log2(size)) });
            rotation.signs = fillFloats(memory, size * 4, () => (random() < 0.5 ? -0.125 : 0.125));
            const place = memory.block(PLACE);
            setFields(place, { vector: fillFloats(memory, width, next), width, rotation: rotation.pointer });
            setFields(place, {
              centroid: fillFloats(memory, width, next),
              halves: memory.allocate(width * 2),
            });
            setFields(place, { lows: keepsLows ? memory.allocate(width * 2) : 0 });
            setFields(place, { code: memory.allocate(size / 8), block: memory.allocate(size * 4) + 5 });
            const floats = memory.block(FLOATS);
            setFields(floats, { halves: place.halves, lows: place.lows, width });
            floats.floats = memory.allocate(width * 4);
            vector = memory.f32(place.vector, width);
            return (kernels) => {
              kernels.placeVector(place.pointer);
              kernels.readFloats(floats.pointer);
              read.push(memory.f32(floats.floats, width));
              lengths.push(place.length, place.loss);
            };
          });
          expect(same).toBe(true);
          const [floats] = read;
          const lost = norm(vector.map((x, j) => x - floats![j]!));
          if (keepsLows) expect(floats).toEqual(vector);
          else expect(lengths[1]! / lost || 1).toBeCloseTo(1, 5);
          expect(lengths[0]! / norm(vector) || 1).toBeCloseTo(1, 6);
        },
      ),
      { numRuns: 60 },
    );
  });
});
