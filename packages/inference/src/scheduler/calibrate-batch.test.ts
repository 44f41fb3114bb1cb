import { describe, expect, it } from "vitest";
import { calibrateBatch } from "./calibrate-batch.ts";

/** A model whose runs take as long as `costMs` says, on a clock of its own. */
async function calibrate(
  costMs: (tokens: number) => number,
  maxTokens = 256,
): Promise<{ chosen: number; tried: readonly number[] }> {
  let now = 0;
  const tried: number[] = [];
  const run = (batch: readonly Int32Array[]): Promise<void> => {
    const tokens = batch.reduce((sum, ids) => sum + ids.length, 0);
    tried.push(tokens);
    now += costMs(tokens);
    return Promise.resolve();
  };
  return { chosen: await calibrateBatch({ run, maxTokens, clock: () => now }), tried };
}

describe("calibrateBatch", () => {
  it("takes the size with the least time per token", async () => {
    expect((await calibrate((tokens) => 10 + tokens / 100)).chosen).toBe(1_024);
    expect((await calibrate((tokens) => (tokens > 512 ? tokens / 5 : 10 + tokens / 100))).chosen).toBe(512);
    expect((await calibrate((tokens) => tokens ** 2 / 10_000)).chosen).toBe(256);
  });

  it("stays with the smaller where a larger one gains next to nothing", async () => {
    expect((await calibrate((tokens) => tokens / 100)).chosen).toBe(256);
  });

  it("does not try larger batches of a slow model", async () => {
    const { chosen, tried } = await calibrate((tokens) => tokens * 4);
    expect(chosen).toBe(256);
    expect(Math.max(...tried)).toBe(256);
  });

  it("keeps to the limit of a model with short texts", async () => {
    const { tried } = await calibrate((tokens) => 10 + tokens / 100, 24);
    expect(tried.every((tokens) => tokens % 24 === 0)).toBe(true);
  });

  it("fails as a run does", async () => {
    const run = (): Promise<never> => Promise.reject(new Error("the process died"));
    await expect(calibrateBatch({ run, maxTokens: 256, clock: () => 0 })).rejects.toThrow("the process died");
  });
});
