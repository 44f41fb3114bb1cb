/** The kernels of 4-bit codes: against their plain twins, and against what the codes mean. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { floatsToHalves, halvesToFloats, reorderForHalves } from "../../segment/dense/half-float.ts";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import { CENTROIDS, ENCODE, REFINE } from "../argument-layouts.generated.ts";
import { KernelMemory } from "../kernel-memory.ts";
import { candidates, fillBytes, fillFloats, gauss, sameBits } from "../testing/same-bits.ts";

const ROWS = 9;
const seeds = fc.integer();
const dimensions = fc.oneof(fc.integer({ min: 1, max: 130 }), fc.constantFrom(384, 1000, 1536, 4095, 4096));
const runs = { numRuns: 60 };

interface Shape {
  readonly width: number;
  readonly codeBytes: number;
}

function shapeOf(dimension: number): Shape {
  const width = Math.ceil(dimension / 16) * 16;
  return { width, codeBytes: Math.ceil(width / 32) * 16 };
}

/** Rows of bf16, and the block that encodes some of them. */
function prepareRows(memory: KernelMemory, { width, codeBytes }: Shape, next: () => number) {
  const rows = memory.allocate(ROWS * width * 2);
  const halves = memory.u16(rows, ROWS * width);
  for (let row = 0; row < ROWS; row++) {
    const vector = Float32Array.from({ length: width }, next);
    floatsToHalves(vector, { halves, lows: new Uint16Array(0), at: row * width });
  }
  const ids = Uint32Array.of(3, 0, 8, 8, 1);
  const args = memory.block(ENCODE);
  const slots = memory.allocate(ids.byteLength);
  memory.u32(slots, ids.length).set(ids);
  const codes = fillBytes(memory, ids.length * codeBytes, () => 0.5);
  const [steps, losses] = [memory.allocate(ids.length * 4), memory.allocate(ids.length * 4)];
  setFields(args, { rows, width, ids: slots, count: ids.length, codes, steps, losses });
  return { args, halves, ids, codes, steps, losses };
}

/** A query in 16 bits, as `scoreCentroids` leaves it. */
function prepareQuery(memory: KernelMemory, { width, codeBytes }: Shape, query: Float32Array) {
  const args = memory.block(CENTROIDS);
  const words = memory.allocate(codeBytes * 4);
  const inOrder = memory.allocate(width * 4);
  reorderForHalves(query, memory.f32(inOrder, width));
  args.rows = fillBytes(memory, width, () => 0.5);
  args.steps = fillFloats(memory, 1, () => 1);
  setFields(args, { width, count: 1, query: inOrder, words });
  args.limit = Math.min(32_767, Math.floor(2 ** 24 / width));
  args.out = memory.allocate(4);
  return args;
}

describe("4-bit codes", () => {
  it("are made as by the twin", () => {
    fc.assert(
      fc.property(dimensions, seeds, fc.integer({ min: -140, max: 45 }), (dimension, seed, size) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          // Now and then a row without a length.
          const next = seed % 7 === 0 ? () => 0 : () => gauss(random) * 2 ** size;
          const { args } = prepareRows(memory, shapeOf(dimension), next);
          return (kernels) => kernels.encodeNibbles(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("score and drop candidates as by the twin", () => {
    fc.assert(
      fc.property(dimensions, seeds, (dimension, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const { codeBytes } = shapeOf(dimension);
          const best = candidates(memory, 40, 0, gauss(random));
          best.count = 37;
          const ids = memory.u32(best.ids, 37);
          for (let i = 0; i < ids.length; i++) ids[i] = random() * ROWS;
          const words = memory.allocate(codeBytes * 4);
          const limit = Math.min(32_767, Math.floor(2 ** 24 / (codeBytes * 2)));
          const query = new Int16Array(memory.buffer, words, codeBytes * 2);
          for (let j = 0; j < query.length; j++) query[j] = (random() * 2 - 1) * limit;
          const args = memory.block(REFINE);
          args.codes = fillBytes(memory, ROWS * codeBytes, random);
          args.codeBytes = codeBytes;
          args.steps = fillFloats(memory, ROWS, random);
          args.losses = fillFloats(memory, ROWS, random);
          args.biases = fillFloats(memory, ROWS, () => -random());
          args.words = words;
          args.wordStep = random() / limit / 10;
          args.perLoss = random();
          args.best = best.pointer;
          return (kernels) => kernels.refineCandidates(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it.each([1, 24, 384, 1000])(
    "lose what they say, and score by what is left, in %i dimensions",
    (dimension) => {
      const random = randomOf(dimension);
      const shape = shapeOf(dimension);
      const memory = new KernelMemory(400_000);
      const { args, halves, ids, codes, steps, losses } = prepareRows(memory, shape, () => gauss(random));
      memory.kernels.encodeNibbles(args.pointer);
      const query = Float32Array.from({ length: shape.width }, () => gauss(random));
      const scorer = prepareQuery(memory, shape, query);
      memory.kernels.scoreCentroids(scorer.pointer);
      const best = candidates(memory, ids.length, 0);
      best.count = ids.length;
      memory.u32(best.ids, ids.length).set(ids.map((_, i) => i));
      const biases = fillFloats(memory, ids.length, () => -1);
      const refine = memory.block(REFINE);
      setFields(refine, { codes, codeBytes: shape.codeBytes, steps, losses, biases, words: scorer.words });
      setFields(refine, { wordStep: scorer.step, perLoss: 2 });
      refine.best = best.pointer;
      memory.kernels.refineCandidates(refine.pointer);
      for (const [i, row] of ids.entries()) {
        const vector = new Float32Array(shape.width);
        halvesToFloats(halves, row * shape.width, vector);
        const kept = decode(
          memory.u8(codes + i * shape.codeBytes, shape.codeBytes),
          memory.f32(steps, 9)[i] ?? NaN,
        );
        const loss = Math.hypot(...reordered(vector).map((x, j) => x - (kept[j] ?? NaN)));
        expect(memory.f32(losses, ids.length)[i]).toBeCloseTo(loss, 4);
        const score = reordered(query).reduce((sum, q, j) => sum + q * (kept[j] ?? NaN), 0);
        expect(memory.f32(best.scores, ids.length)[i]).toBeCloseTo(score - 1 + 2 * loss, 2);
        if (dimension >= 384) expect(loss / Math.hypot(...vector)).toBeLessThan(0.12);
      }
      memory.close();
    },
  );
});

/** The vector that a code stands for, in the order of a query for bf16 rows. */
function decode(code: Uint8Array, step: number): Float32Array {
  return Float32Array.from({ length: code.length * 2 }, (_, j) => {
    const byte = code[(j >>> 5) * 16 + (j & 15)] ?? 0;
    return (((j & 16) === 0 ? byte & 15 : byte >>> 4) - 7.5) * step;
  });
}

function reordered(vector: Float32Array): Float32Array {
  const target = new Float32Array(vector.length);
  reorderForHalves(vector, target);
  return target;
}
