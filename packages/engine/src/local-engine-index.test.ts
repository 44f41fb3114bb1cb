/** An engine that keeps its indexes in files: what it answers after a restart and a kill. */
import type { CollectionRef } from "@sheaf/protocol";
import { readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { EngineLogEntry } from "./engine-log.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import type { DiskUsage } from "./storage/folder/disk-space.ts";
import { idsOf, makeCollection, write } from "./testing/engine-fixtures.ts";
import { ALL, INDEX, IndexedFolder, ROWS, expected, nearest, row } from "./testing/indexed-folder.ts";

let folder: IndexedFolder;

beforeEach(() => {
  folder = new IndexedFolder();
});

/** Names of the files of segments in the data folder that this process has open. */
function openSegments(): string[] {
  const paths = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      // That of the listing.
      return [];
    }
  });
  const own = paths.filter((path) => path.startsWith(folder.path) && path.endsWith(".seg"));
  return [...new Set(own.map((path) => basename(path)))].toSorted();
}

describe("an engine that keeps its indexes in files", { timeout: 60_000 }, () => {
  it("opens a collection from them, with what was written and deleted since", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    const kept = folder.segmentsOf(ref);
    await first.delete(ref, { ids: ["r7", "r8"], where: null, limit: null });
    await write(first, ref, "add", row(ROWS));
    await write(first, ref, "upsert", row(9));
    await first.close();
    const second = await folder.open();
    const left = [...ALL, ROWS].filter((i) => i !== 7 && i !== 8);
    for (const query of [3, 7, 9, ROWS])
      expect(await nearest(second, ref, query)).toEqual(expected(left, query));
    expect(await second.count(ref, { ids: null, where: null })).toBe(left.length);
    expect(await idsOf(second, ref)).toEqual(left.map((i) => `r${i}`));
    expect(folder.segmentsOf(ref)).toEqual(kept);
    const { schema } = await second.getCollection(ref);
    expect(Object.keys(schema["keys"] as object)).toEqual(expect.arrayContaining(["n", "parity"]));
    await second.close();
    expect(folder.logged).toEqual([]);
  });

  it("gives them to forks, which open like their source and have their own from then on", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    await write(first, ref, "upsert", row(9), row(ROWS));
    const { id } = await first.forkCollection(ref, "fork");
    const fork = { ...ref, id };
    const shared = folder.segmentsOf(ref);
    expect(folder.segmentsOf(fork)).toEqual(shared);
    for (const name of shared) expect(statSync(join(folder.indexOf(fork), name)).nlink).toBe(2);
    await first.delete(ref, { ids: ["r3"], where: null, limit: null });
    await first.close();
    const second = await folder.open();
    expect(await nearest(second, fork, 3)).toEqual(expected([...ALL, ROWS], 3));
    expect(folder.segmentsOf(fork)).toEqual(shared);
    expect(folder.logged).toEqual([]);
    await write(second, fork, "add", ...Array.from({ length: ROWS }, (_, i) => row(1_000 + i)));
    await folder.settledNames(fork);
    expect(folder.segmentsOf(ref)).toEqual(shared);
    await second.deleteCollection({ ...ref, name: (await second.getCollection(ref)).name });
    const { id: grandchild } = await second.forkCollection(fork, "fork of the fork");
    await second.close();
    const third = await folder.open();
    const left = [...ALL, ROWS, ...ALL.map((i) => i + 1_000)];
    for (const each of [fork, { ...ref, id: grandchild }])
      expect(await nearest(third, each, 1_003)).toEqual(expected(left, 1_003));
    expect(folder.segmentsOf({ ...ref, id: grandchild })).toEqual(folder.segmentsOf(fork));
    expect(folder.logged).toEqual([]);
  });

  it("says in the log and in metrics what opening them takes, and how far it is to who asks meanwhile", async () => {
    const rows = 5_000;
    const first = await folder.open({
      ...INDEX,
      sizes: { denseRows: 32, sizes: { mutableRows: 1_024, sealedRows: 4_096 } },
    });
    const ref = await makeCollection(first);
    await write(first, ref, "add", ...Array.from({ length: rows }, (_, i) => row(i)));
    await folder.settledNames(ref);
    await write(first, ref, "upsert", row(3));
    const { unsealedRows, longestReplay, oldestManifestSeconds } = await first.statistics();
    expect({ unsealedRows, longestReplay }).toEqual({ unsealedRows: 1, longestReplay: 1 });
    expect(oldestManifestSeconds).toBeGreaterThan(0);
    await first.close();
    const second = await folder.open();
    const counted = second.count(ref, { ids: null, where: null });
    // The catalog is asked for the collection first.
    while ((await second.statistics()).openingCollections === 0) await nextTurn();
    const { indexedOperations, totalOperations } = await second.indexingStatus(ref);
    expect(indexedOperations).toBeLessThan(totalOperations);
    expect(totalOperations).toBe(rows + 1);
    expect(await counted).toBe(rows);
    expect(await second.indexingStatus(ref)).toEqual({
      indexedOperations: rows + 1,
      totalOperations: rows + 1,
    });
    while (folder.logged.length < 4) await sleep(20);
    await second.close();
    rmSync(folder.indexOf(ref), { recursive: true });
    const third = await folder.open();
    expect(await third.count(ref, { ids: null, where: null })).toBe(rows);
    expect(
      folder.logged.map(({ level, message, collection }) => [
        level,
        message.replaceAll(/[\d.]+ s/gu, "_ s"),
        collection,
      ]),
    ).toEqual(
      [
        "opening: 4999 rows from index files, operations to replay: 1",
        "opened after _ s: 4999 rows from index files, operations to replay: 1",
        "verifying 5000 records",
        "verified 5000 records in _ s",
        "opening: an index of about 5000 records, which are all read",
        "opened after _ s: an index of about 5000 records, which are all read",
      ].map((message) => ["info", message, ref.id]),
    );
  });

  it("closes collections that are not used where others need their file descriptors", async () => {
    const log = (entry: EngineLogEntry): void => void folder.logged.push(entry);
    // A collection that shares files needs none of them.
    const options = {
      ...{ dataFolder: folder.path, index: INDEX, log },
      maxDescriptors: 4,
      shareStores: null,
    };
    const engine = await createLocalEngine(options);
    onTestFinished(() => engine.close());
    const first = await folder.filled(engine);
    await engine.close();
    const again = await createLocalEngine(options);
    onTestFinished(() => again.close());
    expect(await nearest(again, first, 3)).toEqual(expected(ALL, 3));
    expect(openSegments()).toEqual(folder.segmentsOf(first));
    const second = await makeCollection(again);
    await write(again, second, "add", row(1));
    while ((await again.statistics()).openCollections > 1) await sleep(20);
    while (openSegments().length > 0) await sleep(20);
    expect(await nearest(again, first, 3)).toEqual(expected(ALL, 3));
    expect(folder.logged).toEqual([]);
  });

  it("closes collections that are not used where too much is in no file yet", async () => {
    const log = (entry: EngineLogEntry): void => void folder.logged.push(entry);
    const unsealedMemory = 120_000;
    const engine = await createLocalEngine({ dataFolder: folder.path, index: INDEX, log, unsealedMemory });
    onTestFinished(() => engine.close());
    const metadata = new Map([["text", "x".repeat(1_000)]]);
    const refs: CollectionRef[] = [];
    const count = (ref: CollectionRef): Promise<number> => engine.count(ref, { ids: null, where: null });
    for (let i = 0; i < 100; i++) {
      const ref = await makeCollection(engine);
      refs.push(ref);
      await write(engine, ref, "add", { ...row(i), metadata });
      // It has no index before somebody reads it.
      expect(await count(ref)).toBe(1);
    }
    // They have to be checkpointed before.
    while ((await engine.statistics()).indexUnsealedBytes > (3 / 4) * unsealedMemory) {
      expect(await count(refs[0]!)).toBe(1);
      await sleep(20);
    }
    expect((await engine.statistics()).openCollections).toBeLessThan(refs.length);
    for (const ref of refs) expect(await count(ref)).toBe(1);
    expect(folder.logged.filter(({ level }) => level !== "info")).toEqual([]);
  });

  it("removes them where they are not kept any more, and makes them anew", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    await first.close();
    const second = await folder.open({ files: false });
    expect(await nearest(second, ref, 3)).toEqual(expected(ALL, 3));
    expect(folder.names(ref)).toEqual([]);
    await second.close();
    const third = await folder.open();
    expect(await nearest(third, ref, 3)).toEqual(expected(ALL, 3));
    await folder.settledNames(ref);
  });

  it("goes on without them on a full disk, and writes them once there is room", async () => {
    let free = 2 ** 30;
    const diskUsage = (): DiskUsage => ({ free, size: 2 ** 40 });
    const first = await folder.open({ ...INDEX }, { diskUsage, diskReserve: 2 ** 20 });
    const ref = await folder.filled(first);
    await write(first, ref, "add", row(ROWS));
    free = 2 ** 20;
    await first.delete(ref, { ids: ["r1"], where: null, limit: null });
    await first.close();
    free = 2 ** 30;
    const second = await folder.open({ ...INDEX }, { diskUsage, diskReserve: 2 ** 20 });
    const left = [...ALL, ROWS].filter((i) => i !== 1);
    expect(await nearest(second, ref, 1)).toEqual(expected(left, 1));
    expect(await second.count(ref, { ids: null, where: null })).toBe(ROWS);
  });
});
