import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { at, gaussOf, randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import { NEAREST, SUM, WORDS } from "../argument-layouts.generated.ts";
import type { KernelMemory } from "../kernel-memory.ts";
import { fillFloats, sameBits } from "../testing/same-bits.ts";

/** Vectors in 16 bits, by a kernel that is still to run. */
function words(memory: KernelMemory, width: number, count: number, next: () => number) {
  const args = memory.block(WORDS);
  const vectors = fillFloats(memory, width * count, next);
  const [at16, steps] = [memory.allocate(width * count * 2), memory.allocate(count * 4)];
  setFields(args, { vectors, width, count, words: at16, steps });
  return args;
}

function squaredDistance(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, j) => sum + (x - at(b, j)) ** 2, 0);
}

describe("nearest centroids", () => {
  it("are those of the twin, which are the nearest but for what 16 bits lose", () => {
    fc.assert(
      fc.property(
        fc.record({
          width: fc.constantFrom(16, 48, 384, 1_024),
          vectorFours: fc.integer({ min: 1, max: 6 }),
          centroidFours: fc.integer({ min: 1, max: 5 }),
          scale: fc.constantFrom(2 ** -30, 1, 2 ** 40),
          seed: fc.integer(),
        }),
        ({ width, vectorFours, centroidFours, scale, seed }) => {
          const [count, centroidCount] = [vectorFours * 4, centroidFours * 4];
          const found: { nearest: Uint32Array; vectors: Float32Array; centroids: Float32Array }[] = [];
          const same = sameBits((memory) => {
            const gauss = gaussOf(randomOf(seed));
            const next = (): number => gauss() * scale;
            const vectors = words(memory, width, count, next);
            const centroids = words(memory, width, centroidCount, next);
            const rows = memory.f32(centroids.vectors, width * centroidCount);
            const squares = fillFloats(memory, centroidCount, () => 0);
            memory.f32(squares, centroidCount).forEach((_, i, halves) => {
              halves[i] = rows.subarray(i * width, (i + 1) * width).reduce((sum, x) => sum + x * x, 0) / 2;
            });
            const args = memory.block(NEAREST);
            setFields(args, { words: vectors.words, steps: vectors.steps, width, count });
            setFields(args, { centroids: centroids.words, centroidSteps: centroids.steps, centroidCount });
            setFields(args, { halfSquares: squares, out: memory.allocate(count * 4) });
            const sum = memory.block(SUM);
            setFields(sum, { words: vectors.words, step: 2, width });
            sum.sums = fillFloats(memory, width, next);
            return (kernels) => {
              kernels.toWords(vectors.pointer);
              kernels.toWords(centroids.pointer);
              kernels.nearestCentroids(args.pointer);
              kernels.addWords(sum.pointer);
              found.push({
                nearest: memory.u32(args.out, count),
                vectors: memory.f32(vectors.vectors, width * count),
                centroids: rows,
              });
            };
          });
          expect(same).toBe(true);
          const { nearest, vectors, centroids } = found[0]!;
          for (const [i, chosen] of nearest.entries()) {
            const vector = vectors.subarray(i * width, (i + 1) * width);
            const distances = Array.from({ length: centroidCount }, (_, c) =>
              squaredDistance(vector, centroids.subarray(c * width, (c + 1) * width)),
            );
            expect(at(distances, chosen)).toBeLessThanOrEqual(Math.min(...distances) * 1.001);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it("do not overflow where a vector is its centroid, all in one element or in all of them", () => {
    for (const isSpread of [false, true]) {
      const dots: number[] = [];
      const same = sameBits((memory) => {
        const width = 4_096;
        let j = 0;
        const next = (): number => (isSpread || j++ % width === 0 ? 3 : 0);
        const vectors = words(memory, width, 4, next);
        const args = memory.block(NEAREST);
        setFields(args, { words: vectors.words, steps: vectors.steps, width, count: 4 });
        setFields(args, { centroids: vectors.words, centroidSteps: vectors.steps, centroidCount: 4 });
        // The last is the nearest by less than what an overflow would take.
        const halfSquares = fillFloats(memory, 4, () => 3);
        memory.f32(halfSquares, 4)[3] = 2;
        setFields(args, { halfSquares, out: memory.allocate(16) });
        return (kernels) => {
          kernels.toWords(vectors.pointer);
          kernels.nearestCentroids(args.pointer);
          dots.push(...memory.u32(args.out, 4));
        };
      });
      expect(same).toBe(true);
      expect(dots).toEqual(Array.from({ length: 8 }, () => 3));
    }
  });
});
