/** Writes the records of a collection at one state as one file, for `RecordFile`. */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { PARTITIONS_FEATURE } from "../files/footer.ts";
import { type FileIdentity, writeSections } from "../files/section-writer.ts";
import type { SegmentFiles } from "../files/segment-files.ts";
import type { RecordStore } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { ValueWriter } from "../values/value-writer.ts";
import { encodeValue } from "./batch-codec.ts";
import { partitionOf } from "./partition-of.ts";
import { type FileHead, type FilePart, PIECE_BYTES, SECTION } from "./record-file.ts";

/**
 * Writes the records of a store that nobody writes. In memory are a piece, and 24 bytes for each record, or 32 where the
 * collection has several partitions.
 */
export async function writeRecordFile(
  files: SegmentFiles,
  name: string,
  store: RecordStore,
  { partitions = 1, signal }: WriteOptions,
): Promise<FileIdentity> {
  const { head } = store;
  const isDivided = partitions > 1;
  return writeSections(files, name, async (writer) => {
    if (isDivided) writer.needFeature(PARTITIONS_FEATURE);
    const directory: Float64Array<ArrayBuffer>[] = [];
    const parts: FilePart[] = [];
    await writer.stream(SECTION.records);
    let end = 0;
    for (const records of isDivided ? await recordsByPartition(store, partitions, signal) : [allOf(store)]) {
      const [from, part] = [end, { records: 0, bytes: 0 }];
      for (let isMore = true; isMore;) {
        throwIfAborted(signal);
        const piece: Piece = await runInTurns(pieceOf(records, end));
        for (const value of piece.values) await writer.write(value);
        directory.push(Float64Array.from(piece.rows));
        part.records += piece.values.length;
        ({ end, isMore } = piece);
      }
      parts.push({ ...part, bytes: end - from });
    }
    await writer.stream(SECTION.directory);
    for (const rows of directory) await writer.write(new Uint8Array(rows.buffer));
    await writer.stream(SECTION.head);
    const records = parts.reduce((sum, part) => sum + part.records, 0);
    const written: FileHead = { ...head, records, ...(isDivided && { parts }) };
    await writer.write(Buffer.from(JSON.stringify(written)));
  });
}

export interface WriteOptions {
  /** Of the collection; one where it is left out. */
  readonly partitions?: number | undefined;
  readonly signal: CancelSignal;
}

/** Where a store has them, by ascending offset; a scan ends within its turn. */
function* allOf(store: RecordStore): Generator<StoredRecord, undefined> {
  for (let from = 0; ;) {
    const [record] = store.scan(from);
    if (record === undefined) return;
    yield record;
    from = record.offset + 1;
  }
}

/** Of each partition, in the order of their numbers. Goes through the store once for that, and reads each record again. */
async function recordsByPartition(
  store: RecordStore,
  partitions: number,
  signal: CancelSignal,
): Promise<readonly Generator<StoredRecord, undefined>[]> {
  const offsets = Array.from({ length: partitions }, (): number[] => []);
  await runInTurns(
    (function* () {
      for (const { id, offset } of allOf(store)) {
        offsets[partitionOf(id, partitions)]!.push(offset);
        yield;
      }
    })(),
    { onRunning: () => throwIfAborted(signal) },
  );
  return offsets.map((own) => recordsAt(store, own));
}

function* recordsAt(store: RecordStore, offsets: readonly number[]): Generator<StoredRecord, undefined> {
  for (const offset of offsets) yield store.read(offset)!;
}

interface Piece {
  readonly values: readonly Uint8Array[];
  readonly rows: readonly number[];
  /** Of its last record, in the section. */
  readonly end: number;
  /** Whether records may follow. */
  readonly isMore: boolean;
}

function* pieceOf(records: Generator<StoredRecord, undefined>, start: number): Generator<void, Piece> {
  const [values, rows]: [Uint8Array[], number[]] = [[], []];
  const scratch = new ValueWriter();
  let end = start;
  while (end - start < PIECE_BYTES) {
    const { value: record } = records.next();
    if (record === undefined) return { values, rows, end, isMore: false };
    const value = yield* encodeValue(scratch, record);
    values.push(value);
    end += value.length;
    rows.push(record.offset, record.sequence, end);
    yield;
  }
  return { values, rows, end, isMore: true };
}
