/** What a real engine host leaves behind that ends while it works for several tenants: nobody is blamed who did nothing. */
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CollectionRef, type SheafError, parseCreateCollection } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EngineLogEntry } from "../engine-log.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { sharedName } from "../storage/folder/shared-names.ts";
import { AT, makeCollection, record, write } from "../testing/engine-fixtures.ts";
import { EXHAUST_HEAP, end, endUnder, restarted, withExhaustibleHeap } from "../testing/host-ends.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { createHostedEngine } from "./create-hosted-engine.ts";
import type { HostedEngine } from "./hosted-engine.ts";
import type { HostedEngineOptions } from "./hosted-engine-options.ts";

const EVERYTHING = { ids: null, where: null };
const PAGE_BYTES = 4_096;
const PATIENCE = { timeout: 20_000, interval: 50 };
/** A file is checked again after three times as long as its check took. */
const UNTIL_CHECKED = { timeout: 90_000, interval: 50 };

interface Stage {
  readonly engine: HostedEngine;
  readonly logged: string[];
  readonly folder: DataFolder;
  /** Of the default tenant. */
  readonly suspect: CollectionRef;
  /** Of another tenant. */
  readonly bystander: CollectionRef;
}

async function open(options: Partial<HostedEngineOptions> = {}): Promise<Stage> {
  const dataFolder = temporaryFolder();
  const logged: string[] = [];
  const engine = await createHostedEngine({
    ...{ dataFolder, log: ({ message }) => logged.push(message) },
    ...options,
  });
  onTestFinished(() => engine.close());
  const suspect = await makeCollection(engine);
  const at = { tenant: "other", database: "main" };
  await engine.createTenant(at.tenant);
  await engine.createDatabase(at);
  const { id } = await engine.createCollection(parseCreateCollection({ name: "bystander" }, at));
  const bystander = { ...at, id };
  for (const ref of [suspect, bystander]) await write(engine, ref, "add", record("a"));
  return { engine, logged, folder: new DataFolder(dataFolder), suspect, bystander };
}

function reopen({ folder, logged }: Stage, options: Partial<HostedEngineOptions>): Promise<HostedEngine> {
  const log = ({ message }: EngineLogEntry): void => void logged.push(message);
  return createHostedEngine({ dataFolder: folder.path, log, ...options });
}

/** LMDB has mapped the whole file: whoever reads beyond what is left of it gets SIGBUS. */
function cutOff(path: string): void {
  truncateSync(path, 2 * PAGE_BYTES);
}

/** Values of all leaves claim to reach far beyond the file: LMDB believes it. */
function lengthen(path: string): void {
  const LEAF = 2;
  const HEADER = 24;
  const bytes = readFileSync(path);
  for (let page = 2 * PAGE_BYTES; page < bytes.length; page += PAGE_BYTES) {
    if (bytes.readUInt16LE(page + 18) !== LEAF) continue;
    for (let i = 0; i < bytes.readUInt16LE(page + 20); i += 2) {
      const node = page + HEADER + bytes.readUInt16LE(page + HEADER + i);
      bytes.writeUInt32LE(32 * 1024 * 1024, node);
    }
  }
  writeFileSync(path, bytes, { flag: "r+" });
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "ok",
    ({ code }: { code: string }) => code,
  );
}

describe("an engine host that ends", () => {
  it.each(["SIGSEGV", "SIGABRT", "SIGBUS"] as const)(
    "by %s, again and again, leaves every collection whose files are sound in service",
    async (signal) => {
      const { engine, logged, suspect, bystander } = await open();
      for (let round = 0; round < 2; round++) {
        await endUnder(engine, [suspect, bystander], signal);
        expect(await engine.count(bystander, EVERYTHING)).toBe(1);
        expect(await engine.count(suspect, EVERYTHING)).toBe(1);
      }
      expect(logged.filter((message) => message.includes("out of service"))).toEqual([]);
    },
  );

  it("of an exhausted heap is no evidence of damage, and after three the heavy calls of the tenant are refused", async () => {
    withExhaustibleHeap();
    const { engine, logged, suspect, bystander } = await open();
    for (let round = 0; round < 3; round++) {
      expect(await engine.count(suspect, EVERYTHING)).toBe(1);
      await endUnder(engine, [suspect, bystander], EXHAUST_HEAP);
      expect(await engine.count(bystander, EVERYTHING)).toBe(1);
    }
    expect(logged.filter((message) => message.includes("SIGABRT: out of memory"))).toHaveLength(3);
    expect(logged.filter((message) => message.includes("out of service"))).toEqual([]);
    await expect(engine.count(suspect, EVERYTHING)).rejects.toMatchObject({
      code: "unavailable",
      retryAfterSeconds: expect.any(Number),
    });
    // The catalog is not heavy, and a tenant must be able to remove what it cannot use.
    expect((await engine.listCollections(AT, { limit: null, offset: 0 })).items).toHaveLength(1);
    expect(await engine.count(bystander, EVERYTHING)).toBe(1);
  });

  it("of a damaged file leaves that collection alone out of service, until its files are sound", async () => {
    const stage = await open({ shareStores: null });
    const { logged, folder, suspect, bystander } = stage;
    const file = folder.collectionFile(suspect.id);
    await stage.engine.close();
    copyFileSync(file, `${file}.backup`);
    const engine = await reopen(stage, { shareStores: null });
    onTestFinished(() => engine.close());
    expect(await engine.count(suspect, EVERYTHING)).toBe(1);
    cutOff(file);
    const host = engine.pid;
    const read = (): Promise<string> => codeOf(write(engine, suspect, "add", record("b")));
    await expect.poll(read, PATIENCE).toBe("collection_unavailable");
    await restarted(engine, host);
    expect(await engine.count(bystander, EVERYTHING)).toBe(1);
    const second = engine.pid;
    for (let i = 0; i < 3; i++) expect(await read()).toBe("collection_unavailable");
    expect(await engine.statistics()).toMatchObject({ damagedCollections: 1 });
    expect(await engine.getCollection(suspect)).toMatchObject({ id: suspect.id });
    copyFileSync(`${file}.backup`, file);
    await expect.poll(read, UNTIL_CHECKED).toBe("ok");
    expect(await engine.count(suspect, EVERYTHING)).toBe(2);
    expect(await engine.statistics()).toMatchObject({ damagedCollections: 0 });
    expect(engine.pid, "no restart was needed").toBe(second);
    expect(logged.filter((message) => message.startsWith("serves again"))).toHaveLength(1);
  });

  it("of a damaged file that collections share takes all of them out of service, and ends once", async () => {
    const stage = await open();
    const { logged, folder, suspect, bystander } = stage;
    const shared = sharedName(suspect.id);
    const neighbours = [suspect];
    while (neighbours.length < 3) {
      const { id } = await stage.engine.createCollection(
        parseCreateCollection({ name: `n${Math.random()}` }, AT),
      );
      await write(stage.engine, { ...AT, id }, "add", record("a"));
      if (sharedName(id) === shared) neighbours.push({ ...AT, id });
    }
    await stage.engine.close();
    const file = join(folder.path, shared, "data.mdb");
    copyFileSync(file, `${file}.backup`);
    lengthen(file);
    logged.length = 0;
    const engine = await reopen(stage, {});
    onTestFinished(() => engine.close());
    const read = (ref: CollectionRef): Promise<string> => codeOf(engine.count(ref, EVERYTHING));
    const host = engine.pid;
    await expect.poll(() => read(suspect), PATIENCE).toBe("collection_unavailable");
    await restarted(engine, host);
    for (const ref of neighbours) expect(await read(ref)).toBe("collection_unavailable");
    const gone = { ...suspect, id: suspect.id.replace(/....$/u, "0000") };
    expect(await read(gone)).toBe("not_found");
    const writing = write(engine, neighbours[1]!, "add", record("b"));
    expect(await codeOf(writing)).toBe("collection_unavailable");
    if (sharedName(bystander.id) !== shared) expect(await read(bystander)).toBe("ok");
    for (let i = 0; i < 12; i++) {
      const { id } = await engine.createCollection(parseCreateCollection({ name: `later-${i}` }, AT));
      await write(engine, { ...AT, id }, "add", record("a"));
    }
    expect(logged.filter((message) => message.startsWith("the engine host ended"))).toHaveLength(1);
    expect(logged.filter((message) => message.includes("collections of a file are out"))).toHaveLength(1);
    copyFileSync(`${file}.backup`, file);
    await expect.poll(() => read(neighbours[2]!), UNTIL_CHECKED).toBe("ok");
    for (const ref of neighbours) expect(await read(ref)).toBe("ok");
    expect(await engine.statistics()).toMatchObject({ damagedCollections: 0 });
  });

  it("as it starts is an outage like any other where the last one had opened the catalog", async () => {
    const { engine, suspect } = await open();
    const first = engine.pid;
    end(engine, "SIGSEGV");
    await expect.poll(() => engine.pid !== undefined && engine.pid !== first, PATIENCE).toBe(true);
    end(engine, "SIGSEGV");
    const codes = new Set<string>();
    await expect
      .poll(async () => {
        const answer = await engine.count(suspect, EVERYTHING).catch((error: SheafError) => error);
        if (typeof answer !== "number") codes.add(answer.code);
        return answer;
      }, PATIENCE)
      .toBe(1);
    expect([...codes].filter((code) => code !== "unavailable")).toEqual([]);
  });

  it("by SIGKILL is attributed to nobody", async () => {
    const { engine, suspect } = await open();
    for (let round = 0; round < 4; round++) await endUnder(engine, [suspect], "SIGKILL");
    expect(await engine.count(suspect, EVERYTHING)).toBe(1);
  });
});
