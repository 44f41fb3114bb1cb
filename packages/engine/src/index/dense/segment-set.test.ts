import { describe, expect, it } from "vitest";
import { distance } from "../../kernels/distance.ts";
import { DenseIndex } from "./dense-index.ts";
import { SegmentSet } from "./segment-set.ts";
import { gaussOf, randomOf } from "./testing/data-sets.ts";
import { VectorMemory } from "./vector-memory.ts";

const DIMENSION = 16;
const SIZES = { flatRows: 24, tailSlots: 64, segmentRows: 256 };

function vectorsOf(count: number): readonly Float32Array[] {
  const gauss = gaussOf(randomOf(count));
  return Array.from({ length: count }, () => new Float32Array(DIMENSION).map(() => gauss()));
}

/** An index of so many rows that is maintained after each of them, and the vectors it was told. */
function indexOf(count: number, atRest: boolean): { index: DenseIndex; vectors: readonly Float32Array[] } {
  const vectors = vectorsOf(count);
  const readVector = (row: number): Float32Array | null => vectors[row] ?? null;
  const index = new DenseIndex({ space: "l2", dimension: DIMENSION, sizes: SIZES, readVector });
  for (const [row, vector] of vectors.entries()) {
    index.put(row, vector);
    while (index.maintain(atRest));
  }
  return { index, vectors };
}

/** The same as segments alone. */
function setOf(count: number, atRest: boolean): SegmentSet {
  const vectors = vectorsOf(count);
  const shape = { space: "ip", dimension: DIMENSION } as const;
  const set = new SegmentSet(shape, {
    sizes: SIZES,
    memory: new VectorMemory(),
    tailCentroid: null,
    readVector: (row) => vectors[row] ?? null,
  });
  for (const [row, vector] of vectors.entries()) {
    set.add(row, vector);
    while (set.maintain(atRest));
  }
  return set;
}

describe("SegmentSet", () => {
  it("makes segments of different sizes one at rest, and finds the same", () => {
    const set = setOf(210, false);
    // Rows by the 64 of a tail: 128, 64, and those of the tail itself.
    expect(set.searches).toHaveLength(3);
    while (set.maintain(true));
    expect(set.searches).toHaveLength(2);
    set.close();
    const { index, vectors } = indexOf(210, false);
    while (index.maintain(true));
    const query = new Float32Array(DIMENSION).fill(0.3);
    const expected = vectors
      .map((vector, row) => ({ row, distance: distance("l2", query, vector) }))
      .sort((a, b) => a.distance - b.distance || a.row - b.row)
      .slice(0, 9);
    const { rows, distances } = index.topK(query, 9, null, { exact: true });
    expect([...rows]).toStrictEqual(expected.map(({ row }) => row));
    expect([...distances]).toStrictEqual(expected.map((hit) => hit.distance));
    index.close();
  });

  it("leaves segments apart that do not fit into one", () => {
    const set = setOf(390, true);
    // 256 rows, the most that one takes, 128, and a tail.
    expect(set.searches).toHaveLength(3);
    expect(set.maintain(true)).toBe(false);
    set.close();
  });

  it("leaves a segment that keeps its vectors whole apart from one that does not", () => {
    const gauss = gaussOf(randomOf(5));
    const vectors = Array.from({ length: 192 }, () => new Float32Array(DIMENSION).map(() => gauss()));
    let reads = 0;
    const readVector = (row: number): Float32Array | null => {
      reads++;
      return vectors[row] ?? null;
    };
    const memory = new VectorMemory(2 ** 20);
    const index = new DenseIndex({ space: "ip", dimension: DIMENSION, sizes: SIZES, memory, readVector });
    const add = (from: number, to: number): void => {
      for (let row = from; row < to; row++) index.put(row, vectors[row]!);
      while (index.maintain());
    };
    add(0, 128);
    // Over half of it is in use: no room for more than bf16.
    expect(memory.take(2 ** 19)).toBe(true);
    add(128, 192);
    memory.give(2 ** 19);
    while (index.maintain(true));
    const readsOf = (row: number): number => {
      reads = 0;
      const query = vectors[row]!.map((value) => 9 * value);
      expect([...index.topK(query, 1, null).rows]).toStrictEqual([row]);
      return reads;
    };
    expect([readsOf(0), readsOf(128)]).toStrictEqual([0, 1]);
    index.close();
  });
});
