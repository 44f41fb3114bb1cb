/** Segments whose files cannot be written. */
import { setTimeout as sleep } from "node:timers/promises";
import type { IndexPlan } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { FiledCollection } from "../query/testing/filed-collection.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";

const PLAN: IndexPlan = { space: "cosine", embeddingFunction: null, sparse: [] };
const SIZES = { denseRows: 16, sizes: { mutableRows: 32, sealedRows: 128 } };
const LIMIT = 2 ** 19;
const BATCH = 32;
const TEXT = "x".repeat(1_000);

/** As a writer that waits for room, and seals at once. */
async function write(filed: FiledCollection, batch: number): Promise<void> {
  await filed.index.room();
  for (let i = batch * BATCH; i < (batch + 1) * BATCH; i++) {
    const metadata = new Map([["text", TEXT]]);
    filed.put(`r${i}`, { embedding: Float32Array.of(1, i), document: null, uri: null, metadata });
  }
  filed.seal();
  await filed.flush().catch(() => {});
}

it("let those wait who write, once too much is in no file, until files can be written again", async () => {
  const memory = new IndexMemory(LIMIT);
  const filed = new FiledCollection(PLAN, { ...SIZES, memory });
  const files = new MemoryFiles(filed.disk);
  await filed.reopen(files);
  const create = files.create.bind(files);
  files.create = () => Promise.reject(new Error("ENOSPC"));
  let written = 0;
  const writing = (async () => {
    // Several times what may be there.
    for (; written * BATCH * TEXT.length < 4 * LIMIT; written++) await write(filed, written);
  })();
  const counted = (): number =>
    Math.max(0, memory.taken.unfiled - LIMIT / 4) + memory.unsealed.bytes - LIMIT / 2;
  await expect.poll(counted, { timeout: 30_000 }).toBeGreaterThanOrEqual(0);
  const before = written;
  await sleep(200);
  expect(written).toBeLessThanOrEqual(before + 1);
  expect(memory.taken.unfiled).toBeLessThan(LIMIT);
  files.create = create;
  await filed.flush();
  await writing;
  await filed.flush();
  expect(memory.taken.unfiled).toBe(0);
  expect(filed.index.size).toBe(written * BATCH);
});
