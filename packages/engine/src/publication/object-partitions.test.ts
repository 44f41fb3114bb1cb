/** Published indexes of collections in partitions: each partition has its own. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { CollectionRef, WriteRecord } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { partitionName } from "../storage/folder/partition-name.ts";
import { dividing } from "../testing/dividing.ts";
import { AT, makeCollection, write } from "../testing/engine-fixtures.ts";
import { ROWS, row } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  ObjectCluster,
  expectNothingLeft,
  expectSame,
  indexOf,
  segmentsIn,
} from "./testing/object-cluster.ts";
import { StartedStores } from "./testing/started-stores.ts";

const PARTITIONS = 2;

const stores = new StartedStores();

it("an index node publishes each partition, and a server that has nothing takes it from there", async () => {
  const shared = new ObjectCluster(stores.database.settings(), stores.server.settings(), {
    // The log of all rows needs one, and is not so large that a search node would write it.
    ...{ publication: { claimMs: 800, leftMs: 3_600_000 }, checkpointAfterBytes: 36_000 },
  });
  const kept = temporaryFolder();
  const index = await shared.open(kept, "index");
  const search = await shared.open(temporaryFolder(), "search");
  await expect.poll(async () => (await search.statistics()).databaseLeftToIndexNodes).toBe(1);
  const ref = await makeCollection(dividing(search, PARTITIONS), "divided");
  await write(search, ref, "add", ...Array.from({ length: PARTITIONS * ROWS }, (_, i) => row(i)));
  const whole = await makeCollection(search, "whole");
  await write(search, whole, "add", ...Array.from({ length: PARTITIONS * ROWS }, (_, i) => row(i)));
  const partitions = Array.from({ length: PARTITIONS }, (_, n) => ({ ...ref, id: partitionName(ref.id, n) }));
  for (const partition of partitions)
    await expect.poll(() => shared.covers(partition)).toBeGreaterThan(PARTITIONS * (ROWS - 64));
  expect(await shared.segments(ref)).toEqual([]);
  const checkpointOf = async ({ id }: CollectionRef): Promise<string> =>
    String((await shared.rows("log_head", `collection = '${id}'`))[0]!["checkpoint"]);
  for (const each of [ref, whole]) await expect.poll(() => checkpointOf(each)).toMatch(/\.records$/u);
  // It is read back once it is there. Partitions have read the log as far, and do not read it.
  const readsOf = async (each: CollectionRef): Promise<number> => {
    const name = await checkpointOf(each);
    return stores.server.calls.filter((call) => call.startsWith("GET") && call.includes(name)).length;
  };
  expect(await readsOf(ref)).toBe(await readsOf(whole));
  // It has read the partitions alone, and keeps nothing of what the checkpoint was made of.
  expect(await foldersIn(kept, ref)).toEqual([false, true, true]);
  expect(existsSync(indexOf(kept, whole))).toBe(true);
  await shared.close(index);
  const folder = temporaryFolder();
  const other = await shared.open(folder, "search");
  await expectSame(search, other, ref);
  for (const partition of partitions) {
    const published = await shared.segments(partition);
    expect(published.length).toBeGreaterThan(0);
    // It has answered before, from the object store.
    await expect
      .poll(() => segmentsIn(indexOf(folder, partition)))
      .toEqual(expect.arrayContaining([...published]));
  }
  expect(shared.errors()).toEqual([]);
  for (const name of ["divided", "whole"]) await search.deleteCollection({ ...AT, name });
  await shared.close(other);
  await shared.close(search);
  await shared.sweep();
  await expectNothingLeft(shared);
});

it("an index node writes each checkpoint of the one before, and keeps no partition that its disk has no room for", async () => {
  const shared = new ObjectCluster(stores.database.settings(), stores.server.settings(), {
    ...{ publication: { claimMs: 800, leftMs: 3_600_000 }, checkpointAfterBytes: 64 * 1024 },
  });
  // As much as all that is written at a time; not four times a partition.
  const disk = { diskUsage: () => ({ free: 40 * 2 ** 20, size: 1e12 }) };
  const kept = temporaryFolder();
  const index = await shared.open(kept, "index", disk);
  const search = await shared.open(temporaryFolder(), "search");
  await expect.poll(async () => (await search.statistics()).databaseLeftToIndexNodes).toBe(1);
  const ref = await makeCollection(dividing(search, PARTITIONS), "divided");
  // Each round is more than what is there before it, so that a checkpoint is due.
  const long = (i: number, round: number): WriteRecord => ({
    ...row(i),
    document: `${i} `.repeat(1_000 * (round + 1)),
  });
  const checkpoints = new Set<unknown>([null]);
  for (let round = 0; round < 3; round++) {
    const records = Array.from({ length: ROWS }, (_, i) => long(150 * round + i, round));
    for (let from = 0; from < ROWS; from += 100)
      await write(search, ref, "upsert", ...records.slice(from, from + 100));
    const checkpoint = async (): Promise<unknown> =>
      (await shared.rows("log_head", `collection = '${ref.id}'`))[0]!["checkpoint"];
    await expect.poll(async () => checkpoints.has(await checkpoint())).toBe(false);
    checkpoints.add(await checkpoint());
  }
  await expect.poll(() => foldersIn(kept, ref)).toEqual([false, false, false]);
  await shared.close(index);
  const other = await shared.open(temporaryFolder(), "search");
  await expectSame(search, other, ref);
  expect(shared.errors()).toEqual([]);
});

/** Whether there is one of the whole collection, and of each partition. What is removed goes through the trash. */
async function foldersIn(dataFolder: string, { id }: CollectionRef): Promise<readonly boolean[]> {
  const folder = new DataFolder(dataFolder);
  const trash = join(dataFolder, "trash");
  await expect.poll(() => (existsSync(trash) ? readdirSync(trash) : [])).toEqual([]);
  const names = [id, ...Array.from({ length: PARTITIONS }, (_, n) => partitionName(id, n))];
  return names.map((name) => existsSync(folder.collection(name)));
}
