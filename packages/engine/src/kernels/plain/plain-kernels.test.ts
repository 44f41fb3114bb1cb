/** Every kernel against its plain twin: the same memory before, the same bits in the whole memory after. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { floatsToHalves } from "../../segment/dense/half-float.ts";
import { type Random, at, randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import {
  BASES,
  CENTROIDS,
  CHECKSUM,
  CODES,
  COMPARE,
  ROTATE,
  ROWS,
  SCAN,
  TABLE,
  WHOLE,
} from "../argument-layouts.generated.ts";
import { RECORD_BYTES } from "../kernels.ts";
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
          const args = memory.block(ROWS);
          const rows = fillFloats(memory, width * 9, () => spread(random));
          if (kernel === "dotHalfRows") clearInfinities(memory.u16(rows, width * 18));
          setFields(args, { rows, stride: width * 4, width });
          args.query = fillFloats(memory, width, () => spread(random));
          args.ids = gather ? fillWords(memory, 7, () => random() * 9) : 0;
          args.count = 7;
          args.out = memory.allocate(28);
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
          const args = memory.block(WHOLE);
          setFields(args, { halves, lows, width, query });
          return (kernels) => {
            kernels.dotWholeRow(args.pointer);
            found.push(args.score);
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
          const args = memory.block(COMPARE);
          const row = fillFloats(memory, width, random);
          setFields(args, { vector, dimension, query, row, space });
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
          const args = memory.block(CHECKSUM);
          const tables = memory.allocate(16 * 1_024);
          fillTables(memory.u32(tables, 16 * 256));
          const bytes = fillBytes(memory, 80, randomOf(seed)) + first;
          setFields(args, { bytes, length, tables, crc: seed });
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
          const args = memory.block(CENTROIDS);
          args.rows = fillBytes(memory, 5 * width, random);
          args.width = width;
          args.count = 5;
          args.steps = fillFloats(memory, 5, random);
          args.query = fillFloats(memory, width, () => gauss(random) * 2 ** -shortness);
          args.words = memory.allocate(width * 2);
          args.limit = Math.min(32_767, Math.floor(2 ** 24 / width));
          args.out = memory.allocate(20);
          return (kernels) => kernels.scoreCentroids(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});

describe("FastScan", () => {
  interface ScanCase {
    readonly dimension: number;
    readonly seed: number;
    readonly blocks?: number;
  }

  function prepareScan(memory: KernelMemory, { dimension, seed, blocks = 5 }: ScanCase, entry: () => number) {
    const random = randomOf(seed);
    const codeBytes = Math.ceil(dimension / 64) * 8;
    const args = memory.block(SCAN);
    args.codes = fillBytes(memory, codeBytes * 32 * blocks, random);
    args.blocks = blocks;
    args.codeBytes = codeBytes;
    args.table = memory.allocate(codeBytes * 32);
    const table = memory.u8(args.table, codeBytes * 32);
    table.forEach((_, i) => (table[i] = entry()));
    args.factors = fillFloats(memory, blocks * 32, random);
    args.biases = fillFloats(memory, blocks * 32, () => -random());
    args.masks = fillWords(memory, blocks, () => (random() < 0.2 ? 0 : random() * 2 ** 32));
    args.firstId = 64;
    args.base = gauss(random);
    args.scale = random();
    args.shift = -random() * 10;
    args.scratch = memory.allocate(128);
    return args;
  }

  it("equals its twin", () => {
    fc.assert(
      fc.property(dimensions, seeds, fc.integer({ min: 1, max: 60 }), (dimension, seed, keep) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const args = prepareScan(memory, { dimension, seed }, () => random() * 64);
          args.best = candidates(memory, keep, 32 + (seed & 31)).pointer;
          return (kernels) => kernels.scanBlocks(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("leaves out what its twin leaves out after the first bytes of the codes", () => {
    const counts = new Set<number>();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), seeds, (dimension, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const args = prepareScan(memory, { dimension, seed, blocks: 40 }, () => random() * 64);
          const best = candidates(memory, 32 * 40, 32 * 41);
          args.best = best.pointer;
          best.threshold = 60 * args.codeBytes * args.scale * random();
          args.checked = 2 + 2 * Math.floor((random() * (args.codeBytes - 2)) / 2);
          args.checkScale = args.scale * (1 + random());
          return (kernels) => {
            kernels.scanBlocks(args.pointer);
            counts.add(best.count);
          };
        });
        expect(same).toBe(true);
      }),
      runs,
    );
    expect(counts.size).toBeGreaterThan(10);
  });

  it("adds bases as its twin does", () => {
    fc.assert(
      fc.property(fc.nat(70), seeds, (count, seed) => {
        const same = sameBits((memory) => {
          const random = randomOf(seed);
          const args = memory.block(BASES);
          const lists = memory.allocate(count * 2);
          memory.u16(lists, count).forEach((_, i, row) => (row[i] = random() * 5));
          const biases = fillFloats(memory, count, () => spread(random));
          const bases = fillFloats(memory, 5, () => spread(random));
          setFields(args, { lists, biases, bases, count, out: memory.allocate(count * 4) });
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
          const args = memory.block(TABLE);
          args.vector = fillFloats(memory, size, () => gauss(random) * 2 ** -shortness);
          args.size = size;
          args.checked = 4 * Math.floor(random() * (size / 4));
          args.table = memory.allocate(size * 4);
          return (kernels) => kernels.buildTable(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });

  it("does not overflow where every entry is the largest", () => {
    const same = sameBits((memory) => {
      const args = prepareScan(memory, { dimension: 4_096, seed: 1 }, () => 63);
      memory.f32(args.biases, 160).fill(0);
      memory.f32(args.factors, 160).fill(1);
      setFields(args, { base: 0, scale: 1, shift: 0 });
      const best = candidates(memory, 160, 32);
      args.best = best.pointer;
      return (kernels) => {
        kernels.scanBlocks(args.pointer);
        const scores = memory.f32(best.scores, best.count);
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
          const recordBytes = codeBytes + RECORD_BYTES;
          const rows = 100;
          const args = memory.block(CODES);
          const records = fillBytes(memory, recordBytes * rows, byte);
          for (let row = 0; row < rows; row++) {
            const rest = records + row * recordBytes + codeBytes;
            memory.f32(rest, 2).set([random(), -random()]);
            memory.u32(rest + 8, 1).fill(random() * 8);
          }
          args.records = records;
          args.codeBytes = codeBytes;
          args.planes = fillBytes(memory, codeBytes * 4, byte);
          args.bases = fillFloats(memory, 8, () => gauss(random));
          args.ids = fillWords(memory, 150, () => random() * rows);
          args.count = 150;
          setFields(args, { scale: random(), low: -random() * 30, shift: gauss(random) });
          args.best = candidates(memory, keep, 32 + (seed & 31)).pointer;
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
            const ids = memory.u32(best.ids, count);
            const scores = memory.f32(best.scores, count);
            entries.forEach(({ id, score }, i) => {
              ids[i] = id;
              scores[i] = score;
            });
            best.count = count;
            return (kernels) => {
              kernels.keepBest(best.pointer);
              const left = best.count;
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
          const args = memory.block(ROTATE);
          args.vector = fillFloats(memory, size, () => gauss(random));
          args.size = size;
          args.window = 2 ** Math.floor(Math.log2(size));
          args.signs = fillFloats(memory, size * 4, () => (random() < 0.5 ? -0.125 : 0.125));
          return (kernels) => kernels.rotate(args.pointer);
        });
        expect(same).toBe(true);
      }),
      runs,
    );
  });
});
