import { describe, expect, it } from "vitest";
import { CodeCopies } from "./code-copies.ts";
import { DenseSegment } from "./dense-segment.ts";
import { gaussOf, randomOf } from "./testing/data-sets.ts";

const DIMENSION = 24;
const CAPACITY = 256;

/** A segment of two lists, one after the other, with something else in every slot. */
function filledSegment(): DenseSegment {
  const gauss = gaussOf(randomOf(7));
  const segment = new DenseSegment({ space: "l2", dimension: DIMENSION }, CAPACITY, 2);
  segment.setCentroid(1, new Float32Array(segment.layout.width).fill(1));
  for (let slot = 0; slot < CAPACITY; slot++) {
    const vector = new Float32Array(segment.layout.width);
    for (let j = 0; j < DIMENSION; j++) vector[j] = gauss();
    segment.place(slot, slot, slot < CAPACITY / 2 ? 0 : 1, vector);
  }
  return segment;
}

/** The code bytes of the i-th row of blocks for FastScan. */
function codeOf(blocks: Uint8Array, i: number, codeBytes: number): number[] {
  const first = (i >>> 5) * codeBytes * 32 + (i & 31);
  return Array.from({ length: codeBytes }, (_, byte) => blocks[first + byte * 32] ?? -1);
}

describe("CodeCopies", () => {
  it("copies the codes of slots that are asked for a second time", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    const slots = Uint32Array.from({ length: 70 }, (_, i) => i * 3 + 1);
    expect(copies.of(slots)).toBeNull();
    const copy = copies.of(slots);
    const { memory, at, codeBytes } = segment.layout;
    const blocks = memory.u8(at.blocks, CAPACITY * codeBytes);
    const factors = memory.f32(at.factors, CAPACITY);
    for (const [i, slot] of slots.entries()) {
      expect(codeOf(copy?.blocks ?? new Uint8Array(0), i, codeBytes)).toEqual(
        codeOf(blocks, slot, codeBytes),
      );
      expect(copy?.factors[i]).toBe(factors[slot]);
      expect(copy?.biases[i]).toBe(segment.biases[slot]);
      expect(copy?.lists[i]).toBe(slot < CAPACITY / 2 ? 0 : 1);
    }
    expect(copies.of(slots)).toBe(copy);
    expect(copies.of(slots.slice())).toBeNull();
    segment.close();
  });

  it("forgets the copies used longest ago, and keeps no more than the records of the rows take", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    const { codeBytes, recordCodeBytes } = segment.layout;
    const fit = Math.floor((CAPACITY * (recordCodeBytes + 16)) / (64 * (codeBytes + 10)));
    expect(fit).toBeGreaterThan(2);
    const filters = Array.from({ length: fit + 1 }, (_, i) =>
      Uint32Array.from({ length: 64 }, (__, j) => i + j),
    );
    const copyOf = (i: number): unknown => copies.of(filters[i]!) ?? copies.of(filters[i]!);
    const made = filters.slice(0, fit).map((_, i) => copyOf(i));
    expect(made.map((copy, i) => copyOf(i) === copy)).not.toContain(false);
    // The first is used again, so the new one takes the place of the second.
    copyOf(0);
    copyOf(fit);
    const others = [...made.keys()].filter((i) => i !== 1);
    expect(others.map((i) => copyOf(i) === made[i])).not.toContain(false);
    expect(copyOf(1)).not.toBe(made[1]);
    segment.close();
  });
});
