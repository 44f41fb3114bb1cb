/** Backups of collections that share environments: what is restored shares them again, and is the same. */
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CollectionRef, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Archived } from "../archive/testing/archived.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { BackedUpCollections } from "./backed-up-collections.ts";
import {
  type BackedUpCollection,
  COLLECTION_LIST,
  partFile,
  readChain,
  readHeader,
  writeHeader,
} from "./backup-files.ts";
import { BackupSteps } from "./backup-steps.ts";
import { restoreBackup } from "./restore-backup.ts";
import { RestoreSteps } from "./restore-steps.ts";
import { sumFile } from "./summed-file.ts";
import { verifyBackup } from "./verify-backup.ts";

const shareStores = { records: 20, bytes: 100_000 };
let engine: Engine;
let dataFolder: string;

beforeEach(async () => {
  dataFolder = temporaryFolder();
  engine = await createLocalEngine({ dataFolder, shareStores });
  onTestFinished(() => engine.close());
});

const records = (count: number): ReturnType<typeof record>[] =>
  Array.from({ length: count }, (_, i) => record(`r${i}`, { document: `document ${i}` }));

async function backUp(base: string | null = null): Promise<string> {
  const target = join(temporaryFolder(), "backup");
  const made = await engine.makeBackup({ target, base, tenant: null, keys: false });
  expect(made.damaged).toBe(0);
  expect((await verifyBackup(target)).problems).toEqual([]);
  return target;
}

async function expectRestored(backup: string, refs: readonly CollectionRef[]): Promise<string> {
  const restored = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder: restored, tenant: null });
  const again = await createLocalEngine({ dataFolder: restored, shareStores: null });
  for (const ref of refs) {
    expect(await readAll(again, ref)).toEqual(await readAll(engine, ref));
    expect(await again.getCollection(ref)).toMatchObject({ logPosition: await positionOf(ref) });
    await write(again, ref, "upsert", record("later"));
  }
  await again.close();
  return restored;
}

async function listed(backup: string): Promise<readonly BackedUpCollection[]> {
  return [...(await BackedUpCollections.read(await readChain(backup))).all()];
}

async function positionOf(ref: CollectionRef): Promise<number> {
  return (await engine.indexingStatus(ref)).totalOperations;
}

const filesIn = (folder: string): readonly string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );

it("holds them whole in a pack, and they share environments again", async () => {
  const [one, other, empty] = [
    await makeCollection(engine),
    await makeCollection(engine),
    await makeCollection(engine),
  ];
  await write(engine, one, "add", ...records(5));
  await write(engine, other, "add", ...records(19));
  await engine.delete(other, { ids: ["r3"], where: null, limit: null });
  const backup = await backUp();
  expect(filesIn(backup).toSorted()).toEqual([
    ...["backup.json", "backup.json.sha256", "collections.jsonl", "packs/000001", "packs/000002"],
  ]);
  const restored = await expectRestored(backup, [one, other, empty]);
  const { formatFile } = new DataFolder(restored);
  expect(readFileSync(formatFile, "utf8")).toContain('"version":4');
  expect(existsSync(join(restored, "shared"))).toBe(true);
});

it("adds a line alone of what has not changed, with environments of their own and without", async () => {
  const refs = [await makeCollection(engine), await makeCollection(engine)];
  await write(engine, refs[0]!, "add", ...records(5));
  await write(engine, refs[1]!, "add", ...records(30));
  const base = await backUp();
  const next = await backUp(base);
  const { id } = await readHeader(base);
  const kept = (await listed(next)).flatMap(({ parts, index }) => [...parts, ...index]);
  expect(new Set(kept.map((part) => part.in))).toEqual(new Set([id]));
  expect(filesIn(next).filter((name) => name.startsWith("collections/"))).toEqual([]);
  await write(engine, refs[0]!, "upsert", record("r1", { document: "changed" }));
  await expectRestored(await backUp(next), refs);
});

it("reads nothing of what has not changed, of the base neither", async () => {
  const refs = [await makeCollection(engine), await makeCollection(engine)];
  await write(engine, refs[0]!, "add", ...records(5));
  await write(engine, refs[1]!, "add", ...records(30));
  const base = await backUp();
  const harmed = join(base, "packs/000002");
  const bytes = readFileSync(harmed);
  rmSync(harmed);
  const target = join(temporaryFolder(), "backup");
  expect(await engine.makeBackup({ target, base, tenant: null, keys: false })).toMatchObject({ damaged: 0 });
  writeFileSync(harmed, bytes);
  await expectRestored(target, refs);
  expect((await listed(target)).map(({ state }) => state)).toEqual(
    (await listed(base)).map(({ state }) => state),
  );
});

it("compares what it holds with a base that was made of another past of the data folder", async () => {
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", record("r1"));
  const aside = join(temporaryFolder(), "aside");
  const reopen = async (meanwhile: () => void): Promise<void> => {
    await engine.close();
    meanwhile();
    engine = await createLocalEngine({ dataFolder, shareStores });
  };
  await reopen(() => cpSync(dataFolder, aside, { recursive: true }));
  await write(engine, ref, "upsert", record("r1", { document: "left" }));
  const base = await backUp();
  await reopen(() => {
    rmSync(dataFolder, { recursive: true });
    cpSync(aside, dataFolder, { recursive: true });
  });
  await write(engine, ref, "upsert", record("r1", { document: "right" }));
  const next = await backUp(base);
  // As many operations as the base has, and no more.
  expect((await listed(next))[0]!.state).toBe((await listed(base))[0]!.state);
  await expectRestored(next, [ref]);
});

it("copies one whole again that has changed in many backups, and not before it changes once more", async () => {
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", ...records(5));
  const full = await backUp();
  await write(engine, ref, "upsert", record("r1", { document: "changed" }));
  const base = await backUp(full);
  // The same changes again and again.
  const [line] = await listed(base);
  const [whole, change] = line!.parts;
  const list = join(base, COLLECTION_LIST);
  const parts = [whole!, ...Array.from({ length: 15 }, () => change!)];
  writeFileSync(list, `${JSON.stringify({ ...line, parts })}\n`);
  writeHeader(base, { ...(await readHeader(base)), list: await sumFile(list) });
  const unchanged = await backUp(base);
  expect((await listed(unchanged))[0]?.parts).toEqual(parts);
  await write(engine, ref, "upsert", record("r1", { document: "changed again" }));
  const changed = await backUp(unchanged);
  const { id } = await readHeader(changed);
  expect((await listed(changed))[0]?.parts).toMatchObject([{ isWhole: true, in: id }]);
  await expectRestored(changed, [ref]);
});

it("of one tenant is restored without a byte of the others in the same pack", async () => {
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", record("r1", { document: "of the bystander" }));
  await engine.createTenant("acme");
  await engine.createDatabase({ tenant: "acme", database: "main" });
  const at = { tenant: "acme", database: "main" };
  const { id } = await engine.createCollection(parseCreateCollection({ name: "mine" }, at));
  await write(engine, { ...at, id }, "add", record("r1", { document: "of acme" }));
  const backup = await backUp();
  const restored = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder: restored, tenant: "acme" });
  const bytes = filesIn(restored).map((name) => readFileSync(join(restored, name), "latin1"));
  expect(bytes.some((text) => text.includes("of acme"))).toBe(true);
  expect(bytes.some((text) => text.includes("bystander"))).toBe(false);
});

it("adds what has changed, also of one that has moved meanwhile", async () => {
  const refs = await Promise.all(Array.from({ length: 3 }, () => makeCollection(engine)));
  const [changed, moved, same] = refs as [CollectionRef, CollectionRef, CollectionRef];
  for (const ref of refs) await write(engine, ref, "add", ...records(20));
  const base = await backUp();
  await write(engine, changed, "update", record("r1", { document: "changed" }));
  await engine.delete(changed, { ids: ["r2"], where: null, limit: null });
  await write(engine, moved, "upsert", record("one more"));
  await write(engine, moved, "upsert", record("and one"));
  expect(existsSync(new DataFolder(dataFolder).collectionFile(moved.id))).toBe(true);
  expect(existsSync(new DataFolder(dataFolder).collectionFile(same.id))).toBe(false);
  await expectRestored(await backUp(base), refs);
});

it("holds what was dropped or moved while it was made", async () => {
  const refs = await Promise.all(Array.from({ length: 12 }, () => makeCollection(engine)));
  for (const ref of refs) await write(engine, ref, "add", ...records(20));
  const target = join(temporaryFolder(), "backup");
  const making = engine.makeBackup({ target, base: null, tenant: null, keys: false });
  // All are copied at once, so it is begun with while they are.
  while ((await engine.backupProgress())?.totalCollections === null) await new Promise(setImmediate);
  for (const ref of refs.slice(0, 6)) {
    const { name } = await engine.getCollection(ref);
    await engine.deleteCollection({ ...ref, name });
  }
  for (const ref of refs.slice(6)) await write(engine, ref, "upsert", record("one more"));
  expect(await making).toMatchObject({ collections: 12, damaged: 0 });
  const restored = join(temporaryFolder(), "data");
  await restoreBackup({ backup: target, dataFolder: restored, tenant: null });
  const again = await createLocalEngine({ dataFolder: restored });
  for (const ref of refs) expect((await readAll(again, ref)).slice(0, 20)).toEqual(records(20));
  await again.close();
});

it("gives one that an archive has made large an environment of its own", async () => {
  const archived = new Archived();
  archived.isShared = true;
  const writing = await archived.open();
  const [small, grown] = [await makeCollection(writing), await makeCollection(writing)];
  for (const ref of [small, grown]) await write(writing, ref, "add", ...records(3));
  await archived.back(writing);
  for (const { id } of records(6))
    await write(writing, grown, "upsert", record(id, { document: "x".repeat(5_000) }));
  const restored = join(temporaryFolder(), "data");
  const archive = { folder: archived.folder, until: null };
  await restoreBackup({
    ...{ backup: archived.backup, dataFolder: restored, tenant: null, archive, mostSharedBytes: 20_000 },
  });
  const folder = new DataFolder(restored);
  expect([small, grown].map(({ id }) => existsSync(folder.collectionFile(id)))).toEqual([false, true]);
  const again = await createLocalEngine({ dataFolder: restored, shareStores });
  for (const ref of [small, grown]) expect(await readAll(again, ref)).toEqual(await readAll(writing, ref));
  await again.close();
});

it("goes on from a damaged collection with an archive, without it", async () => {
  const archived = new Archived();
  archived.isShared = true;
  const writing = await archived.open();
  const [damaged, sound] = [await makeCollection(writing), await makeCollection(writing)];
  for (const ref of [damaged, sound]) await write(writing, ref, "add", ...records(3));
  await archived.back(writing);
  for (const ref of [damaged, sound]) await write(writing, ref, "upsert", record("later"));
  const part = (await listed(archived.backup)).find(({ id }) => id === damaged.id)!.parts[0]!;
  const path = partFile(archived.backup, collectionName(damaged.id), part);
  const bytes = readFileSync(path);
  bytes[part.pack!.at + part.bytes - 1]! ^= 1;
  writeFileSync(path, bytes);
  const restored = join(temporaryFolder(), "data");
  const archive = { folder: archived.folder, until: null };
  const request = { backup: archived.backup, dataFolder: restored, tenant: null, archive };
  await expect(restoreBackup(request)).rejects.toThrow(damaged.id);
  const { missing, collections } = await restoreBackup({ ...request, skipDamaged: true });
  expect({ missing: missing.length, collections }).toEqual({ missing: 1, collections: 1 });
  const again = await createLocalEngine({ dataFolder: restored, shareStores });
  expect(await readAll(again, sound)).toEqual(await readAll(writing, sound));
  await expect(readAll(again, damaged)).rejects.toMatchObject({ code: "collection_unavailable" });
  await again.close();
});

it("holds those whose ids are the last of all", async () => {
  await engine.close();
  const disk = createDiskSpace(dataFolder);
  const ids = ["ffffffff-ffff-4fff-bfff-ffffffffffff", "ff000000-0000-4000-8000-000000000000"];
  const shares = new SharedStores({ path: dataFolder, disk });
  for (const id of ids) {
    const store = new LmdbRecordStore(shares.source(id, collectionName(id)));
    const head = { sequence: 1, nextOffset: 1, dimension: 2 };
    const stored = {
      ...record(id),
      offset: 0,
      sequence: 1,
      metadata: null,
      embedding: Float32Array.of(1, 2),
    };
    await store.apply(() => ({ head, puts: [stored], removes: [] }));
    await store.close();
  }
  await shares.close();
  const to = temporaryFolder();
  const collections = ids.map((id) => {
    const known = { id, tenant: "t", database: "d", name: "n", lineage: id, logPosition: 1, dimension: 2 };
    return { known, isShared: true, place: join(dataFolder, "absent"), index: null, problem: null };
  });
  const step = { from: dataFolder, to, backup: "b", base: null, diskReserve: undefined };
  const copied = await new BackupSteps().copyCollections({ ...step, collections });
  expect(copied.damaged).toBe(0);
  const restored = temporaryFolder();
  const lines = readFileSync(join(to, COLLECTION_LIST), "utf8").trimEnd().split("\n");
  const parts = lines.map((line) => (JSON.parse(line) as BackedUpCollection).parts[0]!);
  const stores = parts.map((part, i) => {
    const changes = [
      { path: partFile(to, collectionName(ids[i]!), part), at: part.pack!.at, bytes: part.bytes },
    ];
    return { id: ids[i]!, isShared: true, sequence: 1, store: { whole: null, changes }, index: [] };
  });
  await new RestoreSteps().collections({ dataFolder: restored, collections: stores });
  const again = new SharedStores({ path: restored, disk });
  for (const id of ids) {
    const copy = new LmdbRecordStore(again.source(id, collectionName(id)));
    expect([...copy.scan(0)].map((one) => one.id)).toEqual([id]);
    expect(copy.find(id)).not.toBeNull();
    await copy.close();
  }
  await again.close();
});
