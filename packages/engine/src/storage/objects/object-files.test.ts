import { readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import type { EngineLogEntry } from "../../engine-log.ts";
import { openSections } from "../files/section-reader.ts";
import { writeSections } from "../files/section-writer.ts";
import { TAIL_BYTES } from "../files/segment-files.ts";
import { readFile, segmentFilesSuite, writeFile } from "../files/segment-files.suite.ts";
import { BlockCache } from "./block-cache.ts";
import { BLOCK_BYTES } from "./object-file.ts";
import { ObjectFiles } from "./object-files.ts";
import { ObjectStore, type ObjectStoreSettings } from "./object-store.ts";
import { type StoreFailure, inFull } from "./store-failure.ts";
import { StoreHealth } from "./store-health.ts";
import { type Fault, ObjectServer } from "./testing/object-server.ts";

/** The smallest parts that a real store takes; without one smaller, for the sake of time. */
const PART_BYTES = (process.env["SHEAF_TEST_VERSITYGW"] === undefined ? 1 : 5) * 1024 * 1024;

let server: ObjectServer;
beforeAll(async () => {
  server = await ObjectServer.start();
});
afterAll(() => server?.close());
beforeEach(() => {
  server.fault = () => null;
  server.pause = () => null;
  server.calls.length = 0;
});

interface Opening {
  readonly settings?: ObjectStoreSettings;
  readonly folder?: string;
  readonly maxBytes?: number;
  readonly reserve?: number;
}

function open({
  settings = server.settings(),
  folder = temporaryFolder(),
  ...rest
}: Opening = {}): ObjectFiles {
  const { maxBytes = 64 * BLOCK_BYTES, reserve } = rest;
  const disk = reserve === undefined ? null : createDiskSpace(folder, { diskReserve: reserve });
  const limits = { partBytes: PART_BYTES, attempts: 3, ...settings.limits };
  const cache = new BlockCache({ folder: join(folder, "cache"), maxBytes, disk });
  return new ObjectFiles(new ObjectStore({ ...settings, limits }), cache);
}

/** Three parts and a bit, each of at least a block, each block another one. */
const LARGE = Buffer.alloc(3 * PART_BYTES + 12_345);
for (let i = 0; i < LARGE.length; i++) LARGE[i] = i * 31 + (i >> 16);

const gets = (): readonly string[] => server.calls.filter((call) => call.startsWith("GET"));

async function range(files: ObjectFiles, name: string, from: number, to: number): Promise<Buffer> {
  const file = (await files.open(name))!;
  const into = Buffer.alloc(to - from);
  if (!file.tryRead(into, from)) await file.read(into, from);
  await file.close();
  return into;
}

segmentFilesSuite({ name: "files in an object store", open: () => open() });

describe("files in an object store", () => {
  it("asks for what is read, and no more, where nothing is kept", async () => {
    const settings = server.settings();
    await writeFile(open({ settings }), "a.seg", LARGE);
    const ranges: string[] = [];
    server.pause = (_call, asked) => {
      ranges.push(asked);
      return null;
    };
    const files = new ObjectFiles(new ObjectStore(settings), null);
    const [from, to] = [BLOCK_BYTES - 10, BLOCK_BYTES + 1_000];
    expect((await range(files, "a.seg", from, to)).equals(LARGE.subarray(from, to))).toBe(true);
    expect(ranges.slice(1).toSorted()).toEqual([
      `bytes=${from}-${BLOCK_BYTES - 1}`,
      `bytes=${BLOCK_BYTES}-${to - 1}`,
    ]);
    await files.close();
  });

  it("sends a large file in parts, and reads it as it was", async () => {
    const files = open();
    await writeFile(files, "a.seg", LARGE.subarray(0, 1.4 * PART_BYTES), LARGE.subarray(1.4 * PART_BYTES));
    expect(server.calls.filter((call) => call.includes("partNumber="))).toHaveLength(4);
    expect((await readFile(files, "a.seg"))?.equals(LARGE)).toBe(true);
    await files.close();
  });

  it("sends a file that is expected to have too many parts in larger ones, all but the last of one size", async () => {
    const settings = { ...server.settings(), limits: { parts: 2 } };
    const files = open({ settings });
    const file = await files.create("a.seg", LARGE.length);
    for (let at = 0; at < LARGE.length; at += 100_000) await file.write(LARGE.subarray(at, at + 100_000));
    await file.commit();
    expect(server.calls.filter((call) => call.includes("partNumber="))).toHaveLength(2);
    expect((await readFile(files, "a.seg"))?.equals(LARGE)).toBe(true);
    await files.close();
  });

  it.each<[string, RegExp, Fault]>([
    ["a busy store", /^PUT/, "busy"],
    ["a connection that is cut", /^PUT/, "cut"],
    ["a part that arrives as other bytes", /partNumber=2/, "flip"],
    ["a part whose answer is lost", /partNumber=1/, "lost"],
    ["an end whose answer is lost", /^POST .*uploadId/, "lost"],
  ])("has the file once after %s", async (_name, kind, fault) => {
    const settings = server.settings();
    const isDone = server.failOnce(kind, fault);
    const files = open({ settings });
    await writeFile(files, "a.seg", LARGE);
    expect(isDone()).toBe(true);
    expect(await files.list()).toEqual(["a.seg"]);
    expect((await readFile(open({ settings }), "a.seg"))?.equals(LARGE)).toBe(true);
  });

  it("sends a small file again that arrives as other bytes", async () => {
    const isDone = server.failOnce(/^PUT/, "flip");
    const files = open();
    await writeFile(files, "a.seg", Buffer.from("small"));
    expect(isDone()).toBe(true);
    expect((await readFile(files, "a.seg"))?.toString()).toBe("small");
  });

  it("says 503 where the store does not come back, and leaves no file", async () => {
    const files = open();
    server.fault = (call) => (call.includes("partNumber=3") ? "busy" : null);
    const writer = await files.create("a.seg");
    await writer.write(LARGE);
    await expect(writer.commit()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await writer.abort();
    expect(server.calls.some((call) => call.startsWith("DELETE"))).toBe(true);
    server.fault = () => null;
    expect(await files.list()).toEqual([]);
    server.fault = () => "cut";
    await expect(files.open("a.seg")).rejects.toMatchObject({ code: "unavailable" });
  });

  it.each<[string, number, Fault]>([
    ["its end", 10, "flip"],
    ["what came with its end", 40_000, "flip"],
    ["what lies before", 200_000, "flip"],
    ["an answer that is cut", 200_000, "short"],
  ])("fetches once more what does not fit its checksum: %s", async (_name, size, fault) => {
    const settings = server.settings();
    const bytes = LARGE.subarray(0, size);
    const file = await writeSections(open({ settings }), "a.seg", async (writer) => {
      await writer.stream("all");
      await writer.write(bytes);
    });
    const files = new ObjectFiles(new ObjectStore(settings), null);
    const isBehind = size > TAIL_BYTES;
    const early = isBehind ? null : server.failOnce(/^GET/, fault);
    const reader = await openSections(files, file);
    const isDone = early ?? server.failOnce(/^GET/, fault);
    const into = Buffer.alloc(size);
    const section = reader.stream("all");
    if (!section.tryRead(into, 0)) await section.read(into, 0);
    expect(isDone()).toBe(true);
    expect(into.equals(bytes)).toBe(true);
    server.fault = () => "flip";
    // What came with the end is not asked for again.
    if (isBehind) await expect(section.read(into, 0)).rejects.toMatchObject({ name: "SegmentDamaged" });
    await reader.close();
  });

  it("lists more files than one answer holds", async () => {
    const files = open({ settings: { ...server.settings(), limits: { listed: 10 } } });
    const names = Array.from({ length: 31 }, (_, i) => `f${String(i).padStart(2, "0")}`);
    await Promise.all(names.map((name) => writeFile(files, name)));
    server.calls.length = 0;
    expect(await files.list()).toEqual(names);
    expect(server.calls).toHaveLength(4);
  });
});

describe("the cache on disk", () => {
  const blockFiles = (folder: string): string[] =>
    readdirSync(join(folder, "cache")).map((name) => join(folder, "cache", name));

  it("gives what was read once at once, also to a later process", async () => {
    const [settings, folder] = [server.settings(), temporaryFolder()];
    const files = open({ settings, folder });
    await writeFile(files, "a.seg", LARGE);
    expect((await range(files, "a.seg", 100, 1_500_000)).equals(LARGE.subarray(100, 1_500_000))).toBe(true);
    const before = gets().length;
    const file = (await files.open("a.seg"))!;
    const into = Buffer.alloc(BLOCK_BYTES + 10);
    expect(file.tryRead(into, 5)).toBe(true);
    expect(into.equals(LARGE.subarray(5, BLOCK_BYTES + 15))).toBe(true);
    expect(file.tryRead(into, 2 * BLOCK_BYTES)).toBe(false);
    const later = open({ settings, folder });
    expect((await range(later, "a.seg", 0, 100)).equals(LARGE.subarray(0, 100))).toBe(true);
    // Two openings, and no block.
    expect(gets().length - before).toBeLessThanOrEqual(4);
    expect(
      gets()
        .slice(before)
        .every((call) => call.endsWith("a.seg")),
    ).toBe(true);
    await Promise.all([files.close(), later.close()]);
  });

  it("fetches a block once for all who want it at the same time", async () => {
    const settings = server.settings();
    await writeFile(open({ settings }), "a.seg", LARGE);
    const files = open({ settings });
    const file = (await files.open("a.seg"))!;
    const before = gets().length;
    const parts = Array.from({ length: 20 }, () => Buffer.alloc(1_000));
    await Promise.all(parts.map((part, i) => file.read(part, i * 1_000)));
    expect(gets().length - before).toBe(1);
    expect(Buffer.concat(parts).equals(LARGE.subarray(0, 20_000))).toBe(true);
  });

  it("keeps to its bound, and reads what it has dropped again", async () => {
    const folder = temporaryFolder();
    const files = open({ folder, maxBytes: 2.5 * BLOCK_BYTES });
    await writeFile(files, "a.seg", LARGE);
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at + 10 < LARGE.length; at += BLOCK_BYTES)
        expect((await range(files, "a.seg", at, at + 10)).equals(LARGE.subarray(at, at + 10))).toBe(true);
    }
    await files.close();
    const sizes = blockFiles(folder).map((path) => statSync(path).size);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeLessThanOrEqual(2.5 * BLOCK_BYTES);
    expect(total).toBeGreaterThan(BLOCK_BYTES);
  });

  it.each<[string, (path: string) => void]>([
    ["is damaged", (path) => writeFileSync(path, readFileSync(path).fill(0, 10, 20))],
    ["was torn", (path) => truncateSync(path, 1_000)],
    ["is empty", (path) => truncateSync(path, 0)],
  ])("fetches a block again whose file %s", async (_name, damage) => {
    const [settings, folder] = [server.settings(), temporaryFolder()];
    const files = open({ settings, folder });
    await writeFile(files, "a.seg", LARGE);
    await range(files, "a.seg", 0, 100);
    await files.close();
    for (const path of blockFiles(folder)) damage(path);
    const later = open({ settings, folder });
    expect((await range(later, "a.seg", 0, 100)).equals(LARGE.subarray(0, 100))).toBe(true);
    expect((await range(later, "a.seg", 0, 100)).equals(LARGE.subarray(0, 100))).toBe(true);
  });

  it("does without where the disk has no room", async () => {
    const folder = temporaryFolder();
    const files = open({ folder, reserve: Number.MAX_SAFE_INTEGER });
    await writeFile(files, "a.seg", LARGE);
    expect((await range(files, "a.seg", 0, 100)).equals(LARGE.subarray(0, 100))).toBe(true);
    expect(() => blockFiles(folder)).toThrow("ENOENT");
  });

  it("never mixes two objects that had one name", async () => {
    const [settings, folder] = [server.settings(), temporaryFolder()];
    const files = open({ settings, folder });
    await writeFile(files, "a.seg", LARGE);
    const old = (await files.open("a.seg"))!;
    await range(files, "a.seg", 0, 100);
    const other = open({ settings });
    await other.remove("a.seg");
    await writeFile(other, "a.seg", Buffer.from(LARGE).reverse());
    expect((await range(files, "a.seg", 0, 100)).equals(Buffer.from(LARGE).reverse().subarray(0, 100))).toBe(
      true,
    );
    await expect(old.read(Buffer.alloc(10), BLOCK_BYTES)).rejects.toMatchObject({
      name: "SegmentDamaged",
    });
    await other.remove("a.seg");
    await expect(old.read(Buffer.alloc(10), 2 * BLOCK_BYTES)).rejects.toThrow("missing");
  });
});

describe("the settings of an object store", () => {
  it("are refused for another machine without https, unless an operator says so", () => {
    const away = { ...server.settings(), endpoint: "http://s3.example" };
    expect(() => new ObjectStore(away)).toThrow(/https/);
    expect(() => new ObjectStore({ ...away, allowPlaintext: true })).not.toThrow();
    expect(() => new ObjectStore({ ...away, endpoint: "https://s3.example" })).not.toThrow();
  });

  it.each(["a", "/", "/a/", "a b/", "a?/"])("have no prefix %j", (prefix) => {
    expect(() => new ObjectStore({ ...server.settings(), prefix })).toThrow(/prefix/);
  });

  it("say what the store has refused, and nothing of the keys", async () => {
    const wrong = { ...server.settings(), accessKeyId: "nobody", secretAccessKey: "not the secret" };
    const error: unknown = await open({ settings: wrong })
      .open("a.seg")
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "unavailable", kind: expect.stringMatching(/^40[34] /) });
    expect(inFull(error as StoreFailure)).not.toContain("not the secret");
  });

  it("do not make a file of a bucket that is not there a missing one", async () => {
    const files = open({ settings: { ...server.settings(), bucket: "no-such-bucket" } });
    const refused = { code: "unavailable", kind: "404 NoSuchBucket" };
    await expect(files.open("a.seg")).rejects.toMatchObject(refused);
    await expect(files.remove("a.seg")).rejects.toMatchObject(refused);
  });
});

describe("an object store that cannot be used", () => {
  it.each<[Fault, RegExp]>([
    ["busy", /^503 SlowDown/],
    ["cut", /^(?:UND_ERR_SOCKET|ECONNRESET): /],
    ["page", /^200: what came is no S3 answer/],
    ["denied", /^403 AccessDenied: Nobody may$/],
    ["skewed", /^403 RequestTimeTooSkewed: the clock of this machine is 86\d{3} s behind the store's/],
  ])("is one line in the log a minute, and 503 for callers without its words: %s", async (fault, reason) => {
    let now = 0;
    const log: EngineLogEntry[] = [];
    const settings = { ...server.settings(), limits: { attempts: 1 } };
    const health = new StoreHealth(
      settings,
      (entry) => void log.push(entry),
      () => now,
    );
    const store = new ObjectStore(settings, health);
    server.fault = () => fault;
    for (; now < 130_000; now += 10_000) {
      await expect(store.list("")).rejects.toMatchObject({
        ...{ code: "unavailable", retryAfterSeconds: 1, message: "the object store cannot be used now" },
      });
      expect(health.isFailing).toBe(true);
    }
    expect(log).toHaveLength(3);
    const { endpoint, bucket } = settings;
    for (const { level, message, error } of log) {
      expect([level, message]).toEqual([
        "error",
        `the object store cannot be used: bucket ${bucket} at ${endpoint}`,
      ]);
      expect(error).toMatch(reason);
    }
    server.fault = () => null;
    expect(await store.get("missing", "0-")).toBe(null);
    expect(health.isFailing).toBe(false);
  });
});
