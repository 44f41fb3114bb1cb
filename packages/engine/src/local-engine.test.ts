import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import type { EngineLogEntry } from "./engine-log.ts";
import { engineSuite } from "./engine.suite.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { offsetKey } from "./storage/lmdb/record-keys.ts";
import { ALL, INCLUDE, idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const suiteFolder = mkdtempSync(join(tmpdir(), "sheaf-local-"));
afterAll(() => rmSync(suiteFolder, { recursive: true, force: true }));

engineSuite("local engine", () => createLocalEngine({ dataFolder: suiteFolder }));

engineSuite("local engine with shared stores", () =>
  createLocalEngine({
    dataFolder: join(suiteFolder, "shared"),
    shareStores: { records: 20, bytes: 100_000 },
  }),
);

const EVERYTHING = { ids: null, where: null };

describe("local engine on disk", () => {
  it("keeps everything over a restart, and versions never fall", async () => {
    const dataFolder = temporaryFolder();
    const first = await createLocalEngine({ dataFolder });
    const ref = await makeCollection(first);
    const metadata = new Map([["n", 1n]]);
    await write(first, ref, "add", record("a", { document: "text", metadata }), record("b"));
    await first.delete(ref, { ids: ["b"], where: null, limit: null });
    const model = { identifier: "some/model", revision: "r", digest: "sha256:0" };
    await first.rememberModels(ref, [model]);
    await first.close();
    const second = await createLocalEngine({ dataFolder });
    const collection = await second.getCollection(ref);
    expect(collection).toMatchObject({ dimension: 2, logPosition: 3, version: 1 });
    expect(collection.models).toEqual({ "some/model": model });
    expect(collection.schema["keys"]).toHaveProperty("n.int");
    expect(await readAll(second, ref)).toEqual([record("a", { document: "text", metadata })]);
    expect(await second.indexingStatus(ref)).toEqual({ totalOperations: 3, indexedOperations: 3 });
    await second.close();
  });

  it("makes good what the catalog lacks when a write is on disk and its mark in the catalog is not", async () => {
    const dataFolder = temporaryFolder();
    const folder = new DataFolder(dataFolder);
    const first = await createLocalEngine({ dataFolder, shareStores: null });
    const [ref, other] = [await makeCollection(first), await makeCollection(first)];
    await write(first, other, "add", record("a", { metadata: new Map([["n", 1n]]) }));
    await first.close();
    cpSync(folder.collection(other.id), folder.collection(ref.id), { recursive: true });
    const second = await createLocalEngine({ dataFolder });
    expect(await idsOf(second, ref)).toEqual(["a"]);
    const collection = await second.getCollection(ref);
    expect(collection).toMatchObject({ dimension: 2, logPosition: 1, version: 1 });
    expect(collection.schema["keys"]).toHaveProperty("n.int");
    await second.close();
  });

  it("is alone on its folder", async () => {
    const dataFolder = temporaryFolder();
    const engine = await createLocalEngine({ dataFolder });
    await expect(createLocalEngine({ dataFolder })).rejects.toMatchObject({ code: "failed_precondition" });
    await engine.close();
    await (await createLocalEngine({ dataFolder })).close();
  });

  it("refuses a newer format and leaves the folder free", async () => {
    const dataFolder = temporaryFolder();
    writeFileSync(new DataFolder(dataFolder).formatFile, '{"format":"sheaf-data","version":99}');
    await expect(createLocalEngine({ dataFolder })).rejects.toThrow("data format 99");
    expect(readdirSync(dataFolder)).toEqual(["format.json", "lock.json"]);
  });

  it("gives the disk back when a collection is dropped, however", async () => {
    const dataFolder = temporaryFolder();
    const folder = new DataFolder(dataFolder);
    const engine = await createLocalEngine({ dataFolder, shareStores: null });
    const drops: ((ref: CollectionRef, name: string) => Promise<void>)[] = [
      ({ tenant, database }, name) => engine.deleteCollection({ tenant, database, name }),
      (ref) => engine.deleteDatabase(ref),
      () => engine.reset(),
    ];
    for (const drop of drops) {
      const ref = await makeCollection(engine);
      const { name } = await engine.getCollection(ref);
      await write(engine, ref, "add", record("a", { document: "x".repeat(1_000_000) }));
      expect(existsSync(join(folder.collection(ref.id), "data.mdb"))).toBe(true);
      await drop(ref, name);
      expect(existsSync(folder.collection(ref.id))).toBe(false);
      expect(readdirSync(join(dataFolder, "trash"))).toEqual([]);
      if (drop === drops[1]) await engine.createDatabase(ref);
    }
    await engine.close();
  });

  it("leaves nothing of a fork that did not fit the disk", async () => {
    let free = 1e12;
    const dataFolder = temporaryFolder();
    const engine = await createLocalEngine({
      dataFolder,
      shareStores: null,
      diskUsage: () => ({ free, size: 1e12 }),
    });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    const folders = (): string[] =>
      readdirSync(join(dataFolder, "collections"), { recursive: true, encoding: "utf8" });
    const before = folders().filter((path) => path.endsWith("data.mdb"));
    free = 0;
    await expect(engine.forkCollection(ref, "too-big")).rejects.toMatchObject({ code: "storage_full" });
    expect(folders().filter((path) => path.endsWith("data.mdb"))).toEqual(before);
    free = 1e12;
    await engine.forkCollection(ref, "too-big");
    await engine.close();
    const reopened = await createLocalEngine({ dataFolder });
    expect(await reopened.forkCount(ref)).toBe(1);
    const { id } = await reopened.getCollectionByName({
      tenant: ref.tenant,
      database: ref.database,
      name: "too-big",
    });
    expect(await readAll(reopened, { ...ref, id })).toEqual([record("a")]);
    await reopened.close();
  });

  it("sweeps what a crash left of dropped collections", async () => {
    const dataFolder = temporaryFolder();
    const folder = new DataFolder(dataFolder);
    await (await createLocalEngine({ dataFolder })).close();
    const orphan = folder.collection("01234567-89ab-4cde-8f01-23456789abcd");
    mkdirSync(orphan, { recursive: true });
    writeFileSync(join(orphan, "data.mdb"), "anything");
    mkdirSync(join(dataFolder, "trash", "old"), { recursive: true });
    const engine = await createLocalEngine({ dataFolder });
    expect(existsSync(orphan)).toBe(false);
    expect(existsSync(join(dataFolder, "trash"))).toBe(false);
    await engine.close();
  });

  it("answers 500 where a damaged record may belong, and serves the rest until it is deleted", async () => {
    const dataFolder = temporaryFolder();
    const first = await createLocalEngine({ dataFolder, shareStores: null });
    const damaged = await makeCollection(first);
    const sound = await makeCollection(first);
    for (const ref of [damaged, sound]) await write(first, ref, "add", record("a"), record("b"));
    await first.close();
    await damageRecord(new DataFolder(dataFolder).collection(damaged.id), 1);
    const errors: EngineLogEntry[] = [];
    const log = (entry: EngineLogEntry): unknown => entry.level === "error" && errors.push(entry);
    const second = await createLocalEngine({ dataFolder, log });
    const refusal = {
      code: "collection_unavailable",
      message: expect.stringMatching(/^record "b": its stored data is damaged; [^/]*`sheaf doctor`$/u),
    };
    await expect(second.count(damaged, EVERYTHING)).rejects.toMatchObject(refusal);
    await expect(readAll(second, damaged)).rejects.toMatchObject(refusal);
    await expect(second.count(damaged, { ids: ["b"], where: null })).rejects.toMatchObject(refusal);
    await expect(write(second, damaged, "upsert", record("b"))).rejects.toMatchObject({
      code: "collection_unavailable",
    });
    expect(await second.count(damaged, { ids: ["a"], where: null })).toBe(1);
    await write(second, damaged, "add", record("c"));
    expect(await second.count(sound, EVERYTHING)).toBe(2);
    expect(await second.statistics()).toMatchObject({ damagedCollections: 1 });
    expect(await second.delete(damaged, { ids: ["b"], where: null, limit: null })).toBe(1);
    expect(await second.statistics()).toMatchObject({ damagedCollections: 0 });
    expect(await idsOf(second, damaged)).toEqual(["a", "c"]);
    await write(second, damaged, "add", record("b"));
    expect(await second.count(damaged, EVERYTHING)).toBe(3);
    expect(errors, "told once").toMatchObject([
      {
        collection: damaged.id,
        error: expect.stringMatching(/stored data is damaged: collections\/.*, key 020{15}1, byte 0/u),
      },
    ]);
    await second.close();
  });

  it("answers 500, and not without it, where an open collection has lost a record", async () => {
    const dataFolder = temporaryFolder();
    const engine = await createLocalEngine({ dataFolder, shareStores: null });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"), record("b"), record("c"));
    replaceEverywhere(new DataFolder(dataFolder).collectionFile(ref.id), offsetKey(1), offsetKey(9));
    const lost = {
      code: "collection_unavailable",
      message: expect.stringMatching(/^record "b": .*doctor`$/u),
    };
    const request = { ids: ["b"], where: null, ...ALL, include: INCLUDE };
    await expect(engine.get(ref, request)).rejects.toMatchObject(lost);
    await expect(readAll(engine, ref)).rejects.toMatchObject(lost);
    const { lists } = await engine.get(ref, { ...request, ids: ["a"] });
    expect(lists).toMatchObject([[{ id: "a" }]]);
    await engine.close();
  });

  it("closes what was not used for long beyond the limit, and opens it again", async () => {
    const dataFolder = temporaryFolder();
    const engine = await createLocalEngine({ dataFolder, maxOpenCollections: 1 });
    const refs: CollectionRef[] = [];
    for (let i = 0; i < 4; i++) refs.push(await makeCollection(engine));
    await Promise.all(refs.map((ref) => write(engine, ref, "add", record("a"))));
    await expect
      .poll(async () =>
        (await Promise.all(refs.map((ref) => engine.getCollection(ref)))).map(({ version }) => version),
      )
      .toEqual([1, 1, 1, 1]);
    for (let round = 0; round < 3; round++) {
      for (const ref of refs) expect(await engine.count(ref, EVERYTHING)).toBe(1);
    }
    await Promise.all(refs.map((ref) => write(engine, ref, "add", record("b"))));
    expect(await Promise.all(refs.map((ref) => engine.count(ref, EVERYTHING)))).toEqual([2, 2, 2, 2]);
    await engine.close();
  });

  it("answers 507 on a full disk, reads on, and recovers without a restart", async () => {
    let free = 1e12;
    const engine = await createLocalEngine({
      dataFolder: temporaryFolder(),
      diskUsage: () => ({ free, size: 1e12 }),
    });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    const untouched = await makeCollection(engine);
    free = 0;
    await expect(write(engine, ref, "add", record("b"))).rejects.toMatchObject({ code: "storage_full" });
    await expect(makeCollection(engine)).rejects.toMatchObject({ code: "storage_full" });
    await expect(engine.createDatabase({ ...ref, database: "another" })).rejects.toMatchObject({
      code: "storage_full",
    });
    await expect(write(engine, untouched, "add", record("b"))).rejects.toMatchObject({
      code: "storage_full",
    });
    expect(await engine.count(ref, EVERYTHING)).toBe(1);
    expect(await engine.delete(ref, { ids: ["a"], where: null, limit: null })).toBe(1);
    free = 1e12;
    await write(engine, ref, "add", record("b"));
    expect(await engine.count(ref, EVERYTHING)).toBe(1);
    await engine.close();
  });
});

/** As an error of the disk would, under an environment that is open. */
function replaceEverywhere(path: string, from: Uint8Array, to: Uint8Array): void {
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at)) bytes.set(to, at);
  writeFileSync(path, bytes, { flag: "r+" });
}

async function damageRecord(folder: string, offset: number): Promise<void> {
  const environment = new LmdbEnvironment({ folder, name: "test", disk: createDiskSpace(folder) });
  await environment.transact(() => {
    const value = environment.get(offsetKey(offset));
    if (value === null) throw new Error("no such record");
    environment.put(offsetKey(offset), value.slice().reverse());
  });
  await environment.close();
}
