/** An engine that keeps its indexes in files: what it answers after a restart, a kill and damage. */
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionRef, SheafError, WriteRecord } from "@sheaf/protocol";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "./engine.ts";
import type { EngineLogEntry } from "./engine-log.ts";
import type { IndexSettings } from "./collection/open-collection-options.ts";
import { createLocalEngine } from "./local-engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { type DiskSpaceOptions, type DiskUsage, createDiskSpace } from "./storage/folder/disk-space.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { offsetKey } from "./storage/lmdb/record-keys.ts";
import { INCLUDE, idsOf, listsOf, makeCollection, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const INDEX = { files: true, sizes: { denseRows: 32, sizes: { mutableRows: 32, sealedRows: 128 } } };
const ROWS = 300;

let dataFolder: string;
let logged: EngineLogEntry[];

beforeEach(() => {
  dataFolder = temporaryFolder();
  logged = [];
});

async function open(index: IndexSettings = INDEX, disk: DiskSpaceOptions = {}): Promise<Engine> {
  const log = (entry: EngineLogEntry): void => void logged.push(entry);
  const engine = await createLocalEngine({ dataFolder, index, log, ...disk } as LocalEngineOptions);
  onTestFinished(() => engine.close());
  return engine;
}

function vector(i: number): Float32Array {
  return Float32Array.of(Math.sin(i), Math.cos(i * 1.7));
}

function row(i: number): WriteRecord {
  return record(`r${i}`, {
    embedding: vector(i),
    document: `number ${i}`,
    metadata: new Map<string, string | bigint>([
      ["n", BigInt(i)],
      ["parity", i % 2 === 0 ? "even" : "odd"],
    ]),
  });
}

/** A collection of several sealed segments whose files are on the disk. */
async function filled(engine: Engine): Promise<CollectionRef> {
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(i)));
  await filesOf(ref);
  return ref;
}

function indexFolder({ id }: CollectionRef): string {
  return new DataFolder(dataFolder).collectionIndex(id);
}

function names(ref: CollectionRef): string[] {
  const folder = indexFolder(ref);
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}

function segmentsOf(ref: CollectionRef): string[] {
  return names(ref).filter((name) => name.endsWith(".seg"));
}

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
  const own = paths.filter((path) => path.startsWith(dataFolder) && path.endsWith(".seg"));
  return [...new Set(own.map((path) => basename(path)))].toSorted();
}

/** Waits until there is a manifest and nothing changes any more. */
async function filesOf(ref: CollectionRef): Promise<string[]> {
  for (let before = ""; ;) {
    await sleep(1_500);
    const now = names(ref);
    if (now.some((name) => name.startsWith("manifest-")) && now.join() === before) return now;
    before = now.join();
  }
}

async function nearest(engine: Engine, ref: CollectionRef, i: number): Promise<string[]> {
  const request = { ids: null, where: null, embeddings: [vector(i)], limit: 5, include: INCLUDE };
  const [found = []] = await listsOf(engine, ref, engine.query(ref, request));
  return found.map(({ id }) => id);
}

/** Ids of the five nearest of those records, as they are computed one by one. */
function expected(ids: readonly number[], query: number): string[] {
  const [x, y] = vector(query) as unknown as [number, number];
  const distance = (i: number): number => (vector(i)[0]! - x) ** 2 + (vector(i)[1]! - y) ** 2;
  return ids
    .toSorted((a, b) => distance(a) - distance(b) || a - b)
    .slice(0, 5)
    .map((i) => `r${i}`);
}

const ALL = Array.from({ length: ROWS }, (_, i) => i);

describe("an engine that keeps its indexes in files", { timeout: 60_000 }, () => {
  it("opens a collection from them, with what was written and deleted since", async () => {
    const first = await open();
    const ref = await filled(first);
    const kept = segmentsOf(ref);
    await first.delete(ref, { ids: ["r7", "r8"], where: null, limit: null });
    await write(first, ref, "add", row(ROWS));
    await write(first, ref, "upsert", row(9));
    await first.close();
    const second = await open();
    const left = [...ALL, ROWS].filter((i) => i !== 7 && i !== 8);
    for (const query of [3, 7, 9, ROWS])
      expect(await nearest(second, ref, query)).toEqual(expected(left, query));
    expect(await second.count(ref, { ids: null, where: null })).toBe(left.length);
    expect(await idsOf(second, ref)).toEqual(left.map((i) => `r${i}`));
    expect(segmentsOf(ref)).toEqual(kept);
    const { schema } = await second.getCollection(ref);
    expect(Object.keys(schema["keys"] as object)).toEqual(expect.arrayContaining(["n", "parity"]));
    await second.close();
    expect(logged).toEqual([]);
  });

  it("gives them to forks, which open like their source and have their own from then on", async () => {
    const first = await open();
    const ref = await filled(first);
    await write(first, ref, "upsert", row(9), row(ROWS));
    const { id } = await first.forkCollection(ref, "fork");
    const fork = { ...ref, id };
    const shared = segmentsOf(ref);
    expect(segmentsOf(fork)).toEqual(shared);
    for (const name of shared) expect(statSync(join(indexFolder(fork), name)).nlink).toBe(2);
    await first.delete(ref, { ids: ["r3"], where: null, limit: null });
    await first.close();
    const second = await open();
    expect(await nearest(second, fork, 3)).toEqual(expected([...ALL, ROWS], 3));
    expect(segmentsOf(fork)).toEqual(shared);
    expect(logged).toEqual([]);
    await write(second, fork, "add", ...Array.from({ length: ROWS }, (_, i) => row(1_000 + i)));
    await filesOf(fork);
    expect(segmentsOf(ref)).toEqual(shared);
    await second.deleteCollection({ ...ref, name: (await second.getCollection(ref)).name });
    const { id: grandchild } = await second.forkCollection(fork, "fork of the fork");
    await second.close();
    const third = await open();
    const left = [...ALL, ROWS, ...ALL.map((i) => i + 1_000)];
    for (const each of [fork, { ...ref, id: grandchild }])
      expect(await nearest(third, each, 1_003)).toEqual(expected(left, 1_003));
    expect(segmentsOf({ ...ref, id: grandchild })).toEqual(segmentsOf(fork));
    expect(logged).toEqual([]);
  });

  it("says in the log and in metrics what opening them takes, and how far it is to who asks meanwhile", async () => {
    const rows = 5_000;
    const first = await open({
      ...INDEX,
      sizes: { denseRows: 32, sizes: { mutableRows: 1_024, sealedRows: 4_096 } },
    });
    const ref = await makeCollection(first);
    await write(first, ref, "add", ...Array.from({ length: rows }, (_, i) => row(i)));
    await filesOf(ref);
    await write(first, ref, "upsert", row(3));
    const { unsealedRows, longestReplay, oldestManifestSeconds } = await first.statistics();
    expect({ unsealedRows, longestReplay }).toEqual({ unsealedRows: 1, longestReplay: 1 });
    expect(oldestManifestSeconds).toBeGreaterThan(0);
    await first.close();
    const second = await open();
    const counted = second.count(ref, { ids: null, where: null });
    expect((await second.statistics()).openingCollections).toBe(1);
    const { indexedOperations, totalOperations } = await second.indexingStatus(ref);
    expect(indexedOperations).toBeLessThan(totalOperations);
    expect(totalOperations).toBe(rows + 1);
    expect(await counted).toBe(rows);
    expect(await second.indexingStatus(ref)).toEqual({
      indexedOperations: rows + 1,
      totalOperations: rows + 1,
    });
    while (logged.length < 4) await sleep(20);
    await second.close();
    rmSync(indexFolder(ref), { recursive: true });
    const third = await open();
    expect(await third.count(ref, { ids: null, where: null })).toBe(rows);
    expect(
      logged.map(({ level, message, collection }) => [
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
    const log = (entry: EngineLogEntry): void => void logged.push(entry);
    const engine = await createLocalEngine({ dataFolder, index: INDEX, log, maxDescriptors: 4 });
    onTestFinished(() => engine.close());
    const first = await filled(engine);
    await engine.close();
    const again = await createLocalEngine({ dataFolder, index: INDEX, log, maxDescriptors: 4 });
    onTestFinished(() => again.close());
    expect(await nearest(again, first, 3)).toEqual(expected(ALL, 3));
    expect(openSegments()).toEqual(segmentsOf(first));
    const second = await makeCollection(again);
    await write(again, second, "add", row(1));
    while ((await again.statistics()).openCollections > 1) await sleep(20);
    while (openSegments().length > 0) await sleep(20);
    expect(await nearest(again, first, 3)).toEqual(expected(ALL, 3));
    expect(logged).toEqual([]);
  });

  it("removes them where they are not kept any more, and makes them anew", async () => {
    const first = await open();
    const ref = await filled(first);
    await first.close();
    const second = await open({ files: false });
    expect(await nearest(second, ref, 3)).toEqual(expected(ALL, 3));
    expect(names(ref)).toEqual([]);
    await second.close();
    const third = await open();
    expect(await nearest(third, ref, 3)).toEqual(expected(ALL, 3));
    await filesOf(ref);
  });

  it("makes the index of the records where a file is missing or damaged, and says so", async () => {
    const first = await open();
    const ref = await filled(first);
    await first.close();
    const left = [...ALL];
    for (const part of [".seg", ".dead", "manifest-"]) {
      const earlier = await open();
      await earlier.delete(ref, { ids: [`r${left.shift()}`], where: null, limit: null });
      await earlier.close();
      const name = names(ref).find((one) => one.includes(part))!;
      change(ref, name, -20);
      logged.length = 0;
      const engine = await open();
      for (const query of [3, ROWS]) expect(await nearest(engine, ref, query)).toEqual(expected(left, query));
      expect(logged.map(({ error }) => error)).toEqual([
        expect.stringContaining(`index file is damaged: ${name}`),
      ]);
      expect(readdirSync(join(indexFolder(ref), "quarantine")).join()).toContain(name);
      await filesOf(ref);
      await engine.close();
    }
    rmSync(
      join(
        indexFolder(ref),
        names(ref).find((one) => one.endsWith(".seg"))!,
      ),
    );
    const engine = await open();
    expect(await nearest(engine, ref, 3)).toEqual(expected(left, 3));
  });

  it("finds every damage of a segment before it is part of an answer", async () => {
    const first = await open();
    const ref = await filled(first);
    await first.close();
    const saved = `${indexFolder(ref)}.saved`;
    cpSync(indexFolder(ref), saved, { recursive: true });
    const name = names(ref).find((one) => one.endsWith(".seg"))!;
    const { size } = statSync(join(saved, name));
    for (let at = 0; at < size; at += Math.ceil(size / 24)) {
      rmSync(indexFolder(ref), { recursive: true });
      cpSync(saved, indexFolder(ref), { recursive: true });
      const engine = await open();
      // The file is open by then.
      if (at % 2 === 0) await answered(() => engine.count(ref, { ids: null, where: null }));
      change(ref, name, at);
      expect(await answered(() => nearest(engine, ref, 3))).toEqual(expected(ALL, 3));
      expect(await answered(() => idsOf(engine, ref))).toEqual(ALL.map((i) => `r${i}`));
      await answered(() => write(engine, ref, "upsert", row(5)));
      expect(await answered(() => engine.count(ref, { ids: null, where: null }))).toBe(ROWS);
      await engine.close();
    }
  });

  it("finds damaged records behind the first answer, and then refuses what they may belong to", async () => {
    const first = await open();
    const ref = await filled(first);
    await first.close();
    await damageRecord(new DataFolder(dataFolder).collection(ref.id), 4);
    const engine = await open();
    const everything = { ids: null, where: null };
    // What needs nothing of the record is right until then.
    expect([ROWS, "refused"]).toContain(await engine.count(ref, everything).catch(() => "refused"));
    const refusal = { code: "collection_unavailable", message: expect.stringContaining('record "r4"') };
    for (let found = false; !found; await sleep(20))
      found = await engine.count(ref, everything).then(
        () => false,
        (error: SheafError) => error.code === "collection_unavailable",
      );
    await expect(engine.count(ref, everything)).rejects.toMatchObject(refusal);
    expect(await engine.count(ref, { ids: ["r5"], where: null })).toBe(1);
    await engine.delete(ref, { ids: ["r4"], where: null, limit: null });
    expect(await engine.count(ref, everything)).toBe(ROWS - 1);
  });

  it("goes on without them on a full disk, and writes them once there is room", async () => {
    let free = 2 ** 30;
    const diskUsage = (): DiskUsage => ({ free, size: 2 ** 40 });
    const first = await open({ ...INDEX }, { diskUsage, diskReserve: 2 ** 20 });
    const ref = await filled(first);
    await write(first, ref, "add", row(ROWS));
    free = 2 ** 20;
    await first.delete(ref, { ids: ["r1"], where: null, limit: null });
    await first.close();
    free = 2 ** 30;
    const second = await open({ ...INDEX }, { diskUsage, diskReserve: 2 ** 20 });
    const left = [...ALL, ROWS].filter((i) => i !== 1);
    expect(await nearest(second, ref, 1)).toEqual(expected(left, 1));
    expect(await second.count(ref, { ids: null, where: null })).toBe(ROWS);
  });
});

/** Flips bits of one byte of a file; a negative place counts from the end. */
function change(ref: CollectionRef, name: string, place: number): void {
  const path = join(indexFolder(ref), name);
  const bytes = readFileSync(path);
  bytes[place < 0 ? bytes.length + place : place]! ^= 0x55;
  writeFileSync(path, bytes);
}

/** Flips bits in the middle of a record's value. */
async function damageRecord(folder: string, offset: number): Promise<void> {
  const environment = new LmdbEnvironment({ folder, name: "damaged", disk: createDiskSpace(folder) });
  await environment.transact(() => {
    const value = Uint8Array.from(environment.get(offsetKey(offset))!);
    value[20]! ^= 1;
    environment.put(offsetKey(offset), value);
  });
  await environment.close();
}

/** As a client that tries again after 503, as often as it is told to. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== "unavailable" || tries > 5) throw error;
    }
  }
}
