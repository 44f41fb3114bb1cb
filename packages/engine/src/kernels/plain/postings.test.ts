/** The kernels of sparse search against their plain twins. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Random, at, randomOf } from "../../segment/dense/testing/data-sets.ts";
import { type ArgumentBlock, setFields } from "../argument-block.ts";
import { CANDIDATES, POSTINGS, SUMS } from "../argument-layouts.generated.ts";
import type { KernelMemory } from "../kernel-memory.ts";
import { candidates, fillFloats, fillWords, gauss, sameBits } from "../testing/same-bits.ts";

describe("postings", () => {
  it("count, sum and collect as their twins do, and leave clean sums", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer(),
        fc.constantFrom(Number.NaN, Infinity, 1, 0.5, -2),
        (blocks, seed, bound) => {
          const rows = blocks * 32;
          const same = sameBits((memory) => {
            const random = randomOf(seed);
            const sums = fillFloats(memory, rows, () => -0);
            const masks = fillWords(memory, blocks, () => random() * 2 ** 32);
            const postings = fillPostings(memory, rows, random);
            setFields(postings, { sums, masks: random() < 0.5 ? 0 : masks });
            const args = memory.block(SUMS);
            setFields(args, { sums, first: 0, rows, masks });
            args.bound = bound;
            args.ids = fillWords(memory, rows, () => 0);
            args.distances = fillWords(memory, rows, () => 0);
            const best = candidates(memory, Math.ceil(random() * blocks), 32, 0);
            args.best = best.pointer;
            return (kernels) => {
              kernels.countPostings(postings.pointer);
              kernels.addPostings(postings.pointer);
              kernels.addFrequencies(postings.pointer);
              kernels.boundSums(args.pointer);
              expectBound(best, memory.f32(sums, rows), memory.u32(masks, blocks));
              kernels.collectSums(args.pointer);
              expect(memory.f32(sums, rows).every((sum) => Object.is(sum, -0))).toBe(true);
            };
          });
          expect(same).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** The threshold is one that `keep` rows of the mask are at or above, or 0. */
function expectBound(best: ArgumentBlock<typeof CANDIDATES>, sums: Float32Array, masks: Uint32Array): void {
  const threshold = best.threshold;
  const count = best.count;
  const keep = best.keep;
  const inMask = sums.filter((_, row) => ((at(masks, row >>> 5) >>> (row & 31)) & 1) === 1);
  if (count === keep) expect(inMask.filter((sum) => sum >= threshold).length).toBeGreaterThanOrEqual(keep);
  else expect(threshold).toBe(0);
}

/** A query of every third term or so over lists and columns of some of them, the outermost terms included. */
function fillPostings(memory: KernelMemory, rows: number, random: Random): ArgumentBlock<typeof POSTINGS> {
  const someTerms = (): number[] =>
    [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 2 ** 31, 2 ** 32 - 1].filter(() => random() < 0.6);
  const [terms, listTerms, columnTerms] = [someTerms(), someTerms(), someTerms()];
  const lists = listTerms.map(() => {
    const share = random();
    return Array.from({ length: rows }, (_, row) => row).filter(() => random() < share);
  });
  const postings = lists.flat();
  const args = memory.block(POSTINGS);
  const floats = (count: number): number =>
    fillFloats(memory, count, () => (random() < 0.1 ? -0 : Math.round(4 * gauss(random)) / 4));
  const words = (values: readonly number[]): number => {
    let next = 0;
    return fillWords(memory, values.length, () => at(values, next++));
  };
  args.terms = words(terms);
  args.weights = floats(terms.length);
  args.count = terms.length;
  args.listTerms = words(listTerms);
  args.lists = lists.length;
  args.starts = words([0, ...lists.map((_, i) => lists.slice(0, i + 1).flat().length)]);
  args.rows = memory.allocate(2 * postings.length);
  memory.u16(args.rows, postings.length).set(postings);
  args.values = floats(postings.length);
  args.counts = words(terms.map((_, i) => i));
  args.columnTerms = words(columnTerms);
  args.columnCount = columnTerms.length;
  args.columns = fillFloats(memory, rows * columnTerms.length, () =>
    random() < 0.4 ? -0 : Math.round(4 * random()) / 4,
  );
  args.columnRows = rows;
  args.lengths = fillFloats(memory, rows, () => Math.floor(random() * 2 ** (random() * 24)));
  args.floor = Math.max(random() - 0.2, 2 ** -100);
  args.slope = random() < 0.2 ? 0 : random() / 64;
  return args;
}
