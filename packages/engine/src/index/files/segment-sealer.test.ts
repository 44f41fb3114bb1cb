import { setImmediate } from "node:timers/promises";
import { type IndexPlan, SheafError } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { runSealJob } from "../../indexing/run-seal-job.ts";
import { FiledCollection } from "../../query/testing/filed-collection.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { listBits } from "../../segment/bits.ts";

const PLAN: IndexPlan = { space: "l2", embeddingFunction: null, sparse: [] };
const SIZES = { denseRows: 16, sizes: { mutableRows: 32, sealedRows: 256 } };

function put(collection: FiledCollection, i: number, y = 1): void {
  const embedding = Float32Array.of(i, y);
  collection.put(`r${i}`, { embedding, document: null, uri: null, metadata: null });
}

/** Offset and sequence number of all live rows. */
function rows({ index }: FiledCollection): string[] {
  const snapshot = index.snapshot();
  return listBits(snapshot.live.words)
    .map((at) => `${snapshot.offset(at)}@${snapshot.sequence(at)}`)
    .toSorted();
}

function stored({ records }: FiledCollection): string[] {
  return records.map(({ offset, sequence }) => `${offset}@${sequence}`).toSorted();
}

function sealed({ index }: FiledCollection): number {
  return index.segments.filter(({ segment }) => segment.isSealed).length;
}

/** A disk that lists its files late. */
class LateList extends MemoryFiles {
  isListed = Promise.resolve();
  onList = (): void => {};

  override async list(): Promise<readonly string[]> {
    const names = await super.list();
    this.onList();
    await this.isListed;
    return names;
  }
}

describe("segments that are sealed elsewhere", () => {
  it("keep their files, though these are looked through as they come to their places", async () => {
    let end = (): void => {};
    const isEnded = new Promise<void>((resolve) => (end = resolve));
    const runJob: typeof runSealJob = async (...job) => {
      const file = await runSealJob(...job);
      await isEnded;
      return file;
    };
    const filed = new FiledCollection(PLAN, { ...SIZES, byJobs: true, runJob });
    const files = new LateList(filed.disk);
    await filed.reopen(files);
    for (let i = 0; i < 32; i++) put(filed, i);
    while (filed.index.maintain(false));
    let go = (): void => {};
    files.isListed = new Promise((resolve) => (go = resolve));
    while (filed.disk.size === 0) await setImmediate();
    const asked = new Promise<void>((resolve) => (files.onList = resolve));
    const flushed = filed.flush();
    await asked;
    end();
    await filed.sealByJobs();
    expect(sealed(filed)).toBe(1);
    go();
    await flushed;
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(filed.problems).toEqual([]);
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("have their files at once, which a manifest names", async () => {
    const filed = new FiledCollection(PLAN, { ...SIZES, byJobs: true });
    for (let i = 0; i < 100; i++) put(filed, i);
    await filed.sealByJobs();
    expect(filed.written).toBeGreaterThan(0);
    const files = [...filed.disk.keys()].filter((name) => name.endsWith(".seg"));
    expect(files.length).toBeGreaterThanOrEqual(sealed(filed));
    await filed.flush();
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("leave dead what has died meanwhile, and wait for what is stored and not in the index yet", async () => {
    const filed = new FiledCollection(PLAN, { ...SIZES, byJobs: true });
    for (let i = 0; i < 32; i++) put(filed, i);
    const late = filed.store("r5", {
      embedding: Float32Array.of(5, 9),
      document: null,
      uri: null,
      metadata: null,
    });
    while (filed.index.maintain(false));
    filed.remove("r3");
    // The job is done without r5, which is still to be found.
    await expect.poll(() => filed.written).toBe(1);
    for (let i = 0; i < 5; i++) while (filed.index.maintain(false));
    expect(sealed(filed)).toBe(0);
    expect(filed.index.size).toBe(31);
    filed.hear(late);
    await filed.sealByJobs();
    expect(sealed(filed)).toBe(1);
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("are sealed here after two jobs in a row have failed", async () => {
    let jobs = 0;
    const filed = new FiledCollection(PLAN, {
      ...{ ...SIZES, byJobs: true },
      runJob: async (work, stores, signal) => {
        if (++jobs <= 2) throw new SheafError("unavailable", "the indexer is restarting; try again");
        return runSealJob(work, stores, signal);
      },
    });
    for (let i = 0; i < 32; i++) put(filed, i);
    await filed.sealByJobs();
    expect(jobs).toBe(2);
    expect(sealed(filed)).toBe(1);
    expect(filed.problems).toHaveLength(1);
    expect([...filed.disk.keys()]).toEqual([]);
    expect(rows(filed)).toEqual(stored(filed));
  });
});
