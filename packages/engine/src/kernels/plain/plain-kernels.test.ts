/** Every kernel against its plain twin: the same memory before, the same bits in the whole memory after. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { floatsToHalves } from "../../index/dense/half-float.ts";
import { type Random, at, randomOf } from "../../index/dense/testing/data-sets.ts";
import {
  BASES,
  CANDIDATES,
  CENTROIDS,
  CHECKSUM,
  CODES,
  COMPARE,
  RECORD,
  ROTATE,
  ROWS,
  SCAN,
  TABLE,
  WHOLE,
} from "../arguments.ts";
import { dot } from "../distance.ts";
import type { KernelMemory } from "../kernel-memory.ts";
import { candidates, fillBytes, fillFloats, fillWords, gauss, sameBits } from "../testing/same-bits.ts";
import { fillTables } from "../value-memory.ts";

/** bf16 numbers that are infinite or none become finite: the bits of a sum with them are nobody's promise. */
function clearInfinities(halves: Uint16Array): void {
  halves.forEach((half, i) => {
    if ((half & 0x7f80) === 0x7f80) halves[i] = half & 0xbfff;
  });
}

/** Widths of every kind up to the limit. */
const seeds = fc.integer();
const dimensions = fc.oneof(
  fc.integer({ min: 1, max: 130 }),
  fc.constantFrom(383, 384, 385, 768, 1000, 1024, 1536, 3072, 4095, 4096),
);
const spread = (random: Random) => (random() - 0.5) * 2 ** Math.floor(random() * 40 - 20);
const runs = { numRuns: 60 };

describe("rows", () => {
  it.each(["dotRows", "dotHalfRows"] as const)("%s equals its twin", (kernel) => {
    fc.assert(
      fc.property(dimensions, seeds, fc.boolean(), (dimension, seed, gather) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const width = Math.ceil(dimension / 16) * 16;
          const args = memory.block(ROWS.words);
          const rows = fillFloats(memory, width * 9, () => spread(random));
          if (kernel === "dotHalfRows") clearInfinities(memory.u16(rows, width * 18));
          args.u32.set([rows, width * 4, width], ROWS.rows);
          args.u32[ROWS.query] = fillFloats(memory, width, () => spread(random));
          args.u32[ROWS.ids] = gather ? fillWords(memory, 7, () => random() * 9) : 0;
          args.u32[ROWS.count] = 7;
          args.u32[ROWS.out] = memory.allocate(28);
          return (kernels) => kernels[kernel](args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("rows in halves", () => {
  it("equals its twin and what the whole row gives", () => {
    fc.assert(
      fc.property(dimensions, seeds, (dimension, seed) => {
        let expected: number | undefined;
        const found: number[] = [];
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const width = Math.ceil(dimension / 16) * 16;
          const row = Float32Array.from({ length: width }, () => spread(random));
          const [halves, lows] = [memory.allocate(width * 2), memory.allocate(width * 2)];
          floatsToHalves(row, { halves: memory.u16(halves, width), lows: memory.u16(lows, width), at: 0 });
          const query = fillFloats(memory, width, () => spread(random));
          expected = dot(memory.f32(query, width), row);
          const args = memory.block(WHOLE.words);
          args.u32.set([halves, lows, width, query]);
          return (kernels) => {
            kernels.dotWholeRow(args.pointer);
            found.push(args.f32[WHOLE.score]!);
          };
        });
        expect(same).toBe(true);
        expect(found).toEqual([expected, expected]);
      }),
      runs,
    );
  });
});

describe("comparison", () => {
  it("equals its twin at any address", () => {
    fc.assert(
      fc.property(dimensions, seeds, fc.nat(7), fc.nat(2), (dimension, seed, first, space) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const width = Math.ceil(dimension / 16) * 16;
          const vector = memory.allocate(4 * dimension + 8) + first;
          // Now and then a vector without a length.
          const next = seed % 7 === 0 ? () => (random() < 0.5 ? -0 : 0) : () => spread(random);
          const given = Float32Array.from({ length: dimension }, next);
          memory.u8(vector, 4 * dimension).set(new Uint8Array(given.buffer));
          const query = fillFloats(memory, width, () => spread(random));
          memory.f32(query, width).fill(0, dimension);
          const args = memory.block(COMPARE.words);
          args.u32.set([vector, dimension, query, fillFloats(memory, width, random), space]);
          return (kernels) => kernels.compareVector(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("checksum", () => {
  it("equals its twin", () => {
    fc.assert(
      fc.property(fc.nat(70), fc.nat(7), seeds, (length, first, seed) => {
        const same = sameBits((memory) => {
          const args = memory.block(CHECKSUM.words);
          const tables = memory.allocate(16 * 1_024);
          fillTables(memory.u32(tables, 16 * 256));
          args.u32.set([fillBytes(memory, 80, randomOf(seed)) + first, length, tables, seed]);
          return (kernels) => kernels.crc32c(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("centroids", () => {
  it("are scored as by the twin", () => {
    fc.assert(
      fc.property(dimensions, seeds, fc.nat(140), (dimension, seed, shortness) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const width = Math.ceil(dimension / 16) * 16;
          const args = memory.block(CENTROIDS.size);
          args.u32[CENTROIDS.rows] = fillBytes(memory, 5 * width, random);
          args.u32[CENTROIDS.width] = width;
          args.u32[CENTROIDS.count] = 5;
          args.u32[CENTROIDS.steps] = fillFloats(memory, 5, random);
          args.u32[CENTROIDS.query] = fillFloats(memory, width, () => gauss(random) * 2 ** -shortness);
          args.u32[CENTROIDS.words] = memory.allocate(width * 2);
          args.f32[CENTROIDS.limit] = Math.min(32_767, Math.floor(2 ** 24 / width));
          args.u32[CENTROIDS.out] = memory.allocate(20);
          return (kernels) => kernels.scoreCentroids(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("FastScan", () => {
  function prepareScan(memory: KernelMemory, dimension: number, seed: number, entry: () => number) {
    const random = randomOf(seed);
    const codeBytes = Math.ceil(dimension / 64) * 8;
    const blocks = 5;
    const args = memory.block(SCAN.words);
    args.u32[SCAN.codes] = fillBytes(memory, codeBytes * 32 * blocks, random);
    args.u32[SCAN.blocks] = blocks;
    args.u32[SCAN.codeBytes] = codeBytes;
    args.u32[SCAN.table] = memory.allocate(codeBytes * 32);
    const table = memory.u8(at(args.u32, SCAN.table), codeBytes * 32);
    table.forEach((_, i) => (table[i] = entry()));
    args.u32[SCAN.factors] = fillFloats(memory, blocks * 32, random);
    args.u32[SCAN.biases] = fillFloats(memory, blocks * 32, () => -random());
    args.u32[SCAN.masks] = fillWords(memory, blocks, () => (random() < 0.2 ? 0 : random() * 2 ** 32));
    args.u32[SCAN.firstId] = 64;
    args.f32[SCAN.base] = gauss(random);
    args.f32[SCAN.scale] = random();
    args.f32[SCAN.shift] = -random() * 10;
    args.u32[SCAN.scratch] = memory.allocate(128);
    return args;
  }

  it("equals its twin", () => {
    fc.assert(
      fc.property(dimensions, seeds, fc.integer({ min: 1, max: 60 }), (dimension, seed, keep) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const args = prepareScan(memory, dimension, seed, () => random() * 64);
          args.u32[SCAN.best] = candidates(memory, keep, 32 + (seed & 31)).pointer;
          return (kernels) => kernels.scanBlocks(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("adds bases as its twin does", () => {
    fc.assert(
      fc.property(fc.nat(70), seeds, (count, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const args = memory.block(BASES.words);
          const lists = memory.allocate(count * 2);
          memory.u16(lists, count).forEach((_, i, row) => (row[i] = random() * 5));
          const biases = fillFloats(memory, count, () => spread(random));
          const bases = fillFloats(memory, 5, () => spread(random));
          args.u32.set([lists, biases, bases, count, memory.allocate(count * 4)]);
          return (kernels) => kernels.addBases(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("builds the table that its twin builds, of long and of very short queries", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), seeds, fc.nat(149), (sixtyFours, seed, shortness) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const size = sixtyFours * 64;
          const args = memory.block(TABLE.words);
          args.u32[TABLE.vector] = fillFloats(memory, size, () => gauss(random) * 2 ** -shortness);
          args.u32[TABLE.size] = size;
          args.u32[TABLE.table] = memory.allocate(size * 4);
          return (kernels) => kernels.buildTable(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("does not overflow where every entry is the largest", () => {
    const same = sameBits((memory) => {
      const args = prepareScan(memory, 4_096, 1, () => 63);
      memory.f32(at(args.u32, SCAN.biases), 160).fill(0);
      memory.f32(at(args.u32, SCAN.factors), 160).fill(1);
      args.f32.set([0, 1, 0], SCAN.base);
      const best = candidates(memory, 160, 32);
      args.u32[SCAN.best] = best.pointer;
      return (kernels) => {
        kernels.scanBlocks(args.pointer);
        const scores = memory.f32(at(best.u32, CANDIDATES.scores), at(best.u32, CANDIDATES.count));
        expect(new Set(scores)).toEqual(new Set([1_024 * 63]));
      };
    });
    expect(same).toBe(true);
  });
});

describe("codes of single rows", () => {
  it.each([false, true])("equal their twin (all bits set: %s)", (full) => {
    fc.assert(
      fc.property(dimensions, seeds, fc.integer({ min: 1, max: 60 }), (dimension, seed, keep) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const byte: Random = full ? () => 255 / 256 : random;
          const codeBytes = Math.ceil(dimension / 128) * 16;
          const recordBytes = codeBytes + RECORD.words * 4;
          const rows = 100;
          const args = memory.block(CODES.words);
          const records = fillBytes(memory, recordBytes * rows, byte);
          for (let row = 0; row < rows; row++) {
            const rest = records + row * recordBytes + codeBytes;
            memory.f32(rest, 2).set([random(), -random()]);
            memory.u32(rest + 8, 1).fill(random() * 8);
          }
          args.u32[CODES.records] = records;
          args.u32[CODES.codeBytes] = codeBytes;
          args.u32[CODES.planes] = fillBytes(memory, codeBytes * 4, byte);
          args.u32[CODES.bases] = fillFloats(memory, 8, () => gauss(random));
          args.u32[CODES.ids] = fillWords(memory, 150, () => random() * rows);
          args.u32[CODES.count] = 150;
          args.f32.set([random(), -random() * 30, gauss(random)], CODES.scale);
          args.u32[CODES.best] = candidates(memory, keep, 32 + (seed & 31)).pointer;
          return (kernels) => kernels.scoreCodes(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("candidates", () => {
  it("keep the best by score, then by the lower id, as the twin does", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 200 }),
        seeds,
        (count, keep, seed) => {
          const random = randomOf(seed);
          // Few different scores: most comparisons are ties.
          const entries = Array.from({ length: count }, (_, i) => ({
            id: (i * 7) % 501,
            score: Math.floor(random() * 9),
          }));
          let kept: { id: number; score: number }[] = [];
          const same = sameBits((memory) => {
            const best = candidates(memory, keep, 600);
            const ids = memory.u32(at(best.u32, CANDIDATES.ids), count);
            const scores = memory.f32(at(best.u32, CANDIDATES.scores), count);
            entries.forEach(({ id, score }, i) => {
              ids[i] = id;
              scores[i] = score;
            });
            best.u32[CANDIDATES.count] = count;
            return (kernels) => {
              kernels.keepBest(best.pointer);
              const left = best.u32[CANDIDATES.count];
              kept = [...ids.subarray(0, left)].map((id, i) => ({ id, score: at(scores, i) }));
            };
          });
          expect(same).toBe(true);
          const order = (list: typeof entries) => list.toSorted((a, b) => b.score - a.score || a.id - b.id);
          expect(order(kept)).toEqual(order(entries).slice(0, keep));
        },
      ),
      runs,
    );
  });
});

describe("rotation", () => {
  it("equals its twin", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), seeds, (sixtyFours, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const size = sixtyFours * 64;
          const args = memory.block(ROTATE.words);
          args.u32[ROTATE.vector] = fillFloats(memory, size, () => gauss(random));
          args.u32[ROTATE.size] = size;
          args.u32[ROTATE.window] = 2 ** Math.floor(Math.log2(size));
          args.u32[ROTATE.signs] = fillFloats(memory, size * 4, () => (random() < 0.5 ? -0.125 : 0.125));
          return (kernels) => kernels.rotate(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});
