import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { CorruptDataError } from "./corrupt-data-error.ts";
import { createDiskSpace } from "./disk-space.ts";
import { type EnvironmentOptions, LmdbEnvironment } from "./lmdb-environment.ts";
import { LmdbRecordStore } from "./lmdb-record-store.ts";
import { idKey, offsetKey } from "./record-keys.ts";
import { recordStoreSuite, storedRecord } from "./record-store.suite.ts";

const root = mkdtempSync(join(tmpdir(), "sheaf-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

recordStoreSuite({
  name: "LMDB record store",
  open: () => new LmdbRecordStore(optionsFor(join(root, String(folders++)))),
});

function optionsFor(folder: string, freeBytes?: () => number): EnvironmentOptions {
  const diskUsage = freeBytes && (() => ({ free: freeBytes(), size: 1e12 }));
  return { folder, name: "collections/ab/test", disk: createDiskSpace(tmpdir(), { diskUsage }) };
}

async function filledStore(folder: string): Promise<LmdbRecordStore> {
  const store = new LmdbRecordStore(optionsFor(folder));
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
    const store = new LmdbRecordStore(optionsFor(folder));
    expect([...store.scan(0)]).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    await store.close();
  });

  it("remembers everything when it is opened again", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    const store = new LmdbRecordStore(optionsFor(folder));
    expect([...store.scan(0)]).toEqual([storedRecord(0), storedRecord(1), storedRecord(2)]);
    expect(store.head).toEqual({ sequence: 3, nextOffset: 3, dimension: 2 });
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
    const store = new LmdbRecordStore(optionsFor(folder, () => 1_000_000));
    const write = store.apply(({ head }) => ({ head, puts: [storedRecord(3)], removes: [] }));
    await expect(write).rejects.toMatchObject({ code: "storage_full", status: 507 });
    await store.apply(({ head }) => ({ head, puts: [], removes: [{ id: "r1", offset: 1, sequence: 4 }] }));
    expect([...store.scan(0)].map(({ id }) => id)).toEqual(["r0", "r2"]);
    await store.close();
  });

  it("refuses to make an environment on a full disk", async () => {
    const folder = join(temporaryFolder(), "c");
    const store = new LmdbRecordStore(optionsFor(folder, () => 0));
    const write = store.apply(({ head }) => ({ head, puts: [storedRecord(0)], removes: [] }));
    await expect(write).rejects.toMatchObject({ code: "storage_full" });
    expect(existsSync(folder)).toBe(false);
    await store.close();
  });

  it("names the key of a damaged record, and reads its neighbours", async () => {
    const folder = join(temporaryFolder(), "c");
    await (await filledStore(folder)).close();
    await tamper(folder, offsetKey(1), (value) => value.reverse());
    const store = new LmdbRecordStore(optionsFor(folder));
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
    const store = new LmdbRecordStore(optionsFor(folder));
    expect(() => store.find("r1")).toThrow("leads to offset 2 of another record");
    await store.close();
  });
});

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
