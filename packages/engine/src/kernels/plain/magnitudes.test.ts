/** The kernels of magnitudes: against their plain twins, and against what the codes mean. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DenseSegment } from "../../segment/dense/dense-segment.ts";
import { MagnitudeCodes } from "../../segment/dense/magnitude-codes.ts";
import { LEVEL_PLANES, magnitudeBytes } from "../../segment/dense/segment-layout.ts";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import { CANDIDATES, MAGNITUDES, PLACE, ROTATE } from "../argument-layouts.generated.ts";
import { RECORD, RECORD_BYTES } from "../kernels.ts";
import { candidates, fillBytes, fillFloats, gauss, sameBits } from "../testing/same-bits.ts";

const ROWS = 9;
const seeds = fc.integer();
const sizes = fc.integer({ min: 1, max: 24 }).map((count) => count * 64);
const runs = { numRuns: 60 };

function codeBytesOf(size: number): number {
  return Math.ceil(size / 128) * 16;
}

describe("magnitudes", () => {
  it("are made as by the twin", () => {
    fc.assert(
      fc.property(sizes, seeds, fc.integer({ min: -60, max: 40 }), (size, seed, scale) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const next = seed % 7 === 0 ? () => 0 : () => gauss(random) * 2 ** scale;
          const rotation = memory.block(ROTATE);
          setFields(rotation, { vector: fillFloats(memory, size, next), size });
          setFields(rotation, { window: 2 ** Math.floor(Math.log2(size)) });
          rotation.signs = fillFloats(memory, size * 4, () => (random() < 0.5 ? -0.125 : 0.125));
          const place = memory.block(PLACE);
          setFields(place, { vector: fillFloats(memory, size, next), width: size });
          setFields(place, { centroid: fillFloats(memory, size, next), rotation: rotation.pointer });
          setFields(place, { halves: memory.allocate(size * 2), code: memory.allocate(size / 8) });
          place.block = memory.allocate(size * 4);
          place.magnitudes = memory.allocate(magnitudeBytes(codeBytesOf(size)));
          return (kernels) => kernels.placeVector(place.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("score and drop candidates as by the twin", () => {
    fc.assert(
      fc.property(sizes, seeds, (size, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const codeBytes = codeBytesOf(size);
          const best = candidates(memory, 40, 0, gauss(random));
          best.count = 37;
          const ids = memory.u32(best.ids, 37);
          for (let i = 0; i < ids.length; i++) ids[i] = random() * ROWS;
          const args = memory.block(MAGNITUDES);
          const stride = codeBytes + RECORD_BYTES;
          args.records = fillBytes(memory, ROWS * stride, random);
          const rest = (row: number): number => args.records + row * stride + codeBytes;
          for (let row = 0; row < ROWS; row++) {
            memory.f32(rest(row), 4).set([gauss(random), -random(), 0, 0]);
            memory.u32(rest(row), 4)[RECORD.list] = random() * 8;
          }
          args.magnitudes = fillBytes(memory, ROWS * magnitudeBytes(codeBytes), random);
          for (let row = 0; row < ROWS; row++)
            memory
              .f32(args.magnitudes + row * magnitudeBytes(codeBytes) + 2 * codeBytes, 2)
              .set([random(), random() / 9]);
          args.planes = fillBytes(memory, codeBytes * LEVEL_PLANES, random);
          args.bases = fillFloats(memory, 8, () => gauss(random));
          setFields(args, { codeBytes, size, total: Math.floor(random() * size * 31) });
          setFields(args, { scale: random(), low: -random() * 15, perError: random() * 3 });
          args.best = best.pointer;
          return (kernels) => kernels.scoreMagnitudes(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe.each([3, 64, 100, 384, 1024])("rows of %i dimensions", (dimension) => {
  it.each(["l2", "ip"] as const)("are estimated as near as their codes say, in %s", (space) => {
    const random = randomOf(dimension);
    const shape = { space, dimension, origin: null };
    const count = 512;
    const whole = new DenseSegment(shape, count, { lists: 2, magnitudes: true }, "bf16");
    const { width } = whole.layout;
    const vectorOf = (length: number): Float32Array =>
      Float32Array.from({ length: width }, (_, j) => (j < dimension ? gauss(random) * length : 0));
    const centroids = [vectorOf(0.5), vectorOf(0.5)];
    for (const [list, centroid] of centroids.entries()) whole.setCentroid(list, centroid);
    const rows = Array.from({ length: count }, () => vectorOf(1));
    for (const [slot, row] of rows.entries()) whole.place(slot, slot < count / 2 ? 0 : 1, row);
    const segment = whole.keeping("none");
    whole.close();
    const { layout, rotation } = segment;
    const { memory, at } = layout;
    const query = vectorOf(1);
    const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
      Array.from(a).reduce((sum, x, j) => sum + x * b[j]!, 0);
    memory
      .f32(at.bases, 2)
      .set([0, 1].map((list) => dot(segment.centroids.subarray(list * width, (list + 1) * width), query)));
    const best = memory.block(CANDIDATES);
    setFields(best, { ids: at.candidateIds, scores: at.candidateScores, capacity: count, count });
    best.threshold = -Infinity;
    memory.u32(at.candidateIds, count).forEach((_, i, ids) => (ids[i] = i));
    const codes = new MagnitudeCodes(segment, best.pointer);
    expect(codes.isUsed).toBe(true);
    rotation.vector.fill(0);
    rotation.vector.set(query);
    rotation.run();
    // The length is what errors count by: without one scores are the estimates themselves.
    const estimatesBy = (length: number): Float32Array => {
      codes.forget();
      codes.refine({ nearest: {}, length, rotated: { levels: null } } as Parameters<
        MagnitudeCodes["refine"]
      >[0]);
      return memory.f32(at.candidateScores, count).slice();
    };
    const estimates = estimatesBy(0);
    const bounds = estimatesBy(Math.sqrt(dot(query, query)));
    let [squares, deviations, missed] = [0, 0, 0];
    for (const [slot, row] of rows.entries()) {
      const score = dot(row, query) + segment.biases[slot]!;
      squares += (estimates[slot]! - score) ** 2;
      deviations += ((bounds[slot]! - estimates[slot]!) / Math.min(2.5, Math.sqrt(layout.size))) ** 2;
      if (bounds[slot]! < score) missed++;
    }
    expect(missed / count).toBeLessThan(0.02);
    if (dimension < 64) return;
    expect(Math.sqrt(squares / deviations)).toBeGreaterThan(0.8);
    expect(Math.sqrt(squares / deviations)).toBeLessThan(1.2);
    // Signs alone leave 0.75 of a residual's length, in one of the dimensions.
    const residual = rows.map((row, slot) =>
      Math.sqrt(row.reduce((sum, x, j) => sum + (x - centroids[slot < count / 2 ? 0 : 1]![j]!) ** 2, 0)),
    );
    const typical = Math.sqrt(dot(residual, residual) / count / dimension) * Math.sqrt(dot(query, query));
    expect(Math.sqrt(squares / count) / typical).toBeLessThan(0.24);
    segment.close();
  });
});
