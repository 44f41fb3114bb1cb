import { existsSync, mkdirSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { DataFolder } from "./data-folder.ts";
import { partitionName } from "./partition-name.ts";

it("leaves files of dropped collections where they are while they are held", async () => {
  const folder = new DataFolder(temporaryFolder());
  const [dropped, discarded, later] = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of [dropped, discarded, later]) mkdirSync(folder.collection(id), { recursive: true });
  const release = folder.hold();
  await folder.dropCollection(dropped);
  await folder.discardCollection(discarded);
  expect([dropped, discarded].map((id) => existsSync(folder.collection(id)))).toEqual([true, false]);
  await release();
  expect(existsSync(folder.collection(dropped))).toBe(false);
  await folder.dropCollection(later);
  expect(existsSync(folder.collection(later))).toBe(false);
});

it("drops all folders of a collection, those of its partitions too, and no others", async () => {
  const folder = new DataFolder(temporaryFolder());
  const [dropped, kept] = [randomUUID(), randomUUID()];
  const names = [dropped, partitionName(dropped, 0), partitionName(dropped, 11)];
  const others = [partitionName(kept, 0), partitionName(kept, 1)];
  for (const name of [...names, ...others]) mkdirSync(folder.collection(name), { recursive: true });
  expect([...folder.collectionIds()].toSorted()).toEqual([dropped, kept].toSorted());
  await folder.discardCollection(dropped);
  expect(names.map((name) => existsSync(folder.collection(name)))).toEqual([false, true, true]);
  await folder.dropCollection(dropped);
  expect([...folder.collectionIds()]).toEqual([kept]);
  expect(others.every((name) => existsSync(folder.collection(name)))).toBe(true);
});
