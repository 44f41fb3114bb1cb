import { expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { MemoryFiles } from "../files/memory-files.ts";
import { SegmentDamaged, SegmentMissing } from "../files/segment-damaged.ts";
import { MemoryRecordStore } from "../memory-record-store.ts";
import { storedRecord } from "../record-store.suite.ts";
import type { StoredRecord } from "../stored-record.ts";
import { RecordFile, writeRecordFile } from "./record-file.ts";

const NAME = "a.records";
/** Longer than a piece, so that it is read from several. */
const LONG = "x".repeat(9_000_000);

function recordOf(i: number): StoredRecord {
  const document = i === 40 ? LONG : `${i} `.repeat(i * 100);
  return storedRecord(2 * i, { sequence: i + 1, document, metadata: new Map([["n", BigInt(i)]]) });
}

async function written(records: readonly StoredRecord[]) {
  const files = new Map<string, Uint8Array>();
  const store = new MemoryRecordStore();
  const head = { sequence: 1_000, nextOffset: 2_000, dimension: records.length > 0 ? 2 : null };
  await store.apply(() => ({ head, puts: records, removes: [] }));
  await writeRecordFile(new MemoryFiles(files), NAME, store, new Cancellation());
  return { files, store };
}

async function readAll(files: Map<string, Uint8Array>): Promise<StoredRecord[]> {
  const file = await RecordFile.open(new MemoryFiles(files), NAME);
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
