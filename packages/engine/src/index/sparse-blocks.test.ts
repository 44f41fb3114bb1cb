import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { MAX_SLOTS } from "./posting-lists.ts";
import { SEGMENT_ROWS, SEGMENT_WORDS } from "./row-set.ts";
import { SparseBlocks } from "./sparse-blocks.ts";
import { SparsePostings } from "./sparse-postings.ts";

const ALL = new Uint32Array(SEGMENT_WORDS).fill(0xffff_ffff);

/** A full segment: in each of some rows a term of its own and one that all have. */
function fullSegment(number: number): SparsePostings {
  const postings = new SparsePostings();
  for (let row = 0; row < SEGMENT_ROWS; row += 64) {
    postings.add(row, { indices: Uint32Array.of(7, 1_000 + number), values: Float32Array.of(1, row) });
  }
  postings.seal();
  return postings;
}

describe("SparseBlocks", () => {
  const problems: unknown[] = [];
  let blocks = new SparseBlocks({ onProblem: (error) => problems.push(error) });
  const built = async (): Promise<void> => {
    while (blocks.isBuilding) await setTimeout(1);
    expect(problems).toStrictEqual([]);
  };
  const add = (count: number): SparsePostings[] => {
    const added = Array.from({ length: count }, (_, number) => fullSegment(number));
    for (const postings of added) blocks.add("k", postings);
    return added;
  };
  const sizes = (of: readonly SparsePostings[]): number[] =>
    [...new Set(of.map(({ block }) => block!))].map(({ slots }) => slots).sort((a, b) => a - b);

  afterEach(() => {
    blocks.close();
    blocks = new SparseBlocks({ onProblem: (error) => problems.push(error) });
  });

  it("merges segments into few blocks that hold the same", async () => {
    const segments = add(2 * MAX_SLOTS + 5);
    const before = segments.map((postings) => postings.vectors(ALL));
    await built();
    expect(sizes(segments)).toStrictEqual([5, MAX_SLOTS, MAX_SLOTS]);
    expect(segments.map((postings) => postings.vectors(ALL))).toStrictEqual(before);
    expect(segments.every(({ block }) => block?.kind === "wasm")).toBe(true);
    const places = segments.map(({ block, slot }) => `${block?.slots} ${slot}`);
    expect(new Set(places.slice(-5)).size).toBe(5);
  });

  it("keeps few blocks however segments come", async () => {
    const segments: SparsePostings[] = [];
    for (let i = 0; i < 11; i++) {
      segments.push(...add(1));
      await built();
    }
    expect(sizes(segments)).toStrictEqual([1, 2, 8]);
  });

  it("drops blocks of segments that are gone, which keep what they have", async () => {
    const segments = add(8);
    await built();
    const [gone, kept] = [segments.slice(0, 5), segments.slice(5)];
    const [old] = gone;
    const block = old!.block;
    const before = segments.map((postings) => postings.vectors(ALL));
    for (const postings of gone) blocks.remove("k", postings);
    await built();
    expect(sizes(kept)).toStrictEqual([3]);
    expect(kept[0]!.block!.lists.rows).toHaveLength((3 * 2 * SEGMENT_ROWS) / 64);
    expect(old!.block).toBe(block);
    expect(segments.map((postings) => postings.vectors(ALL))).toStrictEqual(before);
  });

  it("leaves a segment that goes during a merge where it was", async () => {
    const segments = add(4);
    const own = segments[2]!.block;
    // After some steps, in the middle of it.
    await setTimeout(1);
    blocks.remove("k", segments[2]!);
    await built();
    expect(segments[2]!.vectors(ALL)).toStrictEqual(fullSegment(2).vectors(ALL));
    expect([own, segments[0]!.block]).toContain(segments[2]!.block);
    expect(new Set([0, 1, 3].map((i) => segments[i]!.block)).size).toBe(1);
  });

  it("gives up a key that is dropped, and its kernel memories", async () => {
    for (let round = 0; round < 600; round++) {
      add(1);
      if (round % 2 === 0) await setTimeout(0);
      blocks.drop("k");
    }
    const segments = add(1);
    await built();
    expect(segments[0]!.block?.kind).toBe("wasm");
  });

  it("passes over segments without sparse vectors", async () => {
    const postings = new SparsePostings();
    postings.seal();
    blocks.add("k", postings);
    blocks.remove("k", postings);
    await built();
    expect(postings.block).toBeNull();
  });
});
