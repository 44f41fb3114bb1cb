/** A data folder as the build before format 2 left it (folder-v1.tar.gz): two collections, one of them written to. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { examineCollection } from "./doctor/examine-collection.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import { DataFolder, collectionName } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import type { EnvironmentOptions } from "./storage/lmdb/environment-options.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { LmdbRecordStore } from "./storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "./storage/lmdb/own-environment.ts";
import { changeKey } from "./storage/lmdb/record-keys.ts";
import { AT, readAll, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const ARCHIVE = fileURLToPath(new URL("storage/folder/testing/folder-v1.tar.gz", import.meta.url));

const NOTES = { ...AT, id: "06ccb543-114b-4fe5-ab39-92a6f088d64c" };
const KNOWN = { ...NOTES, name: "notes", dimension: 2, logPosition: 5, shared: false };
const BEFORE = [
  record("a", { document: "one", metadata: new Map([["n", 1n]]) }),
  record("c", { document: "three" }),
];

function folderOfVersion1(): DataFolder {
  const folder = new DataFolder(temporaryFolder());
  execFileSync("tar", ["-xzf", ARCHIVE, "-C", folder.path]);
  expect(readFileSync(folder.formatFile, "utf8")).toContain('"version":1');
  return folder;
}

function environmentOf(folder: DataFolder): EnvironmentOptions {
  const disk = createDiskSpace(folder.path);
  return { folder: folder.collection(NOTES.id), name: collectionName(NOTES.id), disk };
}

/** `null`: changes are not known that far back. */
async function changesAfter(folder: DataFolder, sequence: number): Promise<unknown> {
  const store = new LmdbRecordStore(ownEnvironment(environmentOf(folder)));
  const changes = store.changesAfter(sequence);
  const kinds = changes === "trimmed" ? null : [...changes].map((change) => [change.kind, change.sequence]);
  await store.close();
  return kinds;
}

it("reads a folder of version 1, goes on writing to it, and knows the changes from then on", async () => {
  const folder = folderOfVersion1();
  expect(examineCollection(folder.path, KNOWN)).toEqual({ findings: [], records: 2 });
  const messages: string[] = [];
  let engine = await createLocalEngine({
    ...{ dataFolder: folder.path, shareStores: null },
    log: ({ message }) => messages.push(message),
  });
  expect(messages).toEqual(["data folder upgraded from format 1 to 3; earlier builds refuse it now"]);
  expect(readFileSync(folder.formatFile, "utf8")).toContain('"version":3');
  expect(await readAll(engine, NOTES)).toEqual(BEFORE);
  await engine.close();
  expect(await changesAfter(folder, 4)).toBeNull();
  expect(await changesAfter(folder, 5)).toEqual([]);

  engine = await createLocalEngine({ dataFolder: folder.path, shareStores: null });
  await write(engine, NOTES, "upsert", record("a"), record("d"));
  await engine.delete(NOTES, { ids: ["c"], where: null, limit: null });
  await engine.close();
  expect(await changesAfter(folder, 4)).toBeNull();
  const changes = [
    ["put", 6],
    ["put", 7],
    ["remove", 8],
  ];
  expect(await changesAfter(folder, 5)).toEqual(changes);

  engine = await createLocalEngine({ dataFolder: folder.path, shareStores: null });
  expect(await readAll(engine, NOTES)).toEqual([BEFORE[0], record("d")]);
  await engine.close();
  expect(examineCollection(folder.path, KNOWN)).toEqual({ findings: [], records: 2 });
});

it.each([
  ["with a damaged value", (value: Uint8Array) => value.fill(7), "the checksum does not match"],
  ["cut off", (value: Uint8Array) => value.subarray(0, 9), "the checksum does not match"],
])("tells of a change key %s, by which no record is lost", async (_, change, reason) => {
  const folder = folderOfVersion1();
  const engine = await createLocalEngine({ dataFolder: folder.path, shareStores: null });
  await write(engine, NOTES, "upsert", record("d"));
  await engine.close();
  const environment = new LmdbEnvironment(environmentOf(folder));
  const key = changeKey(6);
  await environment.transact(() => environment.put(key, change(environment.get(key)!)));
  await environment.close();
  const { findings, records } = examineCollection(folder.path, KNOWN);
  expect(records).toBe(3);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ severity: "warning" });
  expect(findings[0]?.problem).toContain(reason);
  await expect(changesAfter(folder, 5)).rejects.toThrow(reason);
});

it("has its small collections move into shared files, as they are", async () => {
  const folder = folderOfVersion1();
  const limits = { records: 100, bytes: 100_000, joinAfterMs: 1 };
  const messages: string[] = [];
  const log = ({ message }: { readonly message: string }): unknown => messages.push(message);
  let engine = await createLocalEngine({ dataFolder: folder.path, shareStores: limits, log });
  await expect.poll(() => existsSync(folder.collectionFile(NOTES.id)), { timeout: 20_000 }).toBe(false);
  expect(messages).toEqual(["data folder upgraded from format 1 to 4; earlier builds refuse it now"]);
  expect(await readAll(engine, NOTES)).toEqual(BEFORE);
  await write(engine, NOTES, "add", record("d"));
  await engine.close();
  engine = await createLocalEngine({ dataFolder: folder.path });
  expect(await readAll(engine, NOTES)).toEqual([...BEFORE, record("d")]);
  await engine.close();
});
