import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { distance } from "../../kernels/distance.ts";
import { DenseIndex, type DenseIndexOptions, type NearestRows } from "./dense-index.ts";
import { VectorMemory } from "./vector-memory.ts";
import { type DataSet, gaussOf, randomOf, sampler } from "./testing/data-sets.ts";

type Space = DenseIndexOptions["space"];

const spaces = fc.constantFrom<Space>("l2", "cosine", "ip");
/** So small that a few hundred rows go through every stage. */
const sizes = { flatRows: 24, tailSlots: 64, segmentRows: 256 };

/** The index under test beside the vectors it was told, which answer by comparing all. */
class Checked {
  readonly vectors = new Map<number, Float32Array>();
  readonly index: DenseIndex;
  readonly space: Space;

  constructor(options: Omit<DenseIndexOptions, "readVector">) {
    this.space = options.space;
    this.index = new DenseIndex({ sizes, ...options, readVector: (row) => this.read(row) });
  }

  put(row: number, vector: Float32Array): void {
    this.vectors.set(row, vector);
    this.index.put(row, vector);
  }

  remove(row: number): void {
    this.vectors.delete(row);
    this.index.remove(row);
  }

  bruteForce(query: Float32Array, k: number, mask: Uint32Array | null): NearestRows {
    const hits = [...this.vectors]
      .filter(([row]) => mask === null || has(mask, row))
      .map(([row, vector]) => ({ row, distance: distance(this.space, query, vector) }))
      .sort((a, b) => a.distance - b.distance || a.row - b.row)
      .slice(0, k);
    return {
      rows: Uint32Array.from(hits, ({ row }) => row),
      distances: Float32Array.from(hits, (hit) => hit.distance),
    };
  }

  read(row: number): Float32Array {
    const vector = this.vectors.get(row);
    if (vector === undefined) throw new Error(`row ${row} was read but is not there`);
    return vector;
  }
}

/** What holds of every answer, whether all neighbours were found or not. */
function expectSound(checked: Checked, query: Float32Array, k: number, mask: Uint32Array | null): void {
  const { rows, distances } = checked.index.topK(query, k, mask);
  expect(rows.length).toBe(checked.bruteForce(query, k, mask).rows.length);
  expect(new Set(rows).size).toBe(rows.length);
  for (const [i, row] of rows.entries()) {
    expect(mask === null || has(mask, row)).toBe(true);
    expect(distances[i]).toBe(distance(checked.space, query, checked.read(row)));
  }
  const order = [...rows.keys()].sort(
    (a, b) => at(distances, a) - at(distances, b) || at(rows, a) - at(rows, b),
  );
  expect(order).toEqual([...rows.keys()]);
}

/** An element that is there. */
function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

function has(mask: Uint32Array, row: number): boolean {
  return (((mask[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1;
}

function maskOf(rows: number, keep: (row: number) => boolean): Uint32Array {
  const mask = new Uint32Array(Math.ceil(rows / 32));
  for (let row = 0; row < rows; row++)
    if (keep(row)) mask.set([at(mask, row >>> 5) | (1 << (row & 31))], row >>> 5);
  return mask;
}

/** Vectors on few directions with few lengths, so that equal distances are common. */
function vectorOf(dimension: number, random: () => number): Float32Array {
  const gauss = gaussOf(random);
  const kind = random();
  if (kind < 0.05) return new Float32Array(dimension);
  if (kind < 0.5) return new Float32Array(dimension).map(() => Math.round(gauss() * 2));
  return new Float32Array(dimension).map(() => 3 + gauss());
}

/** Puts, replaces, removes and seals at random. */
function shuffle(checked: Checked, dimension: number, random: () => number, steps: number): void {
  for (let step = 0; step < steps; step++) {
    const row = Math.floor(random() * 400);
    if (random() < 0.7) checked.put(row, vectorOf(dimension, random));
    else checked.remove(row);
    if (random() < 0.3) checked.index.maintain(random() < 0.3);
    if (random() < 0.005) while (checked.index.maintain());
  }
}

describe("dense index", () => {
  it("finds exactly the k nearest when asked to, through any sequence of writes", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 70 }), fc.integer(), (space, dimension, seed) => {
        const random = randomOf(seed);
        const checked = new Checked({ space, dimension });
        const share = random();
        // Asked with again after writes.
        const masks = [null, maskOf(400, () => random() < share), maskOf(400, () => random() < share)];
        for (let round = 0; round < 4; round++) {
          shuffle(checked, dimension, random, 250);
          expect(checked.index.size).toBe(checked.vectors.size);
          const mask = masks[Math.floor(random() * 3)] ?? null;
          const query = vectorOf(dimension, random);
          for (const k of [1, 10, 500]) {
            expect(checked.index.topK(query, k, mask, { exact: true })).toEqual(
              checked.bruteForce(query, k, mask),
            );
          }
        }
        checked.index.close();
      }),
      { numRuns: 60 },
    );
  });

  it("finds them though bf16 has changed what a segment was made of", () => {
    const random = randomOf(7);
    const gauss = gaussOf(random);
    const checked = new Checked({ space: "l2", dimension: 48 });
    let direction = new Float32Array(48);
    for (let row = 0; row < 512; row++) {
      // Each row and its opposite: the origin is the zero vector, from which all are about as far.
      direction = row % 2 === 0 ? direction.map(gauss) : direction.map((x) => -x);
      const length = (1 + random() * 2e-3) / Math.hypot(...direction);
      checked.put(
        row,
        direction.map((x) => x * length),
      );
      while (checked.index.maintain());
    }
    const query = new Float32Array(48).fill(1e-9);
    expect(checked.index.topK(query, 10, null, { exact: true })).toEqual(checked.bruteForce(query, 10, null));
  });

  it("answers with exact distances of wanted rows in order, however it found them", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 70 }), fc.integer(), (space, dimension, seed) => {
        const random = randomOf(seed);
        const checked = new Checked({ space, dimension });
        for (let round = 0; round < 4; round++) {
          shuffle(checked, dimension, random, 250);
          const share = random() ** 2;
          const mask = random() < 0.4 ? null : maskOf(400, () => random() < share);
          const k = 1 + Math.floor(random() * 30);
          expect(checked.index.topK(vectorOf(dimension, random), k, mask).rows.length).toBeLessThanOrEqual(k);
          expectSound(checked, vectorOf(dimension, random), k, mask);
        }
        checked.index.close();
      }),
      { numRuns: 60 },
    );
  });

  it("answers alike from vectors of the store, where there is no memory for them", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 70 }), fc.integer(), (space, dimension, seed) => {
        const random = randomOf(seed);
        // Nothing, or room for some segments as bf16, or for some of them whole.
        const rows = [0, 200, 800, 2_000][Math.floor(random() * 4)]!;
        const memory = new VectorMemory(rows * Math.ceil(dimension / 16) * 32);
        const checked = new Checked({ space, dimension, memory });
        for (let round = 0; round < 4; round++) {
          shuffle(checked, dimension, random, 250);
          const share = random() ** 2;
          const mask = random() < 0.4 ? null : maskOf(400, () => random() < share);
          const query = vectorOf(dimension, random);
          expect(checked.index.topK(query, 10, mask, { exact: true })).toEqual(
            checked.bruteForce(query, 10, mask),
          );
          expectSound(checked, query, 10, mask);
        }
        checked.index.close();
        expect(memory.used).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  it("answers with exact distances after vectors of which only bf16 was kept are sealed anew", () => {
    for (const space of ["cosine", "ip", "l2"] as const) {
      const random = randomOf(11);
      const memory = new VectorMemory(2 ** 20);
      const checked = new Checked({ space, dimension: 40, memory });
      const add = (from: number, to: number): void => {
        for (let row = from; row < to; row++) checked.put(row, vectorOf(40, random));
        while (checked.index.maintain());
      };
      // Over half of it is in use: no room for more than bf16.
      const others = 2 ** 19 + 1;
      expect(memory.take(others)).toBe(true);
      add(0, 100);
      memory.give(others);
      add(100, 256);
      for (let round = 0; round < 20; round++) {
        const query = vectorOf(40, random);
        expect(checked.index.topK(query, 10, null, { exact: true })).toEqual(
          checked.bruteForce(query, 10, null),
        );
      }
      checked.index.close();
    }
  });

  it("compares few vectors although one is a million times as long as the others", () => {
    const random = randomOf(9);
    const gauss = gaussOf(random);
    const checked = new Checked({
      space: "ip",
      dimension: 64,
      sizes: { flatRows: 24, tailSlots: 2_048, segmentRows: 8_192 },
    });
    for (let row = 0; row < 5_000; row++) {
      const length = row === 2_500 ? 1e6 : 1;
      checked.put(
        row,
        new Float32Array(64).map(() => length * gauss()),
      );
    }
    for (const isSealed of [false, true]) {
      if (isSealed) while (checked.index.maintain());
      let compared = 0;
      const isWanted = (): boolean => compared++ >= 0;
      const query = new Float32Array(64).map(gauss);
      expect(checked.index.topK(query, 10, null, { exact: true, isWanted })).toEqual(
        checked.bruteForce(query, 10, null),
      );
      // Its block of 32 is what shares its bounds.
      expect(compared).toBeGreaterThanOrEqual(10);
      expect(compared).toBeLessThan(100);
    }
    checked.index.close();
  });

  it("gives the same answers with the plain twins of the kernels", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 40 }), fc.integer(), (space, dimension, seed) => {
        const answers = (["wasm", "plain"] as const).map((kernels) => {
          const random = randomOf(seed);
          const checked = new Checked({ space, dimension, kernels });
          shuffle(checked, dimension, random, 300);
          const mask = maskOf(400, () => random() < 0.5);
          const query = vectorOf(dimension, random);
          const answer = [checked.index.topK(query, 10, null), checked.index.topK(query, 10, mask)];
          checked.index.close();
          return answer;
        });
        expect(answers[0]).toEqual(answers[1]);
      }),
      { numRuns: 10 },
    );
  });

  it("compares vectors too long or too short for the kernels one by one", () => {
    for (const space of ["l2", "cosine", "ip"] as const) {
      const random = randomOf(3);
      const checked = new Checked({ space, dimension: 20 });
      for (let row = 0; row < 300; row++) {
        const scale = [1, 1e18, 1e-25][row % 3] ?? 1;
        checked.put(
          row,
          vectorOf(20, random).map((x) => x * scale),
        );
      }
      while (checked.index.maintain());
      for (const scale of [1, 1e18, 1e-25]) {
        const query = vectorOf(20, random).map((x) => x * scale);
        expect(checked.index.topK(query, 7, null, { exact: true })).toEqual(
          checked.bruteForce(query, 7, null),
        );
        expectSound(
          checked,
          query,
          7,
          maskOf(300, (row) => row % 2 === 0),
        );
      }
      checked.index.close();
    }
  });

  it("copes with many copies of one vector", () => {
    const checked = new Checked({ space: "cosine", dimension: 24 });
    const vector = Float32Array.from({ length: 24 }, (_, i) => i - 7);
    for (let row = 0; row < 600; row++) checked.put(row, vector);
    while (checked.index.maintain());
    const query = vector.map((x) => x + 1);
    expect(checked.index.topK(query, 12, null, { exact: true })).toEqual(checked.bruteForce(query, 12, null));
    expect(checked.index.topK(query, 12, null).distances).toEqual(
      checked.bruteForce(query, 12, null).distances,
    );
    checked.index.close();
  });

  it("seals in slices, ends with nothing to do, and drops segments that lost their rows", () => {
    const random = randomOf(4);
    const memory = new VectorMemory();
    const checked = new Checked({ space: "l2", dimension: 16, memory });
    for (let row = 0; row < 1_000; row++) checked.put(row, vectorOf(16, random));
    let slices = 0;
    while (checked.index.maintain()) slices++;
    expect(slices).toBeGreaterThan(100);
    const before = memory.used;
    for (let row = 0; row < 950; row++) checked.remove(row);
    while (checked.index.maintain());
    expect(checked.index.size).toBe(50);
    expect(memory.used).toBeLessThan(before);
    expectSound(checked, vectorOf(16, random), 60, null);
    checked.index.close();
  });

  it("refuses vectors of another length", () => {
    const { index } = new Checked({ space: "l2", dimension: 3 });
    expect(() => index.put(0, new Float32Array(4))).toThrow("a vector of 4 dimensions in an index of 3");
    expect(() => index.topK(new Float32Array(2), 1, null)).toThrow(
      "a vector of 2 dimensions in an index of 3",
    );
  });
});

describe("recall", () => {
  const rows = 20_000;
  const dimension = 128;

  interface Labelled {
    readonly vector: Float32Array;
    readonly group: number;
  }

  /** Recall@10 over 100 queries, against exact search. */
  function recall(
    index: DenseIndex,
    queries: readonly Labelled[],
    mask: (query: Labelled) => Uint32Array | null,
  ) {
    let wanted = 0;
    let found = 0;
    for (const query of queries) {
      const filter = mask(query);
      const truth = index.topK(query.vector, 10, filter, { exact: true }).rows;
      const near = new Set(index.topK(query.vector, 10, filter).rows);
      wanted += truth.length;
      found += truth.filter((row) => near.has(row)).length;
    }
    return found / wanted;
  }

  it.each<[DataSet, Space]>([
    ["clusters", "cosine"],
    ["topics", "cosine"],
    ["topics", "l2"],
    ["topics", "ip"],
  ])("is at least 0.99 on %s in %s, whatever the filter", (dataSet, space) => {
    const source = sampler(dataSet, dimension, 1);
    const data = Array.from({ length: rows }, () => source.next());
    const readVector = (row: number): Float32Array => data[row]?.vector ?? new Float32Array(dimension);
    const index = new DenseIndex({
      space,
      dimension,
      readVector,
      sizes: { flatRows: 1_024, tailSlots: 4_096, segmentRows: 131_072 },
    });
    for (const [row, { vector }] of data.entries()) index.put(row, vector);
    const queries = Array.from({ length: 100 }, () => source.next());
    expect(recall(index, queries, () => null)).toBeGreaterThanOrEqual(0.99);
    expect(index.maintain()).toBe(true);
    while (index.maintain());
    const random = randomOf(5);
    const draws = data.map(() => random());
    expect(recall(index, queries, () => null)).toBeGreaterThanOrEqual(0.99);
    for (const share of [0.5, 0.05, 0.001]) {
      const mask = maskOf(rows, (row) => at(draws, row) < share);
      expect(recall(index, queries, () => mask)).toBeGreaterThanOrEqual(0.99);
    }
    // 5 % of the rows, none of them of the query's own group.
    const against = ({ group }: Labelled): Uint32Array =>
      maskOf(rows, (row) => at(draws, row) < 0.05 && data[row]?.group !== group);
    expect(recall(index, queries, against)).toBeGreaterThanOrEqual(0.99);
    // Whole groups, about 5 % of them, not the query's own.
    const groups = ({ group }: Labelled): Uint32Array =>
      maskOf(rows, (row) => (data[row]!.group + 10) % 20 === group % 20);
    expect(recall(index, queries, groups)).toBeGreaterThanOrEqual(0.99);
    index.close();
  });
});
