/** Small collections that are written to and not read have no index: it is made of their records once somebody reads. */
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalEngine } from "./create-local-engine.ts";
import type { Engine } from "./engine.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { idKey } from "./storage/lmdb/record-keys.ts";
import { shareId } from "./storage/lmdb/shared-stores.ts";
import { sharedName } from "./storage/folder/shared-names.ts";
import { idsOf, makeCollection, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const INDEX = { sizes: { denseRows: 32, sizes: { mutableRows: 32, sealedRows: 128 } } };

let dataFolder: string;
let engine: Engine;

beforeEach(async () => {
  dataFolder = temporaryFolder();
  engine = await createLocalEngine({ dataFolder, index: INDEX });
});
afterEach(() => engine.close());

const indexBytes = async (): Promise<number> => (await engine.statistics()).indexUnsealedBytes;
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `r${from + i}`);
const add = (ref: CollectionRef, ...ids: string[]): Promise<void> =>
  write(engine, ref, "add", ...ids.map((id) => record(id, { metadata: new Map([["key", id]]) })));

it("tells who watches over the process of reads that open a small collection, not of writes, which are calls on it", async () => {
  const [written, read] = [await makeCollection(engine, "written"), await makeCollection(engine, "read")];
  await Promise.all([add(written, "a"), add(read, "a")]);
  await engine.close();
  const touched: string[] = [];
  const onTouch = (store: string): void => void touched.push(store);
  engine = await createLocalEngine({ dataFolder, index: INDEX, onTouch });
  await add(written, "b");
  expect(touched).toEqual([]);
  expect(await idsOf(engine, read)).toEqual(["a"]);
  expect(touched).toEqual([read.id, read.id]);
});

describe("a small collection that nobody reads", () => {
  it("has no index, and reads that come later see every write before them", async () => {
    const ref = await makeCollection(engine);
    await Promise.all(numbered(0, 10).map((id) => add(ref, id)));
    expect(await indexBytes()).toBe(0);
    // The index is made while others write.
    const [found] = await Promise.all([
      idsOf(engine, ref),
      add(ref, "r10"),
      add(ref, "r11"),
      add(ref, "r12"),
    ]);
    expect(found).toEqual(expect.arrayContaining(numbered(0, 10)));
    expect(await indexBytes()).toBeGreaterThan(0);
    expect(await idsOf(engine, ref)).toHaveLength(13);
  });

  it("has its keys in the schema, and the catalog knows what it holds", async () => {
    const ref = await makeCollection(engine);
    await add(ref, ...numbered(0, 5));
    await add(ref, ...numbered(5, 10));
    const { schema, dimension } = await engine.getCollection(ref);
    expect(Object.keys(schema["keys"] as object)).toContain("key");
    expect(dimension).not.toBeNull();
    const held = async (): Promise<unknown> =>
      (await engine.collectionUsage(ref, { limit: null, offset: 0 })).items[0]?.held?.records;
    await expect.poll(held).toBe(10);
    expect(await indexBytes()).toBe(0);
  });

  it("gets its index with the write that makes it larger", async () => {
    const ref = await makeCollection(engine);
    await add(ref, ...numbered(0, 20));
    expect(await indexBytes()).toBe(0);
    await add(ref, ...numbered(20, 40));
    expect(await indexBytes()).toBeGreaterThan(0);
    expect(await idsOf(engine, ref)).toHaveLength(40);
  });

  it("is refused where entries of its records are missing, and others are not", async () => {
    const [ref, other] = [await makeCollection(engine), await makeCollection(engine)];
    for (const each of [ref, other]) await add(each, "a", "b");
    await engine.close();
    const name = sharedName(ref.id);
    const environment = new LmdbEnvironment({
      ...{ folder: join(dataFolder, name), name },
      disk: createDiskSpace(dataFolder),
    });
    await environment.transact(() => environment.remove(Buffer.concat([shareId(ref.id), idKey("a")])));
    await environment.close();
    engine = await createLocalEngine({ dataFolder, index: INDEX });
    await expect(add(ref, "c")).rejects.toMatchObject({ code: "collection_unavailable" });
    await add(other, "c");
  });
});
