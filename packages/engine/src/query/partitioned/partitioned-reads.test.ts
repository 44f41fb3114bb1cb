/** What holds of reads of several partitions while others write, and where a partition is missing. */
import assert from "node:assert/strict";
import { Cancellation, SheafError } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { executeNext } from "../execute.ts";
import { PartitionedCollection } from "../testing/partitioned-collection.ts";
import { recordsOf } from "../testing/records-of.ts";
import { SEARCH, knn } from "../testing/searches.ts";
import type { RecordContent } from "../testing/test-collection.ts";
import type { PartitionHold } from "./local-partition.ts";
import type { Partition, PartitionRead } from "./partition.ts";
import {
  type PartitionedContext,
  countOfPartitions,
  getOfPartitions,
  searchOfPartitions,
} from "./read-partitions.ts";

const PLAN = { space: "l2", embeddingFunction: null, sparse: [] } as const;
const PARTITIONS = 3;
const ALL = {
  ...{ ids: null, where: null, limit: null, offset: 0 },
  include: {
    ...{ documents: true, embeddings: false, metadatas: false, uris: false, distances: false },
    keys: [],
  },
};

function contentOf(document: string, x = 0): RecordContent {
  return { embedding: Float32Array.of(x, 1), document, uri: null, metadata: null };
}

function filled(records: number, document = "first"): PartitionedCollection {
  const collection = new PartitionedCollection(PLAN, PARTITIONS);
  for (let i = 0; i < records; i++) collection.put(`r${i}`, contentOf(document, i));
  return collection;
}

function holdOf(parts: Partial<PartitionHold>): PartitionHold {
  return {
    ...{ refresh: () => new Promise<void>(() => {}), use: (work) => work() },
    ...{ keep: () => {}, release: () => {}, ...parts },
  };
}

function openReadsOf({ collections }: PartitionedCollection): number {
  return collections.reduce((sum, { versions }) => sum + versions.openReads, 0);
}

describe("a read of partitions", () => {
  it("sees a batch whole that one partition has and another does not have yet", async () => {
    const collection = filled(30);
    for (let i = 0; i < 30; i++) collection.stage(`r${i}`, contentOf("second", i));
    // The first partition has come to the new state, the others are about to.
    collection.publish(0);
    const context = { ...collection.context, state: 0 };
    const reading = recordsOf(getOfPartitions(context, ALL));
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (let partition = 1; partition < PARTITIONS; partition++) collection.publish(partition);
    const [records = []] = await reading;
    expect(records.map(({ document }) => document)).toStrictEqual(Array(30).fill("second"));
  });

  it("stays at its state while later batches come", async () => {
    const collection = filled(30);
    const state = collection.sequence;
    const { context } = collection;
    let isFirst = true;
    // Others write between the partitions' first answers and the word at which state to stay.
    const partitions = context.partitions.map((partition): Partition => ({
      begin: async (...asked) => {
        const begun = await partition.begin(...asked);
        if (isFirst) for (let i = 0; i < 30; i++) collection.stage(`r${i}`, contentOf("second", i));
        if (isFirst) collection.publish();
        isFirst = false;
        return begun;
      },
    }));
    const [records = []] = await recordsOf(getOfPartitions({ ...context, partitions, state }, ALL));
    const documents = new Set(records.map(({ document }) => document));
    expect(documents.size).toBe(1);
    expect(records).toHaveLength(30);
  });

  /** Whose first partition goes through so many more states after it is begun, each time before it is told which one counts. */
  function overtaken(collection: PartitionedCollection, times: number): PartitionedContext {
    const { context } = collection;
    const [first, ...others] = context.partitions;
    let left = times;
    const begin: Partition["begin"] = async (...asked) => {
      const { state, read } = await first!.begin(...asked);
      const settle: PartitionRead["settle"] = (wanted) => {
        if (left-- > 0) for (let i = 0; i < 100; i++) collection.put(`r${i % 30}`, contentOf("second", i));
        return read.settle(wanted);
      };
      return { state, read: { ...read, settle } };
    };
    return { ...context, partitions: [{ begin }, ...others] };
  }

  it("begins again where others have written more meanwhile than a partition keeps", async () => {
    const collection = filled(30);
    const [records = []] = await recordsOf(getOfPartitions(overtaken(collection, 2), ALL));
    expect(records.map(({ document }) => document)).toStrictEqual(Array(30).fill("second"));
    expect(openReadsOf(collection)).toBe(0);
  });

  it("is 503 where that happens again and again, and leaves nothing open", async () => {
    const collection = filled(30);
    const reading = recordsOf(getOfPartitions(overtaken(collection, Infinity), ALL));
    await expect(reading).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("others write") as string,
    });
    expect(openReadsOf(collection)).toBe(0);
  });

  it("has charged what it keeps until it is told at which state to stay, and gives it back then", async () => {
    const collection = filled(30);
    const [partition] = collection.partitions;
    let kept = 0;
    const hold = holdOf({ keep: (bytes) => void (kept += bytes) });
    const ids = Array.from({ length: 30 }, (_, i) => `r${i}`);
    const filters = [{ path: "", where: null }];
    const { state, read } = await partition!.begin({ filters, lists: [] }, ids, undefined, { hold });
    const first = kept;
    expect(first).toBeGreaterThan(0);
    for (let i = 0; i < 30; i++) collection.put(`r${i}`, contentOf("second", i));
    // Those of this partition have changed its index, each time.
    expect(kept).toBeGreaterThan(4 * first);
    await read.settle(state);
    expect(kept).toBe(first);
    read.close();
  });

  it("is refused where its tenant keeps too much, and holds up no writer", async () => {
    const collection = filled(30);
    let left = 1;
    const keep = (bytes: number): void => {
      if (bytes > 0 && left-- === 0) throw new SheafError("rate_limited", "too much is kept");
    };
    const question = { filters: [], lists: [] };
    const { state, read } = await collection.partitions[0]!.begin(question, null, undefined, {
      hold: holdOf({ keep }),
    });
    for (let i = 0; i < 30; i++) collection.put(`r${i}`, contentOf("second", i));
    await expect(read.settle(state)).rejects.toMatchObject({ code: "rate_limited" });
    await expect(read.settle(collection.sequence + 1)).rejects.toMatchObject({ code: "rate_limited" });
    read.close();
    expect(await countOfPartitions(collection.context, { ids: null, where: null })).toBe(30);
    expect(openReadsOf(collection)).toBe(0);
  });

  it("ends where a partition does not come to the state of the others", async () => {
    const collection = filled(10);
    // As of an index that is broken: it has gone through what there is, and tells of no state.
    const hold = holdOf({ refresh: async () => {} });
    const question = { filters: [], lists: [] };
    const { state, read } = await collection.partitions[0]!.begin(question, null, undefined, { hold });
    await expect(read.settle(state + 1)).rejects.toMatchObject({ code: "unavailable" });
    read.close();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { read: waiting } = await collection.partitions[0]!.begin(question, null);
    await Promise.all([
      expect(waiting.settle(state + 1)).rejects.toMatchObject({ code: "unavailable" }),
      vi.advanceTimersByTimeAsync(10_000),
    ]);
    waiting.close();
    expect(openReadsOf(collection)).toBe(0);
  });

  it("goes on with the records that it began with, over several batches", async () => {
    const long = "x".repeat(100_000);
    const collection = filled(60, long);
    const started = await getOfPartitions(collection.context, ALL);
    assert(started.rest !== null);
    for (let i = 0; i < 60; i += 2) collection.put(`r${i}`, contentOf("second", i));
    for (let i = 1; i < 60; i += 2) collection.remove(`r${i}`);
    const records = [...started.first.lists[0]!];
    let batches = 1;
    for (; !started.rest.reader.isDone; batches++) {
      const { first, lists } = await executeNext(started.rest);
      expect(first).toBe(0);
      records.push(...lists[0]!);
    }
    started.rest.ticket.close();
    expect(batches).toBeGreaterThan(2);
    expect(records.map(({ id }) => id)).toStrictEqual(Array.from({ length: 60 }, (_, i) => `r${i}`));
    expect(records.every(({ document }) => document === long)).toBe(true);
    expect(openReadsOf(collection)).toBe(0);
  });

  it("waits for a state that it was told to see", async () => {
    const collection = filled(10);
    collection.stage("new", contentOf("new"));
    const counting = countOfPartitions(collection.context, { ids: null, where: null });
    await new Promise((resolve) => setTimeout(resolve, 20));
    collection.publish();
    expect(await counting).toBe(11);
    expect(openReadsOf(collection)).toBe(0);
  });

  it("ends with its caller while it waits", async () => {
    const collection = filled(10);
    const signal = new Cancellation();
    const context = { ...collection.context, state: collection.sequence + 1 };
    const counting = countOfPartitions(context, { ids: null, where: null }, signal);
    await new Promise((resolve) => setTimeout(resolve, 20));
    signal.abort(new SheafError("cancelled", "left"));
    await expect(counting).rejects.toMatchObject({ code: "cancelled" });
    expect(openReadsOf(collection)).toBe(0);
  });

  it("is never answered in part: a partition that is missing is 503", async () => {
    const collection = filled(10);
    const { context } = collection;
    const gone = new SheafError("unavailable", "the partition has no node", { retryAfterSeconds: 1 });
    const partitions = [...context.partitions.slice(1), { begin: () => Promise.reject(gone) }];
    const request = { searches: [{ ...SEARCH, rank: knn() }], readLevel: "index_and_wal" } as const;
    await expect(searchOfPartitions({ ...context, partitions }, request)).rejects.toBe(gone);
    expect(openReadsOf(collection)).toBe(0);
  });

  it("is not answered where a partition is lost in the middle of it", async () => {
    const collection = filled(10);
    const { context } = collection;
    const lost = new SheafError("unavailable", "the partition's node has ended", { retryAfterSeconds: 1 });
    const [first, ...others] = context.partitions;
    const losing: Partition = {
      begin: async (...asked) => {
        const { state, read } = await first!.begin(...asked);
        return { state, read: { ...read, nearest: () => Promise.reject(lost) } };
      },
    };
    const request = { searches: [{ ...SEARCH, rank: knn() }], readLevel: "index_and_wal" } as const;
    const reading = searchOfPartitions({ ...context, partitions: [losing, ...others] }, request);
    await expect(reading).rejects.toBe(lost);
    expect(openReadsOf(collection)).toBe(0);
  });

  it("refuses what one index refuses, with the path", async () => {
    const { context } = filled(3);
    const regex = { type: "document_regex", negated: false, pattern: "(" } as const;
    const asked = (search: object): Promise<unknown> =>
      searchOfPartitions(context, { searches: [{ ...SEARCH, ...search }], readLevel: "index_and_wal" });
    await expect(asked({ where: regex })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("searches[0].where") as string,
    });
    const vector = Float32Array.of(1, 2, 3);
    await expect(asked({ rank: knn({ query: { type: "dense", vector } }) })).rejects.toMatchObject({
      message: expect.stringContaining("searches[0].rank") as string,
    });
  });
});
