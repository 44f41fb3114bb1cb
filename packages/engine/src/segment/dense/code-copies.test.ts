import { describe, expect, it } from "vitest";
import { IndexMemory } from "../../storage/files/index-memory.ts";
import { CodeCopies, copyingShare, endlessShare } from "./code-copies.ts";
import { DenseSegment } from "./dense-segment.ts";
import { halvesToFloats } from "./half-float.ts";
import { COPIED_PER_CALL, copiedRows } from "./segment-layout.ts";
import { gaussOf, randomOf } from "./testing/data-sets.ts";

const DIMENSION = 24;
const CAPACITY = 4_096;

/** A segment of two lists, one after the other, with something else in every slot. */
function filledSegment(kept?: "none"): DenseSegment {
  const gauss = gaussOf(randomOf(7));
  const segment = new DenseSegment(
    { space: "l2", dimension: DIMENSION, origin: null },
    CAPACITY,
    { lists: 2 },
    kept,
  );
  segment.setCentroid(1, new Float32Array(segment.layout.width).fill(1));
  for (let slot = 0; slot < CAPACITY; slot++) {
    const vector = new Float32Array(segment.layout.width);
    for (let j = 0; j < DIMENSION; j++) vector[j] = gauss();
    segment.place(slot, slot < CAPACITY / 2 ? 0 : 1, vector);
  }
  return segment;
}

/** The code bytes of the i-th row of blocks for FastScan. */
function codeOf(blocks: Uint8Array, i: number, codeBytes: number): number[] {
  const first = (i >>> 5) * codeBytes * 32 + (i & 31);
  return Array.from({ length: codeBytes }, (_, byte) => blocks[first + byte * 32] ?? -1);
}

/** Every third slot but the first: more than one chunk. */
const SLOTS = Uint32Array.from({ length: COPIED_PER_CALL + 70 }, (_, i) => i * 3 + 1);

describe("CodeCopies", () => {
  it("copies the codes of slots that are asked for a second time", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    expect(copies.of(SLOTS, endlessShare())).toBeNull();
    const copy = copies.of(SLOTS, endlessShare()) ?? [];
    expect(copy).toHaveLength(2);
    const { memory, at, codeBytes } = segment.layout;
    const rows = copiedRows(CAPACITY);
    const blocks = memory.u8(at.blocks, CAPACITY * codeBytes);
    const copied = memory.u8(at.copiedBlocks, rows * codeBytes);
    for (const [i, slot] of SLOTS.entries()) {
      const row = (copy[Math.floor(i / COPIED_PER_CALL)] ?? NaN) + (i % COPIED_PER_CALL);
      expect(codeOf(copied, row, codeBytes)).toEqual(codeOf(blocks, slot, codeBytes));
      expect(memory.f32(at.copiedFactors, rows)[row]).toBe(segment.factors[slot]);
      expect(memory.f32(at.copiedBiases, rows)[row]).toBe(segment.biases[slot]);
      expect(memory.u16(at.copiedLists, rows)[row]).toBe(slot < CAPACITY / 2 ? 0 : 1);
    }
    expect(copies.of(SLOTS, endlessShare())).toBe(copy);
    expect(copies.of(SLOTS.slice(), endlessShare())).toBeNull();
    segment.close();
  });

  it("makes a copy in shares, and has none before it is complete", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    copies.of(SLOTS, endlessShare());
    const shares = [1, 0, 3].map((left) => ({ left, atOnce: 1 }));
    const made = shares.map((share) =>
      [copies.known(SLOTS), copies.of(SLOTS, share)].map((copy) => copy?.length),
    );
    const none = [undefined, undefined];
    expect(made).toEqual([none, none, [undefined, 2]]);
    expect(shares.map(({ left }) => left)).toEqual([0, 0, 2]);
    expect(copies.known(SLOTS)).toBe(copies.of(SLOTS, { left: 0, atOnce: 0 }));
    segment.close();
  });

  it("codes the vectors in 4 bits, and none where the segment has no vectors", () => {
    const [segment, bare] = [filledSegment(), filledSegment("none")];
    for (const { layout } of [segment, bare])
      expect(layout.at.copiedSteps - layout.at.copiedNibbles > 0).toBe(layout === segment.layout);
    const copies = new CodeCopies(segment);
    copies.of(SLOTS, endlessShare());
    const copy = copies.of(SLOTS, endlessShare()) ?? [];
    const { memory, at, width } = segment.layout;
    const vector = new Float32Array(width);
    for (const [i, slot] of SLOTS.entries()) {
      const row = (copy[Math.floor(i / COPIED_PER_CALL)] ?? NaN) + (i % COPIED_PER_CALL);
      halvesToFloats(memory.u16(at.halves, CAPACITY * width), slot * width, vector);
      const step = memory.f32(at.copiedSteps, row + 1)[row] ?? NaN;
      const meanSquare = vector.reduce((sum, x) => sum + x * x, 0) / width;
      expect(step).toBeCloseTo(0.3352 * Math.sqrt(meanSquare), 5);
      expect(memory.f32(at.copiedLosses, row + 1)[row]).toBeLessThan(0.5 * Math.hypot(...vector));
    }
    const none = new CodeCopies(bare);
    none.of(SLOTS, endlessShare());
    expect(none.of(SLOTS, endlessShare())).toHaveLength(2);
    segment.close();
    bare.close();
  });

  it("forgets the copies used longest ago when there is no room left", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    const fit = copiedRows(CAPACITY) / COPIED_PER_CALL;
    expect(fit).toBeGreaterThan(2);
    const filters = Array.from({ length: fit + 1 }, (_, i) =>
      Uint32Array.from({ length: 64 }, (__, j) => i + j),
    );
    const copyOf = (i: number): unknown =>
      copies.of(filters[i]!, endlessShare()) ?? copies.of(filters[i]!, endlessShare());
    const made = filters.slice(0, fit).map((_, i) => copyOf(i));
    expect(new Set(made.flat()).size).toBe(fit);
    expect(made.map((copy, i) => copyOf(i) === copy)).not.toContain(false);
    // The first is used again, so the new one takes the place of the second.
    copyOf(0);
    expect(copyOf(fit)).toEqual(made[1]);
    const others = [...made.keys()].filter((i) => i !== 1);
    expect(others.map((i) => copyOf(i) === made[i])).not.toContain(false);
    expect(copyOf(1)).not.toBe(made[1]);
    // More than all the room there is.
    const tooMany = Uint32Array.from({ length: fit * COPIED_PER_CALL + 1 }, () => 0);
    expect([copies.of(tooMany, endlessShare()), copies.of(tooMany, endlessShare())]).toEqual([null, null]);
    expect(copyOf(0)).toBe(made[0]);
    segment.close();
  });

  it("keeps the copies of some filters where more take turns than have room", () => {
    const segment = filledSegment();
    const copies = new CodeCopies(segment);
    const fit = copiedRows(CAPACITY) / COPIED_PER_CALL;
    const filters = Array.from({ length: fit + 2 }, (_, i) =>
      Uint32Array.from({ length: 64 }, (__, j) => i + j),
    );
    const turn = (): readonly boolean[] =>
      filters.map((filter) => copies.of(filter, copyingShare()) !== null);
    const turns = Array.from({ length: 6 }, turn);
    const kept = filters.map((_, i) => i < fit);
    expect(turns).toEqual([filters.map(() => false), ...Array.from({ length: 5 }, () => kept)]);
    // One that is asked for again while another is not takes its place.
    const last = filters.at(-1)!;
    expect(copies.of(last, copyingShare())).not.toBeNull();
    segment.close();
  });

  it("makes as many copies as the memory of indexes has room for, and gives it back", () => {
    const segment = filledSegment();
    const { codeBytes, nibbleBytes } = segment.layout;
    const chunk = COPIED_PER_CALL * (codeBytes + nibbleBytes + 18);
    // A quarter is not for copies.
    const index = new IndexMemory((2 * chunk * 4) / 3 + 1);
    const memory = index.forSegment();
    const copies = new CodeCopies(segment, memory);
    const asked = (slots: Uint32Array): number | null => {
      copies.of(slots, endlessShare());
      return copies.of(slots, endlessShare())?.length ?? null;
    };
    expect(asked(SLOTS)).toBe(2);
    expect(index.taken.copies).toBe(2 * chunk);
    // In the place of the former one.
    expect(asked(SLOTS.slice(0, COPIED_PER_CALL))).toBe(1);
    expect(index.taken.copies).toBe(2 * chunk);
    expect(asked(Uint32Array.from({ length: 2 * COPIED_PER_CALL + 1 }, (_, i) => i))).toBeNull();
    memory.close();
    expect(index.used).toBe(0);
    segment.close();
  });
});
