/** Backups of collections that share environments: what is restored has environments of its own, and is the same. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { BackupSteps } from "./backup-steps.ts";
import { restoreBackup } from "./restore-backup.ts";
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
  expect(existsSync(join(restored, "shared"))).toBe(false);
  await again.close();
  return restored;
}

async function positionOf(ref: CollectionRef): Promise<number> {
  return (await engine.indexingStatus(ref)).totalOperations;
}

it("holds them whole, in a format that builds without shares restore", async () => {
  const [one, other, empty] = [
    await makeCollection(engine),
    await makeCollection(engine),
    await makeCollection(engine),
  ];
  await write(engine, one, "add", ...records(5));
  await write(engine, other, "add", ...records(19));
  await engine.delete(other, { ids: ["r3"], where: null, limit: null });
  const restored = await expectRestored(await backUp(), [one, other, empty]);
  const { formatFile } = new DataFolder(restored);
  expect(readFileSync(formatFile, "utf8")).toContain('"version":3');
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
  while ((await engine.backupProgress())?.collections === 0) await new Promise(setImmediate);
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
  const steps = new BackupSteps();
  for (const id of ids) {
    const known = { id, tenant: "t", database: "d", name: "n", lineage: id, logPosition: 1, dimension: 2 };
    const places = { place: join(dataFolder, "absent"), shares: dataFolder, index: null, to };
    const step = { ...places, known, backup: "b", base: null, diskReserve: undefined, problem: null };
    expect((await steps.copyCollection(step)).problem).toBeNull();
    const environment = ownEnvironment({ folder: join(to, collectionName(id)), name: id, disk });
    const copy = new LmdbRecordStore(environment);
    expect([...copy.scan(0)].map((one) => one.id)).toEqual([id]);
    expect(copy.find(id)).not.toBeNull();
    await copy.close();
  }
});
