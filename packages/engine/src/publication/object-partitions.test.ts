/** Published indexes of collections in partitions: each partition has its own. */
import { expect, it } from "vitest";
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
    ...{ publication: { claimMs: 800, leftMs: 3_600_000 }, checkpointAfterBytes: 20_000 },
  });
  const index = await shared.open(temporaryFolder(), "index");
  const search = await shared.open(temporaryFolder(), "search");
  await expect.poll(async () => (await search.statistics()).databaseLeftToIndexNodes).toBe(1);
  const ref = await makeCollection(dividing(search, PARTITIONS), "divided");
  await write(search, ref, "add", ...Array.from({ length: PARTITIONS * ROWS }, (_, i) => row(i)));
  const partitions = Array.from({ length: PARTITIONS }, (_, n) => ({ ...ref, id: partitionName(ref.id, n) }));
  for (const partition of partitions)
    await expect.poll(() => shared.covers(partition)).toBeGreaterThan(PARTITIONS * (ROWS - 64));
  expect(await shared.segments(ref)).toEqual([]);
  await expect
    .poll(async () => (await shared.rows("log_head", `collection = '${ref.id}'`))[0]!["checkpoint"])
    .toMatch(/\.records$/u);
  await shared.close(index);
  const folder = temporaryFolder();
  const other = await shared.open(folder, "search");
  await expectSame(search, other, ref);
  for (const partition of partitions) {
    const published = await shared.segments(partition);
    expect(published.length).toBeGreaterThan(0);
    expect(segmentsIn(indexOf(folder, partition))).toEqual(expect.arrayContaining([...published]));
  }
  expect(shared.errors()).toEqual([]);
  await search.deleteCollection({ ...AT, name: "divided" });
  await shared.close(other);
  await shared.close(search);
  await shared.sweep();
  await expectNothingLeft(shared);
});
