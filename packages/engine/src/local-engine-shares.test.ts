/** Collections that share environments, in one engine and over restarts. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import { createLocalEngine } from "./create-local-engine.ts";
import type { Engine } from "./engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { EVERY_KEY } from "./storage/lmdb/key-range.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { SHARE_ID_BYTES } from "./storage/lmdb/shared-space.ts";
import { sharedNames } from "./storage/lmdb/shared-stores.ts";
import { idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** Slow, not hung. */
const DEADLINE_MS = 20_000;

let dataFolder: string;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

function open(options: Partial<LocalEngineOptions> = {}): Promise<Engine> {
  return createLocalEngine({ dataFolder, shareStores: true, ...options });
}

async function drop(engine: Engine, ref: CollectionRef): Promise<void> {
  const { name } = await engine.getCollection(ref);
  await engine.deleteCollection({ ...ref, name });
}

/** Ids, in hexadecimal, of the shares that have entries; the engine is closed. */
async function sharesOnDisk(): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const name of sharedNames()) {
    const folder = join(dataFolder, name);
    if (!LmdbEnvironment.exists(folder)) continue;
    const disk = createDiskSpace(dataFolder);
    const environment = new LmdbEnvironment({ folder, name, disk, readOnly: true });
    for (const { key } of environment.iterate(EVERY_KEY))
      ids.add(Buffer.from(key.subarray(0, SHARE_ID_BYTES)).toString("hex"));
    await environment.close();
  }
  return ids;
}

function hex({ id }: CollectionRef): string {
  return id.replaceAll("-", "");
}

/** The next starts and ends of an engine remove what is left behind. */
async function untilShares(expected: readonly CollectionRef[]): Promise<void> {
  const wanted = expected.map(hex).toSorted();
  for (const end = Date.now() + DEADLINE_MS; ;) {
    const found = [...(await sharesOnDisk())].toSorted();
    if (found.join() === wanted.join()) return;
    if (Date.now() > end) throw new Error(`there are ${found.join()}`);
    const engine = await open();
    await pause(50);
    await engine.close();
  }
}

describe("collections that share environments", () => {
  it("have no files of their own, and keep what they hold over restarts", async () => {
    let engine = await open();
    const refs = await Promise.all(Array.from({ length: 40 }, () => makeCollection(engine)));
    await Promise.all(refs.map((ref, i) => write(engine, ref, "add", record(`r${i}`), record("x"))));
    await engine.close();
    expect(existsSync(join(dataFolder, "collections"))).toBe(false);
    expect(readdirSync(join(dataFolder, "shared")).length).toBeGreaterThan(8);
    engine = await open({ shareStores: false });
    for (const [i, ref] of refs.entries()) expect(await idsOf(engine, ref)).toEqual([`r${i}`, "x"]);
    await engine.close();
  });

  it("leave nothing once they are dropped, however", async () => {
    const engine = await open();
    const kept = await makeCollection(engine);
    const doomed = await makeCollection(engine);
    await engine.createDatabase({ tenant: kept.tenant, database: "other" });
    for (const ref of [kept, doomed]) await write(engine, ref, "add", record("a"));
    await drop(engine, doomed);
    await engine.close();
    await untilShares([kept]);
    const again = await open();
    expect(await readAll(again, kept)).toEqual([record("a")]);
    await again.reset();
    await again.close();
    await untilShares([]);
  });

  it("count for their tenant's quotas", async () => {
    const quotas = { databases: 0, collections: 0, keys: 0, records: 3, bytes: 0 };
    const engine = await open({ quotas });
    const [one, other] = [await makeCollection(engine), await makeCollection(engine)];
    await write(engine, one, "add", record("a"), record("b"));
    await write(engine, other, "add", record("a"));
    await expect(write(engine, other, "add", record("b"))).rejects.toThrow("3 records");
    await engine.close();
    const again = await open({ quotas });
    await expect(write(again, other, "add", record("b"))).rejects.toThrow("3 records");
    await drop(again, one);
    await write(again, other, "add", record("b"), record("c"));
    await again.close();
  });
});
