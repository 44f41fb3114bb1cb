/** Collections that share environments, in one engine and over restarts. */
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import { createLocalEngine } from "./create-local-engine.ts";
import type { Engine } from "./engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import {
  ALL,
  INCLUDE,
  idsOf,
  listsOf,
  makeCollection,
  readAll,
  record,
  write,
} from "./testing/engine-fixtures.ts";
import { hexOf, sharesOnDisk } from "./testing/shares-on-disk.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** Slow, not hung. */
const DEADLINE_MS = 20_000;
const EVERYTHING = { ids: null, where: null };

let dataFolder: string;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

function open(options: Partial<LocalEngineOptions> = {}): Promise<Engine> {
  return createLocalEngine({ dataFolder, shareStores: { records: 20, bytes: 50_000 }, ...options });
}

async function drop(engine: Engine, ref: CollectionRef): Promise<void> {
  const { name } = await engine.getCollection(ref);
  await engine.deleteCollection({ ...ref, name });
}

/** The next starts and ends of an engine remove what is left behind. */
async function untilShares(expected: readonly CollectionRef[]): Promise<void> {
  const wanted = expected.map(hexOf).toSorted();
  for (const end = Date.now() + DEADLINE_MS; ;) {
    const found = [...(await sharesOnDisk(dataFolder))].toSorted();
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
    // Few, so that writers of several collections share commits.
    expect(readdirSync(join(dataFolder, "shared")).length).toBeGreaterThan(3);
    expect(readdirSync(join(dataFolder, "shared")).length).toBeLessThanOrEqual(8);
    engine = await createLocalEngine({ dataFolder });
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

  it("have forks that share environments, too, each with what it had and what it gets", async () => {
    let engine = await open();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"), record("b"));
    await engine.delete(ref, { ids: ["a"], where: null, limit: null });
    const forks = await Promise.all(
      Array.from({ length: 4 }, (_, i) => engine.forkCollection(ref, `fork${i}`)),
    );
    const all = [ref, ...forks.map(({ id }) => ({ ...ref, id }))];
    for (const [i, one] of all.entries()) await write(engine, one, "add", record(`own${i}`));
    await engine.close();
    expect(existsSync(join(dataFolder, "collections"))).toBe(false);
    await untilShares(all);
    engine = await open();
    for (const [i, one] of all.entries()) expect(await idsOf(engine, one)).toEqual(["b", `own${i}`]);
    await expect(engine.forkCollection(ref, "fork0")).rejects.toMatchObject({ code: "already_exists" });
    const moved = all[1]!;
    await write(engine, moved, "add", ...Array.from({ length: 20 }, (_, i) => record(`r${i}`)));
    expect(existsSync(fileOf(moved))).toBe(true);
    const fork = await engine.forkCollection(moved, "of its own");
    expect(existsSync(fileOf({ ...ref, id: fork.id }))).toBe(true);
    await engine.close();
    await untilShares(all.filter((one) => one !== moved));
  });

  it("leave nothing of a fork that failed", async () => {
    const quotas = { databases: 0, collections: 2, keys: 0, records: 0, bytes: 0 };
    const engine = await open({ quotas });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    const forks = await Promise.allSettled(["x", "y", "z"].map((name) => engine.forkCollection(ref, name)));
    const made = forks.flatMap((fork) => (fork.status === "fulfilled" ? [fork.value.id] : []));
    expect(made).toHaveLength(1);
    await engine.close();
    await untilShares([ref, ...made.map((id) => ({ ...ref, id }))]);
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

  it("get an environment of their own once they are large, beside readers and writers", async () => {
    let engine = await open();
    const ref = await makeCollection(engine);
    const token = await engine.readToken(ref);
    const readers = { stop: false };
    const reading = readUntil(engine, ref, readers);
    const expected = Array.from({ length: 60 }, (_, i) => record(`r${i}`));
    for (const [i, one] of expected.entries()) {
      await write(engine, ref, "add", one);
      expect(await engine.count(ref, EVERYTHING)).toBe(i + 1);
    }
    readers.stop = true;
    await reading;
    expect(existsSync(fileOf(ref))).toBe(true);
    expect(await readAll(engine, ref)).toEqual(expected);
    const commit = { token, readIds: ["other"], operations: [{ kind: "delete" as const, ids: ["r0"] }] };
    await engine.commit(ref, commit);
    const stale = engine.commit(ref, { ...commit, readIds: ["r0"] });
    await expect(stale).rejects.toMatchObject({ code: "conditional_conflict" });
    await engine.close();
    await untilShares([]);
    engine = await createLocalEngine({ dataFolder });
    expect(await readAll(engine, ref)).toEqual(expected.slice(1));
    await engine.close();
  });

  it("never lie in a share where they come at once, or are long", async () => {
    const engine = await open();
    const ref = await makeCollection(engine);
    const records = Array.from({ length: 21 }, (_, i) => record(`r${i}`));
    await write(engine, ref, "add", ...records);
    const long = await makeCollection(engine);
    await write(engine, long, "add", record("long", { document: "x".repeat(60_000) }));
    const described = await makeCollection(engine);
    const metadata = new Map([["numbers", new Float64Array(10_000)]]);
    await write(engine, described, "add", record("described", { metadata }));
    const committed = await makeCollection(engine);
    const operations = [{ kind: "add" as const, records }];
    await engine.commit(committed, { token: null, readIds: [], operations });
    expect(existsSync(fileOf(committed))).toBe(true);
    expect(readdirSync(dataFolder)).not.toContain("shared");
    for (const large of [long, described]) expect(existsSync(fileOf(large))).toBe(true);
    expect(await readAll(engine, ref)).toEqual(records);
    await engine.close();
  });

  it("take long values along, and reads that have begun", async () => {
    const engine = await open({ shareStores: { records: 12, bytes: 1e9 } });
    const ref = await makeCollection(engine);
    const records = Array.from({ length: 12 }, (_, i) =>
      record(`r${i}`, { document: String(i % 10).repeat(1_500_000) }),
    );
    for (const one of records) await write(engine, ref, "add", one);
    const first = await engine.get(ref, { ...EVERYTHING, ...ALL, include: INCLUDE });
    expect(first.cursor).not.toBeNull();
    expect(existsSync(fileOf(ref))).toBe(false);
    await write(engine, ref, "add", record("last"));
    await until(() => existsSync(fileOf(ref)));
    await write(engine, ref, "update", record("r11", { document: "new" }));
    const [found = []] = await listsOf(engine, ref, Promise.resolve(first));
    expect(found.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
    expect(found.map(({ document }) => documentLength(document))).toEqual(records.map(() => 1_500_000));
    await engine.close();
  });

  it("are not taken from a copy that a killed process has left", async () => {
    let engine = await open();
    const [ref, other] = [await makeCollection(engine), await makeCollection(engine)];
    await write(engine, ref, "add", record("a"));
    await write(engine, other, "add", ...Array.from({ length: 21 }, (_, i) => record(`r${i}`)));
    await engine.close();
    cpSync(dirname(fileOf(other)), dirname(fileOf(ref)), { recursive: true });
    engine = await open();
    expect(await readAll(engine, ref)).toEqual([record("a")]);
    expect(existsSync(fileOf(ref))).toBe(false);
    await write(engine, ref, "add", ...Array.from({ length: 20 }, (_, i) => record(`b${i}`)));
    expect(existsSync(fileOf(ref))).toBe(true);
    expect(await engine.count(ref, EVERYTHING)).toBe(21);
    await engine.close();
  });

  it("stay where they are until there is room for a copy", async () => {
    let free = 1e12;
    const engine = await open({ diskUsage: () => ({ free, size: 1e12 }) });
    const ref = await makeCollection(engine);
    const document = "x".repeat(1_000);
    free = 32 * 2 ** 20 + 10_000;
    for (let i = 0; i < 30; i++) await write(engine, ref, "add", record(`r${i}`, { document }));
    expect(await engine.count(ref, EVERYTHING)).toBe(30);
    await engine.close();
    expect(existsSync(fileOf(ref))).toBe(false);
    free = 1e12;
    const again = await open({ diskUsage: () => ({ free, size: 1e12 }) });
    await write(again, ref, "add", record("r30"));
    await until(() => existsSync(fileOf(ref)));
    expect(await again.count(ref, EVERYTHING)).toBe(31);
    await again.close();
  });
});

function fileOf({ id }: CollectionRef): string {
  return new DataFolder(dataFolder).collectionFile(id);
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + DEADLINE_MS; !holds(); await pause(5))
    if (Date.now() > end) throw new Error("it never came to that");
}

function documentLength(document: unknown): number {
  return typeof document === "string" ? document.length : (document as Uint8Array).length;
}

/** Each answer is a prefix of what is written. */
async function readUntil(engine: Engine, ref: CollectionRef, readers: { stop: boolean }): Promise<void> {
  while (!readers.stop) {
    const ids = await idsOf(engine, ref);
    expect(ids).toEqual(ids.map((_, i) => `r${i}`));
  }
}
