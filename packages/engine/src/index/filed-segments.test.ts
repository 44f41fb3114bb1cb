/** Segments that give vectors back by being opened from their files. */
import { setTimeout } from "node:timers/promises";
import type { IndexPlan } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { distance, prepare } from "../kernels/distance.ts";
import { FiledCollection } from "../query/testing/filed-collection.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { runSteps } from "../storage/steps.ts";

const PLAN: IndexPlan = { space: "cosine", embeddingFunction: null, sparse: [] };
const SIZES = { denseRows: 16, sizes: { mutableRows: 256, sealedRows: 512 } };
const DIMENSION = 16;
const ROWS = 4_096;

function vectorOf(row: number): Float32Array {
  return Float32Array.from({ length: DIMENSION }, (_, j) => Math.sin((row + 1) * (j + 1)));
}

function put(filed: FiledCollection, row: number): void {
  filed.put(`r${row}`, { embedding: vectorOf(row), document: null, uri: null, metadata: null });
}

/** One sealed segment, in its file. */
async function putSealed(filed: FiledCollection): Promise<void> {
  for (let row = 0; row < 512; row++) put(filed, row);
  filed.seal();
  await filed.flush();
}

/** Filled in batches, each of which is sealed and filed before the next one. */
async function filled(memory: IndexMemory, rows = ROWS): Promise<FiledCollection> {
  const filed = new FiledCollection(PLAN, { ...SIZES, memory });
  for (let row = 0; row < rows; row++) {
    put(filed, row);
    if ((row + 1) % 512 !== 0) continue;
    filed.seal();
    await filed.flush();
    await filed.sealByJobs();
  }
  return filed;
}

function kept({ index }: FiledCollection): string[] {
  return index.segments.flatMap(({ segment }) =>
    segment.isSealed ? [segment.vectors.search.segment.kept] : [],
  );
}

function found(filed: FiledCollection): number[][] {
  const snapshot = filed.index.snapshot();
  return [5, 700, 4_000].map((row) => {
    const query = prepare("cosine", vectorOf(row));
    const distanceAt = (position: number): number =>
      distance("cosine", query, filed.read(snapshot.offset(position))!.embedding);
    const steps = snapshot.searchDense({ query, k: 3, exact: false, distanceAt }, snapshot.live);
    return [...runSteps(steps)!.nearest.positions].map((position) => snapshot.offset(position));
  });
}

it("keep within the limit as more of them come, and answer as before", async () => {
  const room = new IndexMemory();
  const all = await filled(room);
  expect(new Set(kept(all))).toStrictEqual(new Set(["whole"]));
  const { vectors, codes } = room.taken;

  const limit = codes + vectors;
  const memory = new IndexMemory(limit);
  const few = await filled(memory);
  expect(kept(few)).toContain("none");
  expect(memory.isShort).toBe(false);
  expect(memory.used).toBeLessThanOrEqual(limit);
  expect(found(few)).toStrictEqual(found(all));
  expect(few.problems).toStrictEqual([]);
});

it("keep their places among the others, for merges go by the order", async () => {
  const limit = 2 ** 20;
  const memory = new IndexMemory(limit);
  const filed = await filled(memory);
  const firsts = (): number[] =>
    filed.index.segments.flatMap(({ segment }) => (segment.isSealed ? [segment.minOffset] : []));
  const before = firsts();
  // By so little that one of them makes the room.
  const { vectors, codes, unfiled, copies } = memory.taken;
  memory.unsealed.add(0.75 * limit - (vectors + codes + unfiled + copies) + 1);
  expect(memory.isShort).toBe(true);
  await filed.sealByJobs();
  expect(memory.isShort).toBe(false);
  expect(firsts()).toStrictEqual(before);
});

it("are not loaded again where they would have to give that back at once", async () => {
  const room = new IndexMemory();
  const { index } = await filled(room);
  // Of segments that are opened from files magnitudes are not loaded beside vectors.
  let magnitudes = 0;
  for (const { segment } of index.segments)
    if (segment.isSealed) magnitudes += segment.vectors.search.segment.magnitudeBytes;
  const limit = (room.taken.codes - magnitudes + room.taken.vectors) * 1.5;
  const memory = new IndexMemory(limit);
  const filed = await filled(memory);
  // As another collection has it that is written all the time.
  for (const share of [0.05, 0.1, 0.2, 0.3, 0.2, 0.1]) {
    memory.unsealed.add(share * limit - memory.unsealed.bytes);
    await filed.sealByJobs();
    while (filed.index.isLoading) await setTimeout(1);
    expect(memory.isShort).toBe(false);
  }
  expect(new Set(kept(filed))).toStrictEqual(new Set(["none", "bf16"]));
});

it("are rid of dead rows where they are to be opened anew as well", async () => {
  const memory = new IndexMemory(1);
  const filed = new FiledCollection(PLAN, { ...SIZES, memory });
  await putSealed(filed);
  for (let row = 0; row < 100; row++) filed.remove(`r${row}`);
  runSteps(filed.index.purge());
  await filed.sealByJobs();
  expect(filed.index.isPurging).toBe(false);
  const rows = filed.index.segments.map(({ segment, liveCount }) => [
    segment.isSealed && segment.rows,
    liveCount,
  ]);
  expect(rows).toStrictEqual([[412, 412]]);
});

it("have their rows read from the file where only the records had them", async () => {
  const memory = new IndexMemory(1);
  const filed = await filled(memory, 1_024);
  for (const { segment } of filed.index.segments)
    expect(segment.isSealed && segment.vectors.search.segment.readable).toBe("whole");
});

it("are opened later where there were too many open files", async () => {
  const memory = new IndexMemory(2 ** 20);
  const delays = { sealedMs: 60_000, writtenMs: 60_000, retryMs: 10 };
  const filed = new FiledCollection(PLAN, { ...SIZES, memory, delays });
  const files = new MemoryFiles(filed.disk);
  await filed.reopen(files);
  await putSealed(filed);
  const open = files.open.bind(files);
  files.open = () => Promise.reject(new Error("EMFILE"));
  memory.unsealed.add(2 ** 20);
  await filed.sealByJobs();
  expect(filed.problems).toHaveLength(1);
  expect(new Set(kept(filed))).toStrictEqual(new Set(["whole"]));
  files.open = open;
  await expect
    .poll(async () => {
      await filed.sealByJobs();
      return new Set(kept(filed));
    })
    .toStrictEqual(new Set(["none"]));
});

it("stay as they are where the file cannot be opened", async () => {
  const memory = new IndexMemory(1);
  const filed = new FiledCollection(PLAN, { ...SIZES, memory });
  await putSealed(filed);
  for (const name of filed.disk.keys()) if (name.endsWith(".seg")) filed.disk.delete(name);
  await filed.sealByJobs();
  expect(filed.problems).toHaveLength(1);
  expect(filed.index.segments.map(({ liveCount }) => liveCount)).toStrictEqual([512]);
  await filed.sealByJobs();
  expect(filed.problems).toHaveLength(1);
});
