/** A view whose records are fetched says what a store says that has them, after any changes. */
import { expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { randomOf } from "../../../segment/dense/testing/data-sets.ts";
import { DataAbsent, withData } from "../../data-absent.ts";
import { MemoryFiles } from "../../files/memory-files.ts";
import { MemoryRecordStore } from "../../memory-record-store.ts";
import { storedRecord } from "../../record-store.suite.ts";
import type { RecordStore, StoreChange } from "../../record-store.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { StoredRecords } from "../changed/record-source.ts";
import { RecordFile } from "../record-file.ts";
import { writeRecordFile } from "../write-record-file.ts";
import { ColdView } from "./cold-view.ts";

const SEED = Number(process.env["SHEAF_COLD_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`cold view: SHEAF_COLD_SEED=${SEED}`);
const random = randomOf(SEED);

function below(limit: number): number {
  return Math.floor(random() * limit);
}

/** Some records put, replaced and removed, one operation each. */
function someChange(store: MemoryRecordStore): StoreChange {
  let { sequence, nextOffset } = store.head;
  const [puts, removes]: [StoredRecord[], StoreChange["removes"][number][]] = [[], []];
  const known = [...store.scan(0)];
  for (let i = below(6); i >= 0; i--) {
    const old = known.splice(below(known.length + 1), 1)[0];
    sequence += 1;
    if (old !== undefined && below(3) === 0) removes.push({ id: old.id, offset: old.offset, sequence });
    else {
      const offset = old?.offset ?? nextOffset++;
      puts.push(
        storedRecord(offset, { sequence, id: `r${offset}`, document: `${sequence} `.repeat(below(60)) }),
      );
    }
  }
  return { head: { sequence, nextOffset, dimension: 2 }, puts, removes };
}

const whenWarm = (): never => expect.fail("nothing here takes all records");

async function makeCold(
  store: MemoryRecordStore,
  { mostReadBytes, onRead = () => {} }: { mostReadBytes?: number; onRead?: () => void } = {},
): Promise<ColdView> {
  const files = new MemoryFiles();
  await writeRecordFile(files, "a.records", new StoredRecords(store), new Cancellation());
  const { sequence } = store.head;
  const checkpoint = { epoch: "e", sequence, batch: "b", place: "a.records", bytes: 1 };
  const file = await RecordFile.open(files, "a.records");
  const read = file.read.bind(file);
  file.read = (...asked) => {
    onRead();
    return read(...asked);
  };
  return ColdView.open(file, checkpoint, mostReadBytes);
}

function changesIn(store: Pick<RecordStore, "changesAfter">, from: number): readonly unknown[] {
  const changes = store.changesAfter(from);
  if (changes === "trimmed") return expect.fail("they are trimmed");
  return Array.from(changes, ({ kind, sequence }) => [kind, sequence]);
}

const plain = (record: StoredRecord | null): unknown =>
  record && { ...record, document: record.document === null ? null : String(record.document) };

it("says what a store says that has all records", async () => {
  for (let round = 0; round < 40; round++) {
    const store = new MemoryRecordStore();
    for (let i = below(12); i > 0; i--) await store.apply(() => someChange(store));
    const cold = await makeCold(store);
    const from = store.head.sequence;
    for (let i = below(12); i > 0; i--) {
      const change = someChange(store);
      await store.apply(() => change);
      await cold.follow(() => change, `batch ${i}`);
      const record = [...store.scan(0)][0];
      if (record !== undefined)
        expect(plain(await withData({ whenWarm }, async () => cold.read(record.offset)))).toEqual(
          plain(record),
        );
    }
    expect(cold.head).toEqual(store.head);
    const offsets = Array.from({ length: store.head.nextOffset + 1 }, (_, offset) => offset);
    for (const offset of offsets) expect(cold.sequenceOf(offset)).toBe(store.read(offset)?.sequence ?? null);
    expect(changesIn(cold, from)).toEqual(changesIn(store, from));
    if (from > 0) expect(cold.changesAfter(from - 1)).toBe("trimmed");
    cold.requireWhole([...store.scan(0)].length);
    expect(() => cold.requireWhole(-1)).toThrow("records are there");
    await cold.prepare(offsets);
    expect(offsets.map((offset) => plain(cold.read(offset)))).toEqual(
      offsets.map((offset) => plain(store.read(offset))),
    );
    const half = below(offsets.length);
    const next = [...store.scan(half)].map(({ offset }) => offset).toSorted((a, b) => a - b)[0];
    expect(cold.offsetFrom(half)).toBe(next ?? null);
    const inOrder = (records: Iterable<StoredRecord>): readonly StoredRecord[] =>
      [...records].toSorted((a, b) => a.offset - b.offset);
    expect([...cold.scan(half)].map(plain)).toEqual(inOrder(store.scan(half)).map(plain));
    await cold.close();
  }
});

it("takes nothing for missing that is not here, and names all that a read needs", async () => {
  const store = new MemoryRecordStore();
  const puts = Array.from({ length: 400 }, (_, i) => storedRecord(i));
  await store.apply(() => ({ head: { sequence: 400, nextOffset: 400, dimension: 2 }, puts, removes: [] }));
  const cold = await makeCold(store);
  expect(() => cold.read(5)).toThrow(DataAbsent);
  expect(() => cold.readDocument(5)).toThrow(DataAbsent);
  expect(() => cold.offsetOf()).toThrow(DataAbsent);
  expect(() => [...cold.scan(0)]).toThrow(DataAbsent);
  expect(cold.read(400)).toBeNull();
  let attempts = 0;
  const wanted = [3, 150, 390];
  const read = async (): Promise<readonly (string | undefined)[]> => {
    attempts++;
    cold.require(wanted);
    return wanted.map((offset) => cold.read(offset)?.id);
  };
  expect(await withData({ whenWarm }, read)).toEqual(["r3", "r150", "r390"]);
  expect(attempts).toBe(2);
  expect(cold.offsetsAfter(397)).toEqual([397, 398, 399]);
  // A read that has stopped begins again on the view that has taken the place of this one.
  await cold.close();
  await cold.prepare([200]);
});

/** Ten records of 1 kB. */
async function tenRecords(): Promise<MemoryRecordStore> {
  const store = new MemoryRecordStore();
  const puts = Array.from({ length: 10 }, (_, i) => storedRecord(i, { document: "x".repeat(1_000) }));
  await store.apply(() => ({ head: { sequence: 10, nextOffset: 10, dimension: 2 }, puts, removes: [] }));
  return store;
}

const OFFSETS = Array.from({ length: 10 }, (_, i) => i);

it("fetches once what many reads want, and counts it once", async () => {
  let reads = 0;
  const cold = await makeCold(await tenRecords(), { mostReadBytes: 12_000, onRead: () => reads++ });
  await Promise.all(Array.from({ length: 20 }, () => cold.prepare(OFFSETS)));
  expect(reads).toBeLessThanOrEqual(2);
  for (let i = 0; i < 10; i++) await cold.prepare(OFFSETS);
  expect(OFFSETS.map((offset) => cold.read(offset)?.offset)).toEqual(OFFSETS);
  await cold.close();
});

it("has a read wait for all records that wants too many of them", async () => {
  const cold = await makeCold(await tenRecords(), { mostReadBytes: 5_000 });
  let isWarm = false;
  const source = { whenWarm: async () => void (isWarm = true) };
  await withData(source, async () => isWarm || cold.require(OFFSETS));
  expect(isWarm).toBe(true);
  expect(cold.offsetsAfter(2)).toBeNull();
  await cold.close();
});
