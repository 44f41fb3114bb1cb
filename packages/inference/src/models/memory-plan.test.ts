import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planMemory, replicaPeakBytes } from "./memory-plan.ts";

const GIB = 2 ** 30;
/** Qwen3-Embedding-0.6B as its config.json has it. */
const QWEN = {
  maxTokens: 32_768,
  weightBytes: 2.2 * GIB,
  shape: { hiddenSize: 1_024, feedForwardSize: 3_072, heads: 16, outputSize: 0 },
};
const MINILM = {
  maxTokens: 256,
  weightBytes: 90_000_000,
  shape: { hiddenSize: 384, feedForwardSize: 1_536, heads: 12, outputSize: 0 },
};
const options = (budgetBytes: number) => ({ budgetBytes, replicas: 4, batchTokens: 512 });

describe("planMemory", () => {
  it("leaves a small model as it is", () => {
    expect(planMemory(MINILM, options(8 * GIB))).toMatchObject({
      replicas: 4,
      maxTokens: 256,
      limitedByMemory: false,
      tooLarge: false,
    });
  });

  it("gives up replicas before it lowers the limit", () => {
    expect(planMemory(MINILM, options(0.5 * GIB))).toMatchObject({ replicas: 2, limitedByMemory: false });
    expect(planMemory({ ...QWEN, maxTokens: 512 }, options(4 * GIB))).toMatchObject({
      replicas: 1,
      maxTokens: 512,
      limitedByMemory: false,
    });
  });

  it("lowers the limit where attention over the longest text does not fit", () => {
    const laptop = planMemory(QWEN, options(9.6 * GIB));
    expect(laptop).toMatchObject({ replicas: 1, limitedByMemory: true, tooLarge: false });
    expect(laptop.maxTokens).toBeGreaterThan(4_000);
    expect(laptop.maxTokens).toBeLessThan(8_192);
  });

  it("says when nothing useful fits", () => {
    expect(planMemory(QWEN, options(GIB)).tooLarge).toBe(true);
  });

  it("never plans more than the budget, nor refuses a length that fits", () => {
    fc.assert(
      fc.property(
        fc.record({
          maxTokens: fc.integer({ min: 1, max: 40_000 }),
          weightBytes: fc.integer({ min: 1, max: 4 * GIB }),
          shape: fc.option(
            fc.record({
              hiddenSize: fc.integer({ min: 1, max: 2_048 }),
              feedForwardSize: fc.integer({ min: 0, max: 8_192 }),
              heads: fc.integer({ min: 1, max: 32 }),
              outputSize: fc.integer({ min: 0, max: 40_000 }),
            }),
          ),
        }),
        fc.integer({ min: 1, max: 40 * GIB }),
        (folder, budgetBytes) => {
          const plan = planMemory(folder, options(budgetBytes));
          expect(plan.replicas).toBeGreaterThanOrEqual(1);
          expect(plan.maxTokens).toBeLessThanOrEqual(folder.maxTokens);
          if (plan.tooLarge) return;
          expect(plan.replicas * plan.replicaBytes).toBeLessThanOrEqual(budgetBytes);
          if (!plan.limitedByMemory) return;
          const longer = { maxTokens: plan.maxTokens + 1, batchTokens: 512 };
          expect(replicaPeakBytes(folder, longer)).toBeGreaterThan(budgetBytes);
        },
      ),
    );
  });
});
