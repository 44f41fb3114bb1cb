import { setTimeout } from "node:timers/promises";
import type { Space } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gaussOf, randomOf } from "../segment/dense/testing/data-sets.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { Indexed } from "./testing/indexed.ts";

const spaces = fc.constantFrom<Space>("l2", "cosine", "ip");

/** Vectors on few directions with few lengths, so that equal distances are common. */
function vectorOf(dimension: number, random: () => number): Float32Array {
  const gauss = gaussOf(random);
  const kind = random();
  if (kind < 0.05) return new Float32Array(dimension);
  if (kind < 0.5) return new Float32Array(dimension).map(() => Math.round(gauss() * 2));
  return new Float32Array(dimension).map(() => 3 + gauss());
}

/** Puts, replaces, removes and seals at random. */
function shuffle(indexed: Indexed, dimension: number, random: () => number, steps: number): void {
  for (let step = 0; step < steps; step++) {
    const offset = Math.floor(random() * 400);
    if (random() < 0.7) indexed.put(offset, vectorOf(dimension, random));
    else indexed.remove(offset);
    for (let slices = Math.floor(random() * 9); slices > 0; slices--) indexed.index.maintain(random() < 0.3);
    if (random() < 0.005) indexed.maintain();
  }
}

/** What holds of every answer, whether all neighbours were found or not. */
function expectSound(
  indexed: Indexed,
  vector: Float32Array,
  k: number,
  keeps?: (offset: number) => boolean,
): void {
  const rows = keeps === undefined ? {} : { rows: indexed.rows(keeps) };
  const found = indexed.search(vector, k, rows);
  const all = new Map(indexed.bruteForce(vector, 1_000, keeps));
  expect(found).toHaveLength(Math.min(k, all.size));
  for (const [offset, distance] of found) expect(all.get(offset)).toBe(distance);
  expect(new Set(found.map(([offset]) => offset)).size).toBe(found.length);
}

describe("dense search", () => {
  it("finds exactly the nearest when asked to, through any sequence of writes", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 70 }), fc.integer(), (space, dimension, seed) => {
        const random = randomOf(seed);
        // Nothing, or room for some segments as bf16, for some of them whole, or for all.
        const rows = [0, 200, 800, 2_000, Infinity][Math.floor(random() * 5)]!;
        const memory = new IndexMemory(rows * Math.ceil(dimension / 16) * 32);
        const indexed = new Indexed(space, { memory });
        for (let round = 0; round < 4; round++) {
          shuffle(indexed, dimension, random, 250);
          expect(indexed.index.size).toBe(indexed.size);
          const share = random() < 0.3 ? 1 : random() ** 2;
          const kept = Array.from({ length: 400 }, () => random() < share);
          const keeps = (offset: number): boolean => kept[offset]!;
          const set = indexed.rows(keeps);
          const query = vectorOf(dimension, random);
          // Asked again, codes of few rows are copied.
          for (const k of [1, 10, 10, 500])
            expect(indexed.search(query, k, { rows: set, exact: true })).toEqual(
              indexed.bruteForce(query, k, keeps),
            );
          for (let i = 0; i < 3; i++) expectSound(indexed, query, 10, keeps);
        }
        indexed.index.close();
        expect(memory.used).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it("answers for its snapshot whatever is written and sealed while it pauses", () => {
    fc.assert(
      fc.property(fc.constantFrom<Space>("cosine", "ip"), fc.integer(), (space, seed) => {
        const random = randomOf(seed);
        const indexed = new Indexed(space);
        shuffle(indexed, 20, random, 500);
        const query = vectorOf(20, random);
        const expected = indexed.bruteForce(query, 10);
        const meanwhile = (): void => {
          // Rows beyond those of the snapshot: the store still has these.
          for (let i = 0; i < 30; i++) indexed.put(1_000 + Math.floor(random() * 500), vectorOf(20, random));
          for (let slices = 200; slices > 0; slices--) indexed.index.maintain(true);
        };
        expect(indexed.search(query, 10, { exact: true, meanwhile })).toEqual(expected);
        indexed.index.close();
      }),
      { numRuns: 30 },
    );
  });

  it("finds them though bf16 has changed what a segment was made of", () => {
    const random = randomOf(7);
    const gauss = gaussOf(random);
    const indexed = new Indexed("l2");
    let direction = new Float32Array(48);
    for (let row = 0; row < 512; row++) {
      // Each row and its opposite: the origin is the zero vector, from which all are about as far.
      direction = row % 2 === 0 ? direction.map(gauss) : direction.map((x) => -x);
      const length = (1 + random() * 2e-3) / Math.hypot(...direction);
      indexed.put(
        row,
        direction.map((x) => x * length),
      );
      indexed.maintain();
    }
    const query = new Float32Array(48).fill(1e-9);
    expect(indexed.search(query, 10, { exact: true })).toEqual(indexed.bruteForce(query, 10));
    indexed.index.close();
  });

  it("answers with exact distances after vectors of which only bf16 was kept are sealed anew", () => {
    for (const space of ["cosine", "ip", "l2"] as const) {
      const random = randomOf(11);
      const memory = new IndexMemory(2 ** 20);
      const indexed = new Indexed(space, { memory });
      const add = (from: number, to: number): void => {
        for (let row = from; row < to; row++) indexed.put(row, vectorOf(40, random));
        indexed.maintain();
      };
      // Over half of it is in use: no room for more than bf16.
      const others = 2 ** 19 + 1;
      expect(memory.take("vectors", others)).toBe(true);
      add(0, 100);
      memory.give("vectors", others);
      add(100, 256);
      indexed.maintain(true);
      for (let round = 0; round < 20; round++) {
        const query = vectorOf(40, random);
        expect(indexed.search(query, 10, { exact: true })).toEqual(indexed.bruteForce(query, 10));
      }
      indexed.index.close();
    }
  });

  it("leaves a segment that keeps its vectors whole apart from one that does not", () => {
    const gauss = gaussOf(randomOf(5));
    const memory = new IndexMemory(2 ** 20);
    const indexed = new Indexed("ip", { memory });
    const vectors = Array.from({ length: 192 }, () => new Float32Array(16).map(() => gauss()));
    const add = (from: number, to: number): void => {
      for (let row = from; row < to; row++) indexed.put(row, vectors[row]!);
      indexed.maintain();
    };
    add(0, 128);
    expect(memory.take("vectors", 2 ** 19)).toBe(true);
    add(128, 192);
    memory.give("vectors", 2 ** 19);
    indexed.maintain(true);
    const askedFor = (row: number): number => {
      indexed.asked = 0;
      const [[offset] = []] = indexed.search(
        vectors[row]!.map((value) => 9 * value),
        1,
      );
      expect(offset).toBe(row);
      return indexed.asked;
    };
    expect([askedFor(0), askedFor(128)]).toStrictEqual([0, 1]);
    indexed.index.close();
  });

  it("compares few vectors although one is a million times as long as the others", () => {
    const random = randomOf(9);
    const gauss = gaussOf(random);
    // There is room for bf16 beside what else an index has, and none for the other halves, so that each that is compared is asked for.
    // What is written counts for nothing.
    const memory = new IndexMemory(5_000 * 64 * 11, undefined, undefined, 2 ** 24);
    const sizes = { mutableRows: 2_048, sealedRows: 8_192 };
    const indexed = new Indexed("ip", { sizes, memory });
    for (let row = 0; row < 4_096; row++) {
      const length = row === 2_500 ? 1e6 : 1;
      indexed.put(
        row,
        new Float32Array(64).map(() => length * gauss()),
      );
    }
    indexed.maintain();
    indexed.asked = 0;
    const query = new Float32Array(64).map(gauss);
    expect(indexed.search(query, 10, { exact: true })).toEqual(indexed.bruteForce(query, 10));
    // Its block of 32 is what shares its bounds.
    expect(indexed.asked).toBeGreaterThanOrEqual(10);
    expect(indexed.asked).toBeLessThan(100);
    indexed.index.close();
  });

  it("gives the same answers with the plain twins of the kernels", () => {
    fc.assert(
      fc.property(spaces, fc.integer({ min: 1, max: 40 }), fc.integer(), (space, dimension, seed) => {
        const answers = (["wasm", "plain"] as const).map((kernels) => {
          const random = randomOf(seed);
          const indexed = new Indexed(space, { kernels });
          shuffle(indexed, dimension, random, 300);
          const kept = Array.from({ length: 400 }, () => random() < 0.5);
          const query = vectorOf(dimension, random);
          const rows = indexed.rows((offset) => kept[offset]!);
          const answer = [indexed.search(query, 10), indexed.search(query, 10, { rows })];
          indexed.index.close();
          return answer;
        });
        expect(answers[0]).toEqual(answers[1]);
      }),
      { numRuns: 10 },
    );
  });

  it("compares vectors too long or too short for the kernels one by one, and such queries with all", () => {
    for (const space of ["l2", "cosine", "ip"] as const) {
      const random = randomOf(3);
      const indexed = new Indexed(space);
      for (let row = 0; row < 300; row++) {
        const scale = [1, 1e18, 1e-25][row % 3] ?? 1;
        indexed.put(
          row,
          vectorOf(20, random).map((x) => x * scale),
        );
      }
      for (const isSealed of [false, true]) {
        if (isSealed) indexed.maintain(true);
        for (const scale of [1, 1e18, 1e-25]) {
          const query = vectorOf(20, random).map((x) => x * scale);
          expect(indexed.search(query, 7, { exact: true })).toEqual(indexed.bruteForce(query, 7));
          expectSound(indexed, query, 7, (offset) => offset % 2 === 0);
        }
      }
      if (space !== "cosine") expect(indexed.rest()).toBeGreaterThanOrEqual(90);
      indexed.index.close();
    }
  });

  it("copes with many copies of one vector", () => {
    const indexed = new Indexed("cosine");
    const vector = Float32Array.from({ length: 24 }, (_, i) => i - 7);
    for (let row = 0; row < 600; row++) indexed.put(row, vector);
    indexed.maintain();
    const query = vector.map((x) => x + 1);
    expect(indexed.search(query, 12, { exact: true })).toEqual(indexed.bruteForce(query, 12));
    expect(indexed.search(query, 12).map(([, distance]) => distance)).toEqual(
      indexed.bruteForce(query, 12).map(([, distance]) => distance),
    );
    indexed.index.close();
  });

  it("gives all rows codes in the background, and gives their vectors back", async () => {
    const random = randomOf(11);
    const sizes = { mutableRows: 8_192, sealedRows: 16_384 };
    const indexed = new Indexed("cosine", { sizes, denseRows: 200 });
    for (let row = 0; row < 100; row++) indexed.put(row, vectorOf(8, random));
    expect(indexed.rest()).toBe(100);
    for (let row = 100; row < 4_100; row++) indexed.put(row, vectorOf(8, random));
    while (indexed.index.isBuilding) await setTimeout(1);
    expect(indexed.rest()).toBe(0);
    const [segment] = indexed.index.snapshot().segments;
    expect([0, 4_095, 4_096].map((docId) => segment!.vectors.at(docId)?.length)).toStrictEqual([
      undefined,
      undefined,
      8,
    ]);
    const query = vectorOf(8, random);
    expect(indexed.search(query, 300, { exact: true })).toEqual(indexed.bruteForce(query, 300));
    indexed.index.close();
  });

  it("makes segments one once writes have come to rest", async () => {
    const random = randomOf(13);
    const indexed = new Indexed("l2");
    for (let row = 0; row < 210; row++) {
      indexed.put(row, vectorOf(8, random));
      indexed.maintain();
    }
    const sealed = (): number =>
      indexed.index.snapshot().segments.filter(({ vectors }) => vectors.at(0) === null).length;
    expect(sealed()).toBe(2);
    while (sealed() > 1) await setTimeout(20);
    const query = vectorOf(8, random);
    expect(indexed.search(query, 20, { exact: true })).toEqual(indexed.bruteForce(query, 20));
    indexed.index.close();
  });

  it("gives no row a code while it is filled, as far as memory allows", async () => {
    const random = randomOf(17);
    const indexed = new Indexed("cosine", {
      filling: true,
      sizes: { mutableRows: 4_096, sealedRows: 32_768 },
    });
    for (let row = 0; row < 20_000; row++) indexed.put(row, vectorOf(8, random));
    await setTimeout(20);
    expect(indexed.rest()).toBe(20_000);
    indexed.index.filled();
    while (indexed.index.isBuilding) await setTimeout(1);
    expect(indexed.rest()).toBe(0);
    indexed.index.close();
  });

  it("seals in slices, ends with nothing to do, and drops segments that lost their rows", () => {
    const random = randomOf(4);
    const memory = new IndexMemory();
    const indexed = new Indexed("l2", { memory });
    for (let row = 0; row < 1_000; row++) indexed.put(row, vectorOf(16, random));
    let slices = 0;
    while (indexed.index.maintain(false)) slices++;
    expect(slices).toBeGreaterThan(100);
    const before = memory.used;
    for (let row = 0; row < 950; row++) indexed.remove(row);
    indexed.maintain();
    expect(indexed.index.size).toBe(50);
    expect(memory.used).toBeLessThan(before);
    expectSound(indexed, vectorOf(16, random), 60);
    indexed.index.close();
  });
});
