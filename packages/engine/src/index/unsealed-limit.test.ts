import { describe, expect, it } from "vitest";
import { UnsealedLimit } from "./unsealed-limit.ts";

const ROWS = 100;

/** A limit of two segments of `ROWS` rows, and who has passed it. */
class Limited {
  readonly segments = { unsealed: 0 };
  readonly limit: UnsealedLimit;
  readonly passed: number[] = [];

  constructor(waitMs?: number) {
    this.limit = new UnsealedLimit(this.segments, ROWS, waitMs);
  }

  /** The index was filled with so many rows. */
  fill(rows: number): this {
    this.segments.unsealed = rows;
    this.limit.lower();
    return this;
  }

  async write(writer: number): Promise<void> {
    await this.limit.room();
    this.passed.push(writer);
  }
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("limit of unsealed rows", () => {
  it("lets writers go on below it without a wait", () => {
    const { limit } = new Limited().fill(0);
    expect(limit.room()).toBe(undefined);
  });

  it("lets them wait above it until rows were sealed, in the order they came", async () => {
    const limited = new Limited().fill(0);
    limited.segments.unsealed = 2 * ROWS;
    const writers = [1, 2, 3].map((writer) => limited.write(writer));
    await turn();
    expect(limited.passed).toEqual([]);
    limited.segments.unsealed = ROWS;
    limited.limit.lower();
    await Promise.all(writers);
    expect(limited.passed).toEqual([1, 2, 3]);
  });

  it("lets a few go on at a time, the others once their rows count", async () => {
    const limited = new Limited().fill(0);
    limited.segments.unsealed = 2 * ROWS;
    const writers = Array.from({ length: 20 }, (_, writer) => limited.write(writer));
    limited.segments.unsealed = ROWS;
    limited.limit.pass();
    await turn();
    expect(limited.passed).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    limited.segments.unsealed = 2 * ROWS;
    limited.limit.pass();
    await turn();
    expect(limited.passed).toHaveLength(8);
    limited.segments.unsealed = 0;
    for (let i = 0; i < 2; i++) limited.limit.pass();
    await Promise.all(writers);
  });

  it("leaves room above what an index was filled with, and less with each segment that is sealed", async () => {
    const limited = new Limited().fill(1_000);
    expect(limited.limit.room()).toBe(undefined);
    limited.segments.unsealed = 1_200;
    const writer = limited.write(1);
    await turn();
    expect(limited.passed).toEqual([]);
    limited.fill(600);
    await writer;
    limited.segments.unsealed = 800;
    const next = limited.write(2);
    limited.fill(0);
    await next;
    limited.segments.unsealed = 2 * ROWS;
    expect(limited.limit.room()).toBeInstanceOf(Promise);
    limited.limit.lift();
  });

  it("refuses a writer that waits too long with 503", async () => {
    const limited = new Limited(1).fill(0);
    limited.segments.unsealed = 2 * ROWS;
    await expect(limited.limit.room()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  });

  it("holds nobody back once nothing is sealed any more", async () => {
    const limited = new Limited().fill(0);
    limited.segments.unsealed = 2 * ROWS;
    const writer = limited.write(1);
    limited.limit.lift();
    await writer;
    expect(limited.limit.room()).toBe(undefined);
  });
});
