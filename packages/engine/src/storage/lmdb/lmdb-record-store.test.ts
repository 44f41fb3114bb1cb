import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { encodeChangeRuns } from "../values/change-runs.ts";
import { CorruptDataError } from "../corrupt-data-error.ts";
import { crc32c } from "../values/crc32c.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import type { EnvironmentOptions } from "./environment-options.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { LmdbRecordStore } from "./lmdb-record-store.ts";
import { ownEnvironment } from "./own-environment.ts";
import { RECORD_KEYS, changeKey, idKey, offsetKey } from "./record-keys.ts";
import { recordStoreSuite, storedRecord } from "../record-store.suite.ts";
import type { StoredChange } from "../record-store.ts";
import type { StoredRecord } from "../stored-record.ts";
import { encodeRecord } from "../values/value-codec.ts";
import { ValueWriter } from "../values/value-writer.ts";

const root = mkdtempSync(join(tmpdir(), "sheaf-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

recordStoreSuite({
  name: "LMDB record store",
  open: () => new LmdbRecordStore(ownEnvironment(optionsFor(join(root, String(folders++))))),
});

function optionsFor(folder: string, freeBytes?: () => number): EnvironmentOptions {
  const diskUsage = freeBytes && (() => ({ free: freeBytes(), size: 1e12 }));
  return { folder, name: "collections/ab/test", disk: createDiskSpace(tmpdir(), { diskUsage }) };
}

async function filledStore(folder: string): Promise<LmdbRecordStore> {
  const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
  await store.apply(() => ({
    head: { sequence: 3, nextOffset: 3, dimension: 2 },
    puts: [storedRecord(0), storedRecord(1), storedRecord(2)],
    removes: [],
  }));
  return store;
}

describe("LMDB record store on disk", () => {
  it("makes no file before the first write", async () => {
    const folder = join(temporaryFolder(), "c");
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect([...store.scan(0)]).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    await store.close();
  });

  it("remembers everything when it is opened again", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect([...store.scan(0)]).toEqual([storedRecord(0), storedRecord(1), storedRecord(2)]);
    expect(store.head).toEqual({ sequence: 3, nextOffset: 3, dimension: 2 });
    await store.close();
  });

  it("stores values that were encoded before as they are", async () => {
    const store = await filledStore(join(temporaryFolder(), "c"));
    const documents = ["as it was encoded", "long ".repeat(400_000)];
    const encoded = documents.map((document, i) => storedRecord(3 + i, { document }));
    await store.apply(() => ({
      head: { sequence: 5, nextOffset: 5, dimension: 2 },
      puts: encoded.map((record) => ({ ...record, document: "encoded here" })),
      values: encoded.map((record) => Buffer.from(encodeRecord(new ValueWriter(), record))),
      removes: [],
    }));
    expect(store.read(3)).toEqual(encoded[0]);
    expect(Buffer.from(store.read(4)?.document as Uint8Array).toString()).toBe(documents[1]);
    expect(store.find("r2")).toEqual(storedRecord(2));
    await store.close();
  });

  it("leaves nothing of a batch that fails between two puts", async () => {
    const store = await filledStore(join(temporaryFolder(), "c"));
    const tooLong = storedRecord(4, { id: "x".repeat(3_000) });
    const batch = store.apply(() => ({
      head: { sequence: 9, nextOffset: 9, dimension: 2 },
      puts: [storedRecord(3), tooLong],
      removes: [{ id: "r0", offset: 0, sequence: 9 }],
    }));
    await expect(batch).rejects.toThrow();
    expect([...store.scan(0)]).toEqual([storedRecord(0), storedRecord(1), storedRecord(2)]);
    expect(store.offsetOf("r3")).toBeNull();
    expect(store.head.sequence).toBe(3);
    await store.close();
  });

  it("refuses a write that would eat the reserve, and still removes", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder, () => 1_000_000)));
    const write = store.apply(({ head }) => ({ head, puts: [storedRecord(3)], removes: [] }));
    await expect(write).rejects.toMatchObject({ code: "storage_full", status: 507 });
    await store.apply(({ head }) => ({ head, puts: [], removes: [{ id: "r1", offset: 1, sequence: 4 }] }));
    expect([...store.scan(0)].map(({ id }) => id)).toEqual(["r0", "r2"]);
    await store.close();
  });

  it("refuses to make an environment on a full disk", async () => {
    const folder = join(temporaryFolder(), "c");
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder, () => 0)));
    const write = store.apply(({ head }) => ({ head, puts: [storedRecord(0)], removes: [] }));
    await expect(write).rejects.toMatchObject({ code: "storage_full" });
    expect(existsSync(folder)).toBe(false);
    await store.close();
  });

  it("names the key of a damaged record, and reads its neighbours", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    await tamper(folder, offsetKey(1), (value) => value.reverse());
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect(() => store.read(1)).toThrow(CorruptDataError);
    expect(() => store.read(1)).toThrow(
      "collections/ab/test, key 020000000000000001, byte 0: the checksum does not match",
    );
    expect(() => [...store.scan(0)]).toThrow(CorruptDataError);
    expect(store.read(0)).toEqual(storedRecord(0));
    expect(store.read(2)).toEqual(storedRecord(2));
    await store.close();
  });

  it("notices an id that leads to another record", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    await tamper(folder, idKey("r1"), (value) => (value[8] = 2));
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect(() => store.find("r1")).toThrow("leads to offset 2 of another record");
    await store.close();
  });
});

describe("changes in an LMDB record store", () => {
  it("begin with the first write in a folder of version 1", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    await makeVersion1(folder);
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect(store.completeFrom).toBe(3);
    store.requireWhole(3);
    expect(store.changesAfter(2)).toBe("trimmed");
    expect(changesAfter(store, 3)).toEqual([]);
    const record = storedRecord(1, { sequence: 4 });
    await store.apply(({ head }) => ({ head: { ...head, sequence: 4 }, puts: [record], removes: [] }));
    expect(store.completeFrom).toBe(3);
    expect(store.changesAfter(2)).toBe("trimmed");
    expect(changesAfter(store, 3)).toEqual([{ kind: "put", sequence: 4, record }]);
    store.requireWhole(3);
    await store.close();
  });

  it("are a few keys for many records, and all come", async () => {
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(join(temporaryFolder(), "c"))));
    const records = Array.from({ length: 12_000 }, (_, offset) => storedRecord(offset));
    const put = (puts: readonly StoredRecord[], sequence: number): Promise<unknown> =>
      store.apply(() => ({ head: { sequence, nextOffset: 12_000, dimension: 2 }, puts, removes: [] }));
    await put(records, 12_000);
    const used = store.usedBytes;
    // Every second one again: each is a run, and there are more keys of them than are read at once.
    const again = records
      .filter(({ offset }) => offset % 2 === 0)
      .map((r, i) => ({ ...r, sequence: 12_001 + i }));
    for (let from = 0; from < again.length; from += 20)
      await put(again.slice(from, from + 20), 12_020 + from);
    expect(store.usedBytes - used).toBeLessThan(1.5 * 300 * 2_100);
    store.requireWhole(12_000);
    const changes = changesAfter(store, 11_000);
    expect(changes.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 7_000 }, (_, i) => 11_001 + i),
    );
    expect(changes.filter(({ kind }) => kind === "put")).toHaveLength(6_500);
    await store.close();
  });

  it("are forgotten in bounded numbers, whatever has gathered", async () => {
    const store = new LmdbRecordStore(ownEnvironment(optionsFor(join(temporaryFolder(), "c"))));
    const records = Array.from({ length: 3_000 }, (_, offset) => storedRecord(offset));
    const head = { sequence: 3_000, nextOffset: 3_000, dimension: 2 };
    await store.apply(() => ({ head, puts: records, removes: [] }));
    const removes = records.map(({ id, offset }) => ({ id, offset, sequence: offset + 3_001 }));
    await store.apply(() => ({ head: { ...head, sequence: 6_000 }, puts: [], removes }));
    const left: number[] = [];
    for (let sequence = 106_000; left.at(-1) !== 0; sequence += 300) {
      await store.apply(() => ({ head: { ...head, sequence }, puts: [], removes: [] }));
      left.push([...store.removedAfter(0)].length);
    }
    expect(left).toEqual([2_488, 1_976, 1_464, 952, 440, 0]);
    await store.close();
  });

  it("refuse a damaged key, and a record that is older than its change", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    await tamper(folder, changeKey(3), (value) => value.reverse());
    let store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    const all = (): unknown => changesAfter(store, 0);
    expect(all).toThrow("collections/ab/test, key 040000000000000003, byte 0: the checksum does not match");
    await store.close();
    await tamper(folder, changeKey(3), (value) =>
      value.set(encodeChangeRuns(new ValueWriter(), [{ sequence: 3, offset: 1, count: 1 }])),
    );
    store = new LmdbRecordStore(ownEnvironment(optionsFor(folder)));
    expect(all).toThrow("holds operation 2, and 3 put it later");
    await store.close();
  });
});

function changesAfter(store: LmdbRecordStore, sequence: number): StoredChange[] {
  const changes = store.changesAfter(sequence);
  if (changes === "trimmed") throw new Error(`changes after ${sequence} are trimmed`);
  return [...changes];
}

/** As the build before version 2 of the data folder left it. */
async function makeVersion1(folder: string): Promise<void> {
  const environment = new LmdbEnvironment(optionsFor(folder));
  await environment.transact(() => {
    environment.put(RECORD_KEYS.head, version1Head(environment.get(RECORD_KEYS.head)!));
    const changes = { start: changeKey(0), end: RECORD_KEYS.afterChanges };
    for (const { key } of environment.entries(changes)) environment.remove(key);
  });
  await environment.close();
}

function version1Head(value: Uint8Array): Uint8Array {
  const head = Buffer.from(value.subarray(0, 28));
  head[6] = 0;
  head.writeUInt32LE(crc32c(head, 4), 0);
  return head;
}

async function tamper(folder: string, key: Uint8Array, change: (value: Uint8Array) => void): Promise<void> {
  const environment = new LmdbEnvironment(optionsFor(folder));
  await environment.transact(() => {
    const value = environment.get(key);
    if (value === null) throw new Error("no such key");
    change(value);
    environment.put(key, value);
  });
  await environment.close();
}
