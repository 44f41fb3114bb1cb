import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Cancellation, type IndexPlan } from "@sheaf/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { openSegmentFile } from "../segment/files/segment-file.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { IndexerChild } from "./indexer-child.ts";
import type { SealJob } from "./seal-job.ts";

const ROWS = 10_000;
const DIMENSION = 64;
const BATCH = 1_000;
const PLAN: IndexPlan = { space: "l2", embeddingFunction: null, sparse: [] };

let folder: string;
let store: LmdbRecordStore;
let indexer: IndexerChild;
let sequence: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sheaf-indexer-"));
  store = new LmdbRecordStore(
    ownEnvironment({ folder: join(folder, "records"), name: "c", disk: createDiskSpace(folder) }),
  );
  indexer = new IndexerChild({ dataFolder: folder });
  sequence = 0;
  for (let first = 0; first < ROWS; first += BATCH) await put(first);
});

afterEach(async () => {
  await indexer.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A batch of records from this offset on. */
async function put(first: number): Promise<void> {
  sequence++;
  const puts = Array.from({ length: BATCH }, (_, i): StoredRecord => {
    const offset = first + i;
    const embedding = Float32Array.from({ length: DIMENSION }, (_, j) => Math.sin(offset * 7 + j));
    return { offset, sequence, id: `r${offset}`, embedding, document: null, uri: null, metadata: null };
  });
  const nextOffset = Math.max(ROWS, first + BATCH);
  await store.apply(() => ({ head: { sequence, nextOffset, dimension: DIMENSION }, puts, removes: [] }));
}

function jobOf(file: string): SealJob {
  const offsets = Float64Array.from({ length: ROWS }, (_, i) => i);
  return {
    ...{ file, plan: PLAN, dimension: DIMENSION, origin: new Float32Array(DIMENSION) },
    sources: [{ kind: "rows", offsets, sequences: offsets.map((i) => Math.floor(i / BATCH) + 1) }],
    ...{ records: join(folder, "records"), index: join(folder, "index"), name: "c" },
  };
}

function seal(file: string, signal = new Cancellation()): Promise<unknown> {
  return indexer.seal(jobOf(file), { tenant: "a tenant", signal });
}

function files(): string[] {
  return existsSync(join(folder, "index")) ? readdirSync(join(folder, "index")) : [];
}

async function kill(): Promise<void> {
  process.kill(await vi.waitUntil(() => indexer.pid), "SIGKILL");
}

/** What the work ends with. */
function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe("the indexer process", () => {
  it("writes the rows that are as the job has them, beside writes of the same records", async () => {
    const sealing = indexer.seal(jobOf("a.seg"), { tenant: "a tenant", signal: new Cancellation() });
    await put(0);
    const file = await sealing;
    await put(BATCH);
    const options = { id: 0, space: PLAN.space, dimension: DIMENSION, plan: PLAN };
    const segment = await openSegmentFile(new FolderFiles(join(folder, "index")), file, options);
    const { offsets, sequences } = segment;
    const rows = [...sequences.entries()].filter(([, number]) => number > 0);
    // The first batch was written anew before or after it was read.
    expect([ROWS, ROWS - BATCH]).toContain(rows.length);
    for (const [docId, number] of rows) expect(number).toBe(Math.floor(offsets[docId]! / BATCH) + 1);
    expect(new Set(rows.map(([docId]) => offsets[docId])).size).toBe(rows.length);
    segment.close();
  });

  it.each(["read", "write"])("comes back after it was killed as it had begun to %s", async (phase) => {
    const sealing = errorOf(seal("a.seg"));
    if (phase === "read") await vi.waitUntil(() => indexer.pid, { timeout: 10_000 });
    else await vi.waitUntil(() => files().length > 0, { timeout: 60_000, interval: 1 });
    await kill();
    expect(await sealing).toMatchObject({ code: "unavailable" });
    expect(files().filter((name) => name === "a.seg")).toEqual([]);
    await seal("b.seg");
    expect(files()).toContain("b.seg");
  });

  it("ends a job that nobody waits for any more, and leaves no file", async () => {
    const signal = new Cancellation();
    const sealing = seal("a.seg", signal);
    await vi.waitUntil(() => files().length > 0, { timeout: 60_000, interval: 1 });
    signal.abort(new Error("not wanted"));
    await expect(sealing).rejects.toMatchObject({ code: "cancelled" });
    expect(files()).toEqual([]);
  });

  it("runs one job at a time, and lets one go that waits", async () => {
    const signal = new Cancellation();
    const first = seal("a.seg");
    const second = seal("b.seg", signal);
    signal.abort(new Error("not wanted"));
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    await expect(seal("d.seg", signal)).rejects.toMatchObject({ code: "cancelled" });
    await first;
    await seal("c.seg");
    expect(files().toSorted()).toEqual(["a.seg", "c.seg"]);
  });

  it("keeps no page of the store from being used again, though it was killed as it read", async () => {
    const bytes = (): number => statSync(join(folder, "records", "data.mdb")).size;
    await seal("a.seg");
    const { pid } = indexer;
    const sealing = errorOf(seal("b.seg"));
    // It runs already, and reads for longer.
    await pause(20);
    process.kill(pid!, "SIGKILL");
    expect(await sealing).toMatchObject({ code: "unavailable" });
    store.forgetDeadReaders();
    for (let i = 0; i < 20; i++) await put((i % 10) * BATCH);
    const before = bytes();
    for (let i = 0; i < 40; i++) await put((i % 10) * BATCH);
    expect(bytes()).toBeLessThan(before * 1.2);
  });
});
