/** Which partitions a read asks, for what, and how many at a time. */
import { type Where, SheafError } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { partitionOf } from "../../storage/log/partition-of.ts";
import { PartitionedCollection } from "../testing/partitioned-collection.ts";
import { recordsOf } from "../testing/records-of.ts";
import type { Partition, SelectedIds } from "./partition.ts";
import {
  type PartitionedContext,
  countOfPartitions,
  getOfPartitions,
  offsetsOfPartitions,
  queryOfPartitions,
} from "./read-partitions.ts";

const PLAN = { space: "l2", embeddingFunction: null, sparse: [] } as const;
const PARTITIONS = 8;
const RECORDS = 60;
const INCLUDE = {
  ...{ documents: false, embeddings: false, metadatas: false, uris: false, distances: false },
  keys: [],
};
const MIB = 1024 * 1024;

function filled(): PartitionedCollection {
  const collection = new PartitionedCollection(PLAN, PARTITIONS);
  onTestFinished(() => collection.close());
  for (let i = 0; i < RECORDS; i++)
    collection.put(`r${i}`, { embedding: Float32Array.of(i, 1), document: "d", uri: null, metadata: null });
  return collection;
}

/** By partition, what it was asked for. */
function watched(context: PartitionedContext): {
  readonly context: PartitionedContext;
  readonly asked: Map<number, SelectedIds>;
} {
  const asked = new Map<number, SelectedIds>();
  const partitions = context.partitions.map((partition, n): Partition => ({
    begin: (question, ids, signal) => {
      asked.set(n, ids);
      return partition.begin(question, ids, signal);
    },
  }));
  return { context: { ...context, partitions }, asked };
}

function holding(text: string): Where {
  return { type: "document_contains", negated: false, text };
}

describe("a read of partitions by ids", () => {
  const two = ["r7", "r3"];
  const theirs = new Set(two.map((id) => partitionOf(id, PARTITIONS)));

  it("asks the partitions of the ids alone, each for its own", async () => {
    const { context, asked } = watched(filled().context);
    const request = { ids: two, where: null, limit: null, offset: 0, include: INCLUDE };
    const [records = []] = await recordsOf(getOfPartitions(context, request));
    expect(records.map(({ id }) => id)).toStrictEqual(["r3", "r7"]);
    expect(new Set(asked.keys())).toStrictEqual(theirs);
    for (const [n, ids] of asked)
      expect(ids).toStrictEqual(two.filter((id) => partitionOf(id, PARTITIONS) === n));
    expect(await countOfPartitions(context, { ids: two, where: null })).toBe(2);
    const { offsets } = await offsetsOfPartitions(context, { ids: two, where: null }, null);
    expect(offsets).toStrictEqual([3, 7]);
    expect(asked.size).toBe(theirs.size);
  });

  it("asks one partition for none, which checks the filter", async () => {
    const { context, asked } = watched(filled().context);
    expect(await countOfPartitions(context, { ids: [], where: null })).toBe(0);
    expect(asked.size).toBe(1);
    const where: Where = { type: "document_regex", negated: false, pattern: "(" };
    await expect(countOfPartitions(context, { ids: [], where })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("asks all of them where the number of all records bounds the limit", async () => {
    const { context, asked } = watched(filled().context);
    const embeddings = [Float32Array.of(3.2, 1)];
    const request = { ids: two, where: null, embeddings, limit: 5, include: INCLUDE };
    const [records = []] = await recordsOf(queryOfPartitions(context, request));
    expect(records.map(({ id }) => id)).toStrictEqual(["r3", "r7"]);
    expect(asked.size).toBe(PARTITIONS);
    expect([...asked.values()].flat()).toHaveLength(2);
  });

  it("asks all of them for all ids where an id has chunks, which may be anywhere", async () => {
    const { context, asked } = watched(filled().context);
    const chunking = { by: "tokens", size: 64, overlap: 0 } as never;
    const plan = { ...context.plan, chunking };
    expect(await countOfPartitions({ ...context, plan }, { ids: two, where: null })).toBe(2);
    expect(asked.size).toBe(PARTITIONS);
    for (const ids of asked.values()) expect(ids).toStrictEqual(two);
  });
});

describe("a long question to partitions", () => {
  it("is on its way to some of them at a time", async () => {
    const { context } = filled();
    let [now, most] = [0, 0];
    const partitions = context.partitions.map((partition): Partition => ({
      begin: async (...asked) => {
        most = Math.max(most, ++now);
        try {
          return await partition.begin(...asked);
        } finally {
          now--;
        }
      },
    }));
    const count = (where: Where): Promise<number> =>
      countOfPartitions({ ...context, partitions }, { ids: null, where });
    expect(await count(holding("d"))).toBe(RECORDS);
    expect(most).toBe(PARTITIONS);
    most = 0;
    expect(await count(holding("x".repeat(0.9 * MIB)))).toBe(0);
    expect(most).toBe(2);
    most = 0;
    expect(await count(holding("x".repeat(3 * MIB)))).toBe(0);
    expect(most).toBe(1);
  });

  it("is charged to its tenant until all have begun", async () => {
    const { context } = filled();
    let fail = (_error: Error): void => {};
    const away = new Promise<never>((_resolve, reject) => (fail = reject));
    const partitions = context.partitions.map((): Partition => ({ begin: () => away }));
    const where = holding("x".repeat(70 * MIB));
    const waiting = { ...context, partitions, tenant: "one" };
    const first = countOfPartitions(waiting, { ids: null, where });
    const second = countOfPartitions(waiting, { ids: null, where });
    await expect(second).rejects.toMatchObject({ code: "rate_limited" });
    const small = { ids: null, where: holding("d") };
    expect(await countOfPartitions({ ...context, tenant: "other" }, small)).toBe(RECORDS);
    const gone = new SheafError("unavailable", "the partition has no node", { retryAfterSeconds: 1 });
    fail(gone);
    await expect(first).rejects.toBe(gone);
    await expect(countOfPartitions(waiting, { ids: null, where })).rejects.toBe(gone);
  });
});
