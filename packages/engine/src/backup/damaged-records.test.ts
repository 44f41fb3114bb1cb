/** Backups of records that are damaged in the data folder, where LMDB finds nothing wrong: they stay out, and are named. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { sharedName } from "../storage/folder/shared-names.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { INDEX, IndexedFolder } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { BackedUpCollections } from "./backed-up-collections.ts";
import { readChain } from "./backup-files.ts";
import type { MadeBackup } from "./make-backup.ts";
import { restoreBackup } from "./restore-backup.ts";
import { verifyBackup } from "./verify-backup.ts";

const shareStores = { records: 20, bytes: 100_000 };
const DAMAGED = 2;
const SOUND = "sound";
let dataFolder: string;
let engine: Engine;
/** One that shares an environment, one that has its own, and one that stays sound. */
let refs: readonly CollectionRef[];

beforeEach(async () => {
  dataFolder = temporaryFolder();
  engine = await createLocalEngine({ dataFolder, shareStores });
  onTestFinished(() => engine.close());
  const [shared, own] = [await makeCollection(engine), await makeCollection(engine)];
  let sound = await makeCollection(engine, SOUND);
  while (sharedName(sound.id) === sharedName(shared.id)) {
    await engine.deleteCollection({ ...sound, name: SOUND });
    sound = await makeCollection(engine, SOUND);
  }
  refs = [shared, own, sound];
  for (const [i, count] of [5, 30, 5].entries()) {
    const name = i < DAMAGED ? "harmed" : "sound";
    const records = Array.from({ length: count }, (_, r) =>
      record(`${name}-id-${2 * r}`, { document: `${name} document ${r}` }),
    );
    await write(engine, refs[i]!, "add", ...records);
  }
});

/** In all copies that files of records have of it, its last byte. */
function flip(text: Buffer): void {
  for (const name of readdirSync(dataFolder, { recursive: true, encoding: "utf8" })) {
    if (!/^(?:collections|shared)\/.*data\.mdb$/u.test(name)) continue;
    const path = join(dataFolder, name);
    const bytes = readFileSync(path);
    const file = openSync(path, "r+");
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
      const last = at + text.length - 1;
      writeSync(file, Buffer.of(bytes[last]! ^ 1), 0, 1, last);
    }
    closeSync(file);
  }
}

function back(target: string, base: string | null = null): Promise<MadeBackup> {
  return engine.makeBackup({ target, base, tenant: null, keys: false });
}

async function expectWithoutDamaged(backup: string, reason: string): Promise<void> {
  const { missing, problems } = await verifyBackup(backup);
  expect(problems).toEqual([]);
  expect(missing).toEqual(Array.from({ length: DAMAGED }, () => expect.stringContaining(reason) as string));
  const listed = [...(await BackedUpCollections.read(await readChain(backup))).all()];
  const ids = refs.slice(0, DAMAGED).map(({ id }) => id);
  expect(listed.filter(({ problem }) => problem !== null).map(({ id }) => id)).toEqual(ids.toSorted());
  await expectRestored(backup, refs.slice(DAMAGED));
}

async function expectRestored(backup: string, sound: readonly CollectionRef[]): Promise<void> {
  const restored = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder: restored, tenant: null });
  const again = await createLocalEngine({ dataFolder: restored, shareStores });
  onTestFinished(() => again.close());
  for (const ref of refs)
    if (sound.includes(ref)) expect((await readAll(again, ref)).length).toBeGreaterThan(4);
    else await expect(readAll(again, ref)).rejects.toMatchObject({ code: "collection_unavailable" });
}

it.each([
  ["a sum is wrong", Buffer.from("harmed document 3"), "the checksum does not match"],
  ["an id leads to another record", Buffer.from("\u0001harmed-id-6"), "ids do not lead to their records"],
])("leave out collections in which %s", async (_, text, reason) => {
  flip(text);
  const target = join(temporaryFolder(), "backup");
  expect(await back(target)).toMatchObject({ damaged: DAMAGED });
  await expectWithoutDamaged(target, reason);
  // By the file that is there.
  const [shared, own] = [sharedName(refs[0]!.id), collectionName(refs[1]!.id)];
  const { missing } = await verifyBackup(target);
  for (const place of [`in ${shared}`, `damaged: ${own}`])
    expect(missing).toContainEqual(expect.stringMatching(new RegExp(`${place}[,:]`, "u")));
});

it("leave out collections whose file cannot be opened, and have all others", async () => {
  const places = [sharedName(refs[0]!.id), collectionName(refs[1]!.id)];
  for (const place of places) {
    const path = join(dataFolder, place, "data.mdb");
    renameSync(path, `${path}.away`);
    mkdirSync(path);
  }
  const target = join(temporaryFolder(), "backup");
  expect(await back(target)).toMatchObject({ damaged: DAMAGED });
  await expectWithoutDamaged(target, "data.mdb is no file");
});

it("leave out an index of which a file cannot be read, and name its collection", async () => {
  const folder = new IndexedFolder();
  const indexed = await folder.open();
  const ref = await folder.filled(indexed);
  const state = await readAll(indexed, ref);
  const [segment] = folder.segmentsOf(ref);
  const path = join(new DataFolder(folder.path).collectionIndex(ref.id), segment!);
  renameSync(path, `${path}.away`);
  execFileSync("mkfifo", [path]);
  const backup = join(temporaryFolder(), "backup");
  const request = { target: backup, base: null, tenant: null, keys: false };
  expect(await indexed.makeBackup(request)).toMatchObject({ damaged: 0, withoutIndex: 1 });
  const named = [expect.stringContaining(`index file ${segment} is no file`)];
  expect(await verifyBackup(backup)).toMatchObject({ problems: [], missing: [], withoutIndex: named });
  const dataFolder = join(temporaryFolder(), "data");
  const restored = await restoreBackup({ backup, dataFolder, tenant: null });
  expect(restored).toMatchObject({ missing: [], withoutIndex: named });
  const again = await createLocalEngine({ dataFolder, index: INDEX });
  onTestFinished(() => again.close());
  expect(await readAll(again, ref)).toEqual(state);
});

it("never take what is damaged in the place of what a base has", async () => {
  const folder = temporaryFolder();
  const [base, unread, next] = ["base", "unread", "next"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await back(base);
  flip(Buffer.from("harmed document 3"));
  // Nothing was written since, so the base has all of it.
  expect(await back(unread, base)).toMatchObject({ damaged: 0 });
  await expectRestored(unread, refs);
  for (const ref of refs) await write(engine, ref, "add", record("later"));
  expect(await back(next, base)).toMatchObject({ damaged: DAMAGED });
  await expectWithoutDamaged(next, "the checksum does not match");
  await expectRestored(base, refs);
});
