/** Quotas of tenants, at their bounds and over them. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { type CollectionRef, type WriteRecord, parseCreateCollection } from "@sheaf/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { NO_DATABASE } from "./collection/logged/database-measure.ts";
import { NO_QUOTAS, type TenantQuotas } from "./collection/tenant-quotas.ts";
import type { Engine } from "./engine.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { AT, makeCollection, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const EVERYTHING = { ids: null, where: null };
const EXCEEDED = { code: "unprocessable", message: expect.stringMatching(/^Quota exceeded/) };

const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

async function open(
  quotas: Partial<TenantQuotas>,
  { dataFolder = temporaryFolder(), ...options }: Partial<LocalEngineOptions> = {},
): Promise<Engine> {
  const engine = await createLocalEngine({ dataFolder, quotas: { ...NO_QUOTAS, ...quotas }, ...options });
  engines.push(engine);
  return engine;
}

const add = (engine: Engine, ref: CollectionRef, ...ids: readonly string[]): Promise<void> =>
  write(engine, ref, "add", ...ids.map((id) => record(id)));

describe("records of a tenant", () => {
  it("are kept up to the bound, over all its collections, and no batch goes over it in part", async () => {
    const engine = await open({ records: 4 });
    const [first, second] = [await makeCollection(engine), await makeCollection(engine)];
    await add(engine, first, "a", "b");
    await expect(add(engine, second, "c", "d", "e")).rejects.toMatchObject(EXCEEDED);
    expect(await engine.count(second, EVERYTHING)).toBe(0);
    await add(engine, second, "c", "d");
    await expect(add(engine, first, "e")).rejects.toMatchObject(EXCEEDED);
    // What is there may change, and go.
    await write(engine, first, "update", record("a", { document: "new" }));
    await write(engine, first, "upsert", record("b", { document: "new" }));
    expect(await engine.delete(first, { ids: ["a"], where: null, limit: null })).toBe(1);
    await add(engine, second, "e");
    await expect(add(engine, second, "f")).rejects.toMatchObject(EXCEEDED);
  });

  it("are the chunks of documents that are cut, of which none is stored if not all fit", async () => {
    const engine = await open({ records: 3 });
    const body = { name: "cut", schema: { chunking: { by: "none" } } };
    const { id } = await engine.createCollection(parseCreateCollection(body, AT));
    const ref = { ...AT, id };
    const cut = (count: number): WriteRecord => {
      const chunk = { start: 0, end: 1, embedding: Float32Array.of(1), document: "x", metadata: null };
      return record("long", { embedding: null, chunks: Array.from({ length: count }, () => chunk) });
    };
    await write(engine, ref, "upsert", cut(3));
    await expect(write(engine, ref, "upsert", cut(4))).rejects.toMatchObject(EXCEEDED);
    expect(await engine.count(ref, EVERYTHING)).toBe(3);
    await write(engine, ref, "upsert", cut(1));
    await add(engine, await makeCollection(engine), "a", "b");
  });

  it("come free when a collection is dropped, and are another tenant's own business", async () => {
    const engine = await open({ records: 2 });
    const name = `c-${randomUUID()}`;
    await add(engine, await makeCollection(engine, name), "a", "b");
    await engine.deleteCollection({ ...AT, name });
    await add(engine, await makeCollection(engine), "a", "b");
    const other = { tenant: `t-${randomUUID()}`, database: "other" };
    await engine.createTenant(other.tenant);
    await engine.createDatabase(other);
    const { id } = await engine.createCollection(parseCreateCollection({ name: "theirs" }, other));
    await add(engine, { ...other, id }, "a", "b");
    expect(await engine.count({ ...other, id }, EVERYTHING)).toBe(2);
  });

  it("are counted anew after a restart", async () => {
    const dataFolder = temporaryFolder();
    const first = await open({ records: 3 }, { dataFolder });
    const ref = await makeCollection(first);
    await add(first, ref, "a", "b");
    await engines.pop()?.close();
    const second = await open({ records: 3 }, { dataFolder });
    await expect(add(second, ref, "c", "d")).rejects.toMatchObject(EXCEEDED);
    await add(second, ref, "c");
  });

  it("never go over the bound by being written at once", async () => {
    const engine = await open({ records: 10 });
    const refs = await Promise.all(Array.from({ length: 4 }, () => makeCollection(engine)));
    const writes = refs.flatMap((ref) => Array.from({ length: 10 }, (_, i) => add(engine, ref, `r${i}`)));
    const outcomes = await Promise.allSettled(writes);
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(10);
    const counts = await Promise.all(refs.map((ref) => engine.count(ref, EVERYTHING)));
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect(total).toBeLessThanOrEqual(10);
    expect(total).toBe(outcomes.filter(({ status }) => status === "fulfilled").length);
  });

  it("count for a fork as well", async () => {
    const engine = await open({ records: 4 });
    const ref = await makeCollection(engine);
    await add(engine, ref, "a", "b");
    const fork = await engine.forkCollection(ref, "fork-1");
    await expect(engine.forkCollection(ref, "fork-2")).rejects.toMatchObject(EXCEEDED);
    await expect(add(engine, { ...AT, id: fork.id }, "c")).rejects.toMatchObject(EXCEEDED);
  });
});

describe("bytes of a tenant", () => {
  it("stop writes before they are exceeded; changing and removing go on, and removing makes room", async () => {
    const engine = await open({ bytes: 96 * 1024 });
    const ref = await makeCollection(engine);
    const document = "x".repeat(20_000);
    const put = (id: string): Promise<void> => write(engine, ref, "upsert", record(id, { document }));
    let written = 0;
    await expect(
      (async () => {
        for (; written < 100; written++) await put(`r${written}`);
      })(),
    ).rejects.toMatchObject(EXCEEDED);
    expect(written).toBeGreaterThan(2);
    await put("r0");
    const longer = record("r0", { document: "x".repeat(60_000) });
    await expect(write(engine, ref, "update", longer)).rejects.toMatchObject(EXCEEDED);
    await engine.delete(ref, { ids: ["r0", "r1"], where: null, limit: null });
    await put("again");
  });

  it.each([
    ["one record of a large document", [record("big", { document: "é".repeat(1_000_000) })]],
    ["large metadata", [record("big", { metadata: new Map([["k", "x".repeat(1_000_000)]]) })]],
    ["many small records", Array.from({ length: 10_000 }, (_, i) => record(`r${i}`))],
  ])("are never exceeded by a single write: %s", async (_what, records) => {
    // In a share, many of them have the collection moved first.
    const engine = await open({ bytes: 512 * 1024 }, { shareStores: null });
    const ref = await makeCollection(engine);
    await add(engine, ref, "first");
    const bytes = (await engine.statistics()).openCollectionBytes;
    await expect(write(engine, ref, "add", ...records)).rejects.toMatchObject(EXCEEDED);
    expect(await engine.count(ref, EVERYTHING)).toBe(1);
    expect((await engine.statistics()).openCollectionBytes).toBe(bytes);
    await add(engine, ref, "second");
  });

  it("are never exceeded by writes at once, into several collections", async () => {
    const bytes = 512 * 1024;
    const dataFolder = temporaryFolder();
    const engine = await open({ bytes }, { dataFolder });
    const refs = await Promise.all(Array.from({ length: 4 }, () => makeCollection(engine)));
    const document = "x".repeat(50_000);
    const outcomes = await Promise.allSettled(
      refs.flatMap((ref) =>
        Array.from({ length: 5 }, (_, i) => write(engine, ref, "add", record(`r${i}`, { document }))),
      ),
    );
    const written = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(written).toBeGreaterThan(4);
    expect(written * document.length).toBeLessThan(bytes);
    await engines.pop()?.close();
    // What is on the disk now lets nothing in either: what was counted is what there is.
    const reopened = await open({ bytes: written * document.length }, { dataFolder });
    await expect(add(reopened, refs[0]!, "more")).rejects.toMatchObject(EXCEEDED);
  });

  it("are not exceeded by a collection that takes whole pages once it is not small any more", async () => {
    const [bytes, dataFolder] = [100_000, temporaryFolder()];
    const shareStores = { records: 100, bytes: 60_000 };
    const engine = await open({ bytes }, { dataFolder, shareStores });
    const ref = await makeCollection(engine);
    // Of these a share holds twice as many as as many bytes of pages do.
    const put = (on: Engine, id: number): Promise<void> =>
      write(on, ref, "add", record(`r${id}`, { document: "x".repeat(2_100) }));
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) await put(engine, i);
    };
    await expect(fill()).rejects.toMatchObject(EXCEEDED);
    const hasOwnFile = (): boolean => existsSync(new DataFolder(dataFolder).collectionFile(ref.id));
    expect(await engine.count(ref, EVERYTHING)).toBeGreaterThan(shareStores.bytes / 2_200);
    expect(hasOwnFile()).toBe(false);
    await engines.pop()?.close();
    const larger = await open({ bytes: 4 * bytes }, { dataFolder, shareStores });
    await put(larger, 100);
    await expect.poll(hasOwnFile, { timeout: 20_000 }).toBe(true);
  });

  it("have room for a fork whole or not at all, also for two at once", async () => {
    const bytes = 256 * 1024;
    const engine = await open({ bytes });
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a", { document: "x".repeat(90_000) }));
    const outcomes = await Promise.allSettled([
      engine.forkCollection(ref, "fork-1"),
      engine.forkCollection(ref, "fork-2"),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: EXCEEDED });
    // What was refused is not charged, and what is gone makes room.
    await engine.deleteCollection({ ...AT, name: outcomes[0]?.status === "fulfilled" ? "fork-1" : "fork-2" });
    await engine.forkCollection(ref, "fork-3");
    await expect(engine.forkCollection(ref, "fork-4")).rejects.toMatchObject(EXCEEDED);
  });
});

describe("databases of a tenant", () => {
  it("are made up to the bound, and make room when they go", async () => {
    const engine = await open({ databases: 3 });
    const make = (database: string): Promise<void> => engine.createDatabase({ ...AT, database });
    await make("second");
    const outcomes = await Promise.allSettled(["a", "b", "c"].map(make));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    await expect(make("more")).rejects.toMatchObject(EXCEEDED);
    await engine.deleteDatabase({ ...AT, database: "second" });
    await expect(make("a")).rejects.toMatchObject({ code: "already_exists" });
    await make("more");
    await expect(make("again")).rejects.toMatchObject(EXCEEDED);
    await engine.reset();
    await make("after a reset");
    await engine.createTenant("another");
    await engine.createDatabase({ tenant: "another", database: "theirs" });
  });
});

describe("collections of a tenant", () => {
  it("are made up to the bound, over all its databases", async () => {
    const engine = await open({ collections: 2 });
    await engine.createDatabase({ ...AT, database: "another" });
    const name = `c-${randomUUID()}`;
    const ref = await makeCollection(engine, name);
    await engine.createCollection(parseCreateCollection({ name: "two" }, { ...AT, database: "another" }));
    await expect(makeCollection(engine)).rejects.toMatchObject(EXCEEDED);
    await expect(engine.forkCollection(ref, "fork")).rejects.toMatchObject(EXCEEDED);
    const known = parseCreateCollection({ name, get_or_create: true }, AT);
    expect((await engine.createCollection(known)).id).toBe(ref.id);
    await engine.deleteCollection({ ...AT, name });
    await makeCollection(engine);
  });
});

describe("statistics", () => {
  it("say what is open, how large it is and how many rows were ranked", async () => {
    const engine = await open({});
    const ref = await makeCollection(engine);
    await add(engine, ref, "a", "b", "c");
    const include = {
      documents: false,
      embeddings: false,
      metadatas: false,
      uris: false,
      distances: true,
      keys: [],
    };
    const query = { ...EVERYTHING, embeddings: [Float32Array.of(1, 2)], limit: 1, include };
    await engine.query(ref, query);
    const { rowsScanned, openCollectionBytes, catalogBytes, indexUnsealedBytes, ...counts } =
      await engine.statistics();
    expect(counts).toEqual({
      ...NO_DATABASE,
      collections: 1,
      openCollections: 1,
      openingCollections: 0,
      unsealedRows: 3,
      longestReplay: 0,
      oldestManifestSeconds: 0,
      damagedCollections: 0,
      damagedIndexFiles: 0,
      archivePosition: 0,
      archiveLagSeconds: 0,
      archiveBytes: 0,
      archiveFailing: 0,
      archiveBackupMissing: 0,
      indexVectorBytes: 0,
      indexCodeBytes: 0,
      indexCopyBytes: 0,
      indexPartBytes: 0,
      indexPartReads: 0,
      indexPartEvictions: 0,
      runningCalls: 0,
      openReads: 0,
      waitingRegexRequests: 0,
      endedRegexThreads: 0,
    });
    expect(rowsScanned).toBe(3);
    expect(Math.min(openCollectionBytes, catalogBytes, indexUnsealedBytes)).toBeGreaterThan(0);
  });
});
