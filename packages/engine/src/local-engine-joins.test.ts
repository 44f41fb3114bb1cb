/** Small collections with files of their own move into shared ones, behind the calls and whatever is killed. */
import { cpSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { CollectionRef, ReadToken } from "@sheaf/protocol";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { restoreBackup } from "./backup/restore-backup.ts";
import { openCatalog } from "./catalog/open-catalog.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import type { Engine } from "./engine.ts";
import type { EngineLogEntry } from "./engine-log.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { idKey } from "./storage/lmdb/record-keys.ts";
import { shareId } from "./storage/lmdb/shared-stores.ts";
import { sharedName } from "./storage/folder/shared-names.ts";
import { idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";
import { hexOf, sharesOnDisk } from "./testing/shares-on-disk.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** Slow, not hung. */
const DEADLINE_MS = 60_000;
const LIMITS = { records: 20, bytes: 50_000 };
const SOON = { ...LIMITS, joinAfterMs: 5 };

let dataFolder: string;
let logged: EngineLogEntry[];

beforeEach(() => {
  dataFolder = temporaryFolder();
  logged = [];
});

async function open(options: Partial<LocalEngineOptions> = {}): Promise<Engine> {
  const log = (entry: EngineLogEntry): void => void logged.push(entry);
  const engine = await createLocalEngine({ dataFolder, shareStores: SOON, log, ...options });
  onTestFinished(() => engine.close());
  return engine;
}

interface Made {
  readonly small: CollectionRef;
  readonly large: CollectionRef;
  readonly untouched: CollectionRef;
  readonly token: ReadToken;
}

/** Collections with files of their own, as earlier versions made them. */
async function made(): Promise<Made> {
  const engine = await open({ shareStores: null });
  const [small, large, untouched] = [
    await makeCollection(engine),
    await makeCollection(engine),
    await makeCollection(engine),
  ];
  await write(engine, small, "add", record("a", { document: "one" }), record("b"), record("gone"));
  const token = await engine.readToken(small);
  await engine.delete(small, { ids: ["gone"], where: null, limit: null });
  await write(engine, large, "add", ...Array.from({ length: 15 }, (_, i) => record(`r${i}`)));
  await engine.close();
  return { small, large, untouched, token };
}

const SMALL = [record("a", { document: "one" }), record("b")];

function fileOf({ id }: CollectionRef): string {
  return new DataFolder(dataFolder).collectionFile(id);
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + DEADLINE_MS; !holds(); await pause(5))
    if (Date.now() > end) throw new Error("it never came to that");
}

function problems(): readonly unknown[] {
  return logged.filter(({ level }) => level === "error");
}

describe("a small collection with files of its own", () => {
  it("moves into shared ones at rest, with all that it was, and stays there", async () => {
    const { small, large, untouched, token } = await made();
    expect(readFileSync(join(dataFolder, "format.json"), "utf8")).toContain('"version":3');
    let engine = await open();
    expect(readFileSync(join(dataFolder, "format.json"), "utf8")).toContain('"version":4');
    await until(() => !existsSync(dirname(fileOf(small))));
    expect(await readAll(engine, small)).toEqual(SMALL);
    const commit = { token, operations: [{ kind: "delete" as const, ids: ["b"] }] };
    const stale = engine.commit(small, { ...commit, readIds: ["gone"] });
    await expect(stale).rejects.toMatchObject({ code: "conditional_conflict" });
    await engine.commit(small, { ...commit, readIds: ["a"] });
    await write(engine, small, "add", record("c"));
    await write(engine, untouched, "add", record("x"));
    // Written for the first time after all were looked at.
    await until(() => !existsSync(fileOf(untouched)));
    expect(existsSync(fileOf(large))).toBe(true);
    await engine.close();
    const there = [...(await sharesOnDisk(dataFolder))].toSorted();
    expect(there).toEqual([hexOf(small), hexOf(untouched)].toSorted());
    engine = await open();
    expect(await idsOf(engine, small)).toEqual(["a", "c"]);
    expect(await idsOf(engine, large)).toHaveLength(15);
    expect(await idsOf(engine, untouched)).toEqual(["x"]);
    expect(problems()).toEqual([]);
  });

  it("moves between the calls of those who use it, and loses nothing", async () => {
    const { small } = await made();
    const engine = await open({ shareStores: { ...LIMITS, records: 1_000, bytes: 1e6, joinAfterMs: 1 } });
    const expected = ["a", "b"];
    for (let i = 0; existsSync(fileOf(small)) || i < 5; i++) {
      await write(engine, small, "add", record(`w${i}`));
      if (expected.push(`w${i}`) === 60) break;
      expect(await idsOf(engine, small)).toEqual(expected);
    }
    await engine.close();
    const again = await open();
    expect(await idsOf(again, small)).toEqual(expected);
    expect(problems()).toEqual([]);
  });

  it("has nothing in its share of what a killed move, or an earlier stay, has left there", async () => {
    const { small } = await made();
    const { id } = small;
    const folder = new DataFolder(dataFolder);
    const disk = createDiskSpace(dataFolder);
    const catalog = await openCatalog(folder, disk, { shares: true, archive: null });
    await catalog.shares.announce(id);
    await catalog.close();
    const name = sharedName(id);
    const share = new LmdbEnvironment({ folder: join(dataFolder, name), name, disk });
    await share.transact(() => share.put(Buffer.concat([shareId(id), idKey("stale")]), Buffer.alloc(9)));
    await share.close();
    const engine = await open();
    await until(() => !existsSync(fileOf(small)));
    expect(await readAll(engine, small)).toEqual(SMALL);
    await write(engine, small, "add", record("stale"));
    expect(await idsOf(engine, small)).toEqual(["a", "b", "stale"]);
    await engine.close();
    const again = await open();
    expect(await idsOf(again, small)).toEqual(["a", "b", "stale"]);
    expect(problems()).toEqual([]);
  });

  it("is the one that the catalog names where a process was killed before the other had gone", async () => {
    const { small } = await made();
    const copy = join(temporaryFolder(), "copy");
    cpSync(dirname(fileOf(small)), copy, { recursive: true });
    let engine = await open();
    await until(() => !existsSync(fileOf(small)));
    await write(engine, small, "add", record("later"));
    await engine.close();
    cpSync(copy, dirname(fileOf(small)), { recursive: true });
    engine = await open();
    await until(() => !existsSync(dirname(fileOf(small))));
    expect(await idsOf(engine, small)).toEqual(["a", "b", "later"]);
    expect(problems()).toEqual([]);
  });

  it("is whole in a backup that is made meanwhile, and shares an environment after its restore", async () => {
    const { small, large } = await made();
    const engine = await open({ shareStores: { ...LIMITS, joinAfterMs: 1 } });
    const backup = join(temporaryFolder(), "backup");
    const making = engine.makeBackup({ target: backup, base: null, tenant: null, keys: false });
    expect(await making).toMatchObject({ collections: 3, damaged: 0 });
    await engine.close();
    dataFolder = join(temporaryFolder(), "data");
    await restoreBackup({ backup, dataFolder, tenant: null });
    const restored = await open();
    await until(() => !existsSync(fileOf(small)));
    expect(await readAll(restored, small)).toEqual(SMALL);
    expect(await idsOf(restored, large)).toHaveLength(15);
    expect(problems()).toEqual([]);
  });

  it("stays where it is where nothing is shared, and where its file is not what it was", async () => {
    const { small, large, untouched } = await made();
    const off = await open({ shareStores: null });
    await write(off, untouched, "add", record("x"));
    await off.close();
    cpSync(fileOf(untouched), fileOf(small));
    const engine = await open();
    await until(() => !existsSync(fileOf(untouched)) && problems().length > 0);
    expect(problems()[0]).toMatchObject({
      collection: small.id,
      error: expect.stringContaining("at least 4"),
    });
    expect([small, large].map((ref) => existsSync(fileOf(ref)))).toEqual([true, true]);
    await expect(readAll(engine, small)).rejects.toMatchObject({ code: "collection_unavailable" });
    await engine.close();
    expect([...(await sharesOnDisk(dataFolder))]).toEqual([hexOf(untouched)]);
  });
});
