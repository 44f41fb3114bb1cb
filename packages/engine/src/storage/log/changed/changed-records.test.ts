/** Checkpoints that are made of the one before and the log, beside those of a store that has all records. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Cancellation } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { MemoryFiles } from "../../files/memory-files.ts";
import { createDiskSpace } from "../../folder/disk-space.ts";
import { ownEnvironment } from "../../lmdb/own-environment.ts";
import { MemoryRecordStore } from "../../memory-record-store.ts";
import { storedRecord } from "../../record-store.suite.ts";
import type { RemovedRecord } from "../../record-store.ts";
import { runSteps } from "../../steps.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { encodeBatch } from "../batch-codec.ts";
import type { CheckpointFiles } from "../checkpoint-files.ts";
import { writeCheckpoint } from "../checkpoint-log.ts";
import type { LogHead } from "../commit-log.ts";
import { MemoryCommitLog } from "../memory-commit-log.ts";
import { partitionOf } from "../partition-of.ts";
import { readCheckpoint } from "../read-checkpoint.ts";
import { MemoryView, recordFilesIn } from "../testing/memory-view.ts";
import { writeRecordFile } from "../write-record-file.ts";
import { ChangedRecords } from "./changed-records.ts";
import type { ChangePlace } from "./log-changes.ts";
import { type RecordSource, type Scratch, StoredRecords } from "./record-source.ts";

const NO_STATE = new Uint8Array(0);
const NEVER = new Cancellation();
const LOG = { collection: "c", epoch: "epoch" };

let state = Number(process.env["SHEAF_CHANGED_SEED"] ?? Date.now()) >>> 0;
console.log(`changed records: SHEAF_CHANGED_SEED=${state}`);
function below(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}

/** A collection, in a log and in a store that has all records. */
class Written {
  readonly log = new MemoryCommitLog();
  readonly store = new MemoryRecordStore();
  readonly partitions: number;
  readonly objects = new Map<string, Uint8Array>();
  files: CheckpointFiles | undefined;
  readonly scratch = { folder: join(temporaryFolder(), "scratch"), disk: createDiskSpace("/tmp") };
  position: LogHead = { epoch: "epoch", sequence: 0, batch: "" };

  constructor(partitions: number, hasFiles: boolean) {
    this.partitions = partitions;
    if (hasFiles) this.useFiles();
  }

  static async make(partitions: number, hasFiles = true): Promise<Written> {
    const written = new Written(partitions, hasFiles);
    await written.log.create("c", { epoch: "epoch", state: NO_STATE });
    return written;
  }

  useFiles(): void {
    this.files = recordFilesIn(new MemoryFiles(this.objects));
  }

  /** One batch. */
  async write(puts: readonly StoredRecord[], removes: readonly RemovedRecord[] = []): Promise<void> {
    const { head } = this.store;
    const added = puts.filter(({ offset }) => offset >= head.nextOffset).length - removes.length;
    const usage = { records: added, bytes: 0 };
    const sequence = Math.max(head.sequence, ...[...puts, ...removes].map((each) => each.sequence));
    const nextOffset = Math.max(head.nextOffset, ...puts.map(({ offset }) => offset + 1));
    const change = { head: { sequence, nextOffset, dimension: 2 }, puts, removes };
    await this.store.apply(() => change);
    const parts = runSteps(encodeBatch(change, { partitions: this.partitions }));
    const batch = { id: randomUUID(), sequence, parts };
    const append = { batches: [batch], state: NO_STATE, usage };
    assert.equal(await this.log.append("c", this.position, append), "done");
    this.position = { epoch: "epoch", sequence, batch: batch.id };
  }

  /** Adds, replaces and removes some. */
  async change(): Promise<void> {
    let { sequence, nextOffset } = this.store.head;
    const known = [...this.store.scan(0)];
    const [puts, removes]: [StoredRecord[], RemovedRecord[]] = [[], []];
    for (let i = below(12); i >= 0; i--) {
      const old = known.splice(below(known.length + 4), 1)[0];
      sequence += 1;
      const document = `${sequence} `.repeat(below(200));
      const metadata = below(2) === 0 ? null : new Map([["n", BigInt(sequence)]]);
      if (old === undefined) {
        const id = `r${below(1_000)}-${nextOffset}`;
        puts.push(storedRecord(nextOffset++, { sequence, id, document, metadata }));
      } else if (below(2) === 0) removes.push({ id: old.id, offset: old.offset, sequence });
      else puts.push({ ...old, sequence, document, metadata });
    }
    await this.write(puts, removes);
  }

  async changed(until?: number): Promise<ChangedRecords> {
    const { log, files, partitions } = this;
    const scratch = { ...this.scratch, folder: join(this.scratch.folder, randomUUID()) };
    const options = { ...LOG, log, files, partitions, scratch, until, entries: entriesIn(scratch) };
    const records = await ChangedRecords.read(options, NEVER);
    onTestFinished(() => records.close());
    return records;
  }

  /** Trims the log to what `source` has, or to what was changed. */
  async trim(source?: RecordSource, signal = NEVER): Promise<string> {
    const { log, files, position } = this;
    const at = { collection: "c", state: position };
    return writeCheckpoint({ log, files }, at, source ?? (await this.changed()), signal);
  }

  get whole(): StoredRecords {
    return new StoredRecords(this.store, this.partitions);
  }

  /** What a server reads that begins with the checkpoint. */
  async read(partition?: number): Promise<readonly StoredRecord[]> {
    const view = new MemoryView();
    const part = partition === undefined ? undefined : { partition, partitions: this.partitions };
    await readCheckpoint({ log: this.log, files: this.files }, "c", view, { part });
    assert.deepEqual(view.head, this.store.head);
    return asText(view.scan(0)).toSorted((a, b) => a.offset - b.offset);
  }
}

function entriesIn(scratch: Scratch): ChangePlace {
  return ownEnvironment({ ...scratch, name: "changes" });
}

async function fileOf(source: RecordSource): Promise<Uint8Array> {
  const files = new Map<string, Uint8Array>();
  await writeRecordFile(new MemoryFiles(files), "a.records", source, NEVER);
  return files.get("a.records")!;
}

function asText(records: Iterable<StoredRecord>): readonly StoredRecord[] {
  return [...records].map((record) => ({ ...record, document: String(record.document ?? "") }));
}

/** Of all files in it, and below it. */
function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files.reduce(
    (sum, file) => sum + (file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0),
    0,
  );
}

async function expectSame(written: Written): Promise<void> {
  const changed = await written.changed();
  expect([changed.head, changed.batch]).toEqual([written.store.head, written.position.batch]);
  if (written.files === undefined) {
    const found: StoredRecord[] = [];
    for await (const piece of changed.pieces(null, NEVER)) found.push(...piece);
    expect(asText(found)).toEqual(asText(written.store.scan(0)));
  } else expect(Buffer.compare(await fileOf(changed), await fileOf(written.whole))).toBe(0);
}

async function expectRead(written: Written): Promise<void> {
  const all = asText(written.store.scan(0));
  expect(await written.read()).toEqual(all);
  for (let n = 0; written.partitions > 1 && n < written.partitions; n++)
    expect(await written.read(n)).toEqual(all.filter(({ id }) => partitionOf(id, written.partitions) === n));
}

describe("what a log has changed, over the checkpoint before", () => {
  it.each([1, 2, 5])(
    "is to the byte what a store of all records writes, in %i partitions",
    async (partitions) => {
      const written = await Written.make(partitions);
      for (let round = 0; round < 12; round++) {
        for (let batches = below(5); batches >= 0; batches--) await written.change();
        await expectSame(written);
        if (below(3) === 0) continue;
        expect(await written.trim()).toBe("done");
        await expectRead(written);
      }
    },
  );

  it.each([1, 3])(
    "is written into a log, too, in %i partitions, and from there into a file",
    async (partitions) => {
      const written = await Written.make(partitions, false);
      for (let round = 0; round < 6; round++) {
        for (let batches = below(5); batches >= 0; batches--) await written.change();
        expect(await written.trim()).toBe("done");
        await expectRead(written);
      }
      await written.change();
      written.useFiles();
      await expectSame(written);
      await written.trim();
      await expectRead(written);
    },
  );

  it("is the same over a checkpoint that was not cut by partition", async () => {
    for (const hasFiles of [true, false]) {
      const written = await Written.make(3, hasFiles);
      for (let i = 0; i < 10; i++) await written.change();
      await written.trim(new StoredRecords(written.store, 1));
      for (let i = 0; i < 3; i++) await written.change();
      await expectSame(written);
      expect(await written.trim()).toBe("done");
      await expectRead(written);
    }
  });

  it("is of the state that was asked for, and knows how many records the log has at its head", async () => {
    const written = await Written.make(2);
    await written.change();
    const [before, head] = [await fileOf(written.whole), written.store.head];
    await written.change();
    const changed = await written.changed(head.sequence);
    expect([changed.head, changed.count]).toEqual([head, undefined]);
    expect(Buffer.compare(await fileOf(changed), before)).toBe(0);
    expect((await written.changed()).count).toBe([...written.store.scan(0)].length);
  });

  it("may be nothing at all, and all that was there may be gone", async () => {
    const written = await Written.make(2);
    await written.write([storedRecord(0), storedRecord(1)]);
    await written.trim();
    expect(await written.trim()).toBe("moved");
    await written.write(
      [],
      [0, 1].map((offset) => ({ id: `r${offset}`, offset, sequence: 3 + offset })),
    );
    await expectSame(written);
    expect(await written.trim()).toBe("done");
    expect(await written.read()).toEqual([]);
  });

  it("may be far larger than what it takes the place of", async () => {
    const written = await Written.make(1);
    await written.write(Array.from({ length: 50 }, (_, i) => storedRecord(i)));
    await written.trim();
    const document = "long ".repeat(200_000);
    for (let i = 0; i < 20; i++) await written.write([storedRecord(i, { sequence: 51 + i, document })]);
    await expectSame(written);
    const pieces = [];
    for await (const piece of (await written.changed()).pieces(null, NEVER)) pieces.push(piece);
    expect(
      Math.max(...pieces.map((piece) => piece.filter((record) => record.document !== null).length)),
    ).toBeLessThan(8);
  });
});

describe("while it is written", () => {
  const RECORDS = 2_000;
  const PARTITIONS = 4;

  async function large(): Promise<Written> {
    const written = await Written.make(PARTITIONS);
    for (let from = 0; from < RECORDS; from += 100) {
      const offsets = Array.from({ length: 100 }, (_, i) => from + i);
      await written.write(
        offsets.map((offset) => storedRecord(offset, { document: `${offset} `.repeat(1_500) })),
      );
    }
    await written.trim();
    for (let i = 0; i < 50; i++)
      await written.write([storedRecord(40 * i, { sequence: RECORDS + 1 + i, document: "changed" })]);
    return written;
  }

  it("takes no more of the disk than what has changed, less than the records of a partition", async () => {
    const written = await large();
    const parts = [...written.objects.values()].map(({ length }) => length / PARTITIONS);
    const changed = await written.changed();
    let [most, sizes] = [0, 0];
    const watched: RecordSource = {
      ...{ head: changed.head, partitions: PARTITIONS, scratch: changed.scratch },
      async *pieces(...asked) {
        for await (const piece of changed.pieces(...asked)) {
          most = Math.max(most, bytesIn(changed.scratch.folder));
          sizes += piece.length;
          yield piece;
        }
        most = Math.max(most, bytesIn(changed.scratch.folder));
      },
    };
    expect(await written.trim(watched)).toBe("done");
    expect(sizes).toBe(RECORDS);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(parts[0]! / 4);
    await expectRead(written);
  });

  it.each([true, false])(
    "and broken off between two partitions or batches, nothing of it counts",
    async (hasFiles) => {
      const written = hasFiles ? await large() : await Written.make(2, false);
      if (!hasFiles) for (let i = 0; i < 5; i++) await written.change();
      const [before, objects] = [await written.log.checkpoint("c"), [...written.objects.keys()]];
      const closing = new Cancellation();
      const changed = await written.changed();
      let asked = 0;
      const breaking: RecordSource = {
        ...{ head: changed.head, partitions: written.partitions, scratch: changed.scratch },
        async *pieces(partition) {
          asked += 1;
          if (partition !== 0) closing.abort(new Error("the end"));
          yield* changed.pieces(partition, closing);
        },
      };
      await expect(written.trim(breaking, closing)).rejects.toMatchObject({ code: "cancelled" });
      expect(asked).toBe(hasFiles ? 2 : 1);
      expect(await written.log.checkpoint("c")).toEqual(before);
      expect([...written.objects.keys()]).toEqual(objects);
      await expectSame(written);
      expect(await written.trim()).toBe("done");
      await expectRead(written);
    },
  );

  it("says so where the checkpoint before is damaged or missing, and leaves the log as it is", async () => {
    const written = await large();
    const [[name, bytes]] = [...written.objects] as [[string, Uint8Array]];
    const head = await written.log.heads(["c"]);
    for (const object of [flipped(bytes), undefined]) {
      if (object === undefined) written.objects.delete(name);
      else written.objects.set(name, object);
      await expect(written.trim()).rejects.toMatchObject({ code: "collection_unavailable" });
      expect(await written.log.heads(["c"])).toEqual(head);
    }
    written.objects.set(name, bytes);
    await expectSame(written);
  });

  it("is given up where another server has taken the checkpoint before away", async () => {
    const written = await large();
    const changed = await written.changed();
    await written.trim();
    const [name] = [...written.objects.keys()];
    written.objects.delete(name!);
    await expect(fileOf(changed)).rejects.toMatchObject({ name: "ViewVoid" });
    expect(await written.trim(changed)).toBe("moved");
  });

  it("is given up where the disk is full, of which its server says so", async () => {
    const written = await large();
    let free = 1e9;
    const disk = createDiskSpace("/tmp", { diskUsage: () => ({ free, size: 1e12 }), diskReserve: 1e6 });
    const { log, files, partitions } = written;
    const scratch = { folder: temporaryFolder(), disk };
    const options = { ...LOG, log, files, partitions, scratch };
    const changed = await ChangedRecords.read({ ...options, entries: entriesIn(scratch) }, NEVER);
    onTestFinished(() => changed.close());
    free = 0;
    await expect(fileOf(changed)).rejects.toMatchObject({ code: "storage_full" });
    const entries = entriesIn({ folder: temporaryFolder(), disk });
    await expect(ChangedRecords.read({ ...options, entries }, NEVER)).rejects.toMatchObject({
      code: "storage_full",
    });
  });
});

function flipped(bytes: Uint8Array): Uint8Array {
  const changed = Buffer.from(bytes);
  changed[changed.length >> 2]! ^= 0x10;
  return changed;
}
