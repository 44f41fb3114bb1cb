import { describe, expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { MemoryFiles } from "../files/memory-files.ts";
import { SegmentDamaged, SegmentMissing } from "../files/segment-damaged.ts";
import { MemoryRecordStore } from "../memory-record-store.ts";
import { storedRecord } from "../record-store.suite.ts";
import type { StoredRecord } from "../stored-record.ts";
import { StoredRecords } from "./changed/record-source.ts";
import { type ViewedPart, partitionOf } from "./partition-of.ts";
import { RecordFile } from "./record-file.ts";
import { writeRecordFile } from "./write-record-file.ts";

const NAME = "a.records";
/** Longer than a piece, so that it is read from several. */
const LONG = "x".repeat(9_000_000);

function recordOf(i: number): StoredRecord {
  const document = i === 40 ? LONG : `${i} `.repeat(i * 100);
  return storedRecord(2 * i, { sequence: i + 1, document, metadata: new Map([["n", BigInt(i)]]) });
}

async function written(records: readonly StoredRecord[], partitions?: number) {
  const files = new Map<string, Uint8Array>();
  const store = new MemoryRecordStore();
  const head = { sequence: 1_000, nextOffset: 2_000, dimension: records.length > 0 ? 2 : null };
  await store.apply(() => ({ head, puts: records, removes: [] }));
  const source = new StoredRecords(store, partitions);
  await writeRecordFile(new MemoryFiles(files), NAME, source, new Cancellation());
  return { files, store };
}

async function readAll(files: Map<string, Uint8Array>, part?: ViewedPart): Promise<StoredRecord[]> {
  const file = await RecordFile.open(new MemoryFiles(files), NAME, { part });
  const records: StoredRecord[] = [];
  for await (const { puts } of file.changes("c")) records.push(...puts);
  await file.close();
  return records;
}

const asText = (records: Iterable<StoredRecord>): readonly StoredRecord[] =>
  [...records].map((record) => ({ ...record, document: String(record.document ?? "") }));

it("gives the records and the head that were written, in batches that a store takes", async () => {
  const { files, store } = await written(Array.from({ length: 60 }, (_, i) => recordOf(i)));
  const file = await RecordFile.open(new MemoryFiles(files), NAME);
  expect([file.head, file.records]).toEqual([store.head, 60]);
  const copy = new MemoryRecordStore();
  let batches = 0;
  for await (const change of file.changes("c")) {
    await copy.apply(() => change);
    batches++;
  }
  expect(batches).toBeGreaterThan(2);
  expect(asText(copy.scan(0))).toEqual(asText(store.scan(0)));
  expect(copy.head).toEqual(store.head);
});

it("may have no record", async () => {
  const { files } = await written([]);
  expect(await readAll(files)).toEqual([]);
});

it("is found damaged whichever byte is another one, before a record of it is given", async () => {
  const { files } = await written(Array.from({ length: 20 }, (_, i) => recordOf(i)));
  const whole = files.get(NAME)!;
  const expected = asText(await readAll(files));
  const padding: number[] = [];
  for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 60)) {
    const changed = Buffer.from(whole);
    changed[at]! ^= 0x20;
    files.set(NAME, changed);
    const found = await readAll(files).catch((error: unknown) => error);
    if (found instanceof SegmentDamaged) continue;
    // Bytes between sections are nobody's.
    expect(asText(found as StoredRecord[])).toEqual(expected);
    expect(whole[at]).toBe(0);
    padding.push(at);
  }
  expect(padding.length).toBeLessThan(12);
  files.set(NAME, whole.subarray(0, whole.length - 1));
  await expect(readAll(files)).rejects.toThrow(SegmentDamaged);
  files.delete(NAME);
  await expect(readAll(files)).rejects.toThrow(SegmentMissing);
});

const PARTITIONS = 4;
const PARTS = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, partitions: PARTITIONS }));

function own({ partition }: ViewedPart): (record: StoredRecord) => boolean {
  return ({ id }) => partitionOf(id, PARTITIONS) === partition;
}

describe("of a collection in partitions", () => {
  const records = Array.from({ length: 60 }, (_, i) => recordOf(i));

  it("gives those of a partition alone, and all of them by ascending offset", async () => {
    const { files, store } = await written(records, PARTITIONS);
    for (const part of PARTS) {
      const file = await RecordFile.open(new MemoryFiles(files), NAME, { part });
      const expected = records.filter(own(part));
      expect([file.isOfPart, file.head, file.records]).toEqual([true, store.head, expected.length]);
      const directory = await file.readDirectory();
      const rows = expected.map(({ offset }) => directory.rowFrom(offset));
      expect(asText(await file.read(directory, rows))).toEqual(asText(expected));
      await file.close();
      expect(asText(await readAll(files, part))).toEqual(asText(expected));
    }
    expect(asText(await readAll(files))).toEqual(asText(records));
  });

  it("may have nothing of some of them, and is read as a whole where it was not cut", async () => {
    const { files } = await written([recordOf(1)], PARTITIONS);
    for (const part of PARTS) expect(await readAll(files, part)).toHaveLength(own(part)(recordOf(1)) ? 1 : 0);
    expect(await readAll((await written([], PARTITIONS)).files, PARTS[0])).toEqual([]);
    const { files: whole } = await written(records);
    expect(asText(await readAll(whole, PARTS[2]))).toEqual(asText(records));
  });

  it("is damaged for those partitions alone whose bytes are other ones", async () => {
    const { files } = await written(
      Array.from({ length: 60 }, (_, i) => recordOf(i % 40)),
      PARTITIONS,
    );
    const whole = files.get(NAME)!;
    const broken = new Set<number>();
    for (const share of [0.1, 0.9]) {
      const changed = Buffer.from(whole);
      changed[Math.floor(whole.length * share)]! ^= 0x20;
      files.set(NAME, changed);
      const outcomes = await Promise.allSettled(PARTS.map((part) => readAll(files, part)));
      const failed = outcomes.flatMap(({ status }, n) => (status === "rejected" ? [n] : []));
      expect(failed.length).toBeLessThan(PARTITIONS);
      for (const n of failed) broken.add(n);
      await expect(readAll(files)).rejects.toThrow(SegmentDamaged);
    }
    expect(broken.size).toBeGreaterThan(1);
  });

  it("has to be read by none but the share of a partition, and by no program that does not know that", async () => {
    const some = Array.from({ length: 400 }, (_, i) => storedRecord(i, { document: `${i} `.repeat(3_000) }));
    const { files } = await written(some, PARTITIONS);
    const bytes = files.get(NAME)!;
    const inner = new MemoryFiles(files);
    let read = 0;
    const open: MemoryFiles["open"] = async (name) => {
      const file = (await inner.open(name))!;
      const tryRead = file.tryRead.bind(file);
      file.tryRead = (into, at) => {
        read += into.length;
        return tryRead(into, at);
      };
      return file;
    };
    for (const part of PARTS) {
      read = 0;
      const file = await RecordFile.open({ open }, NAME, { part });
      for await (const { puts } of file.changes("c")) expect(puts.every(own(part))).toBe(true);
      await file.close();
      // Shares differ, and what is read begins and ends where checksums do.
      expect(read).toBeLessThan((1.4 * bytes.length) / PARTITIONS);
    }
    const featuresOf = (file: Uint8Array): boolean =>
      Buffer.from(file.subarray(-2_000)).includes("partitions");
    expect([featuresOf(bytes), featuresOf((await written(some)).files.get(NAME)!)]).toEqual([true, false]);
  });
});
