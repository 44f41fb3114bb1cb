/**
 * The records of a collection at one state as one file, so that an object store can keep them: the sections of an index file
 * (docs/internals/storage-format.md), with a checksum for each 64 KiB. Each record lies in it as it is in a store, and a
 * directory says where, so that a reader may go through all of them or fetch a few.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged, SegmentMissing } from "../files/segment-damaged.ts";
import type { ReadOptions, SegmentFiles } from "../files/segment-files.ts";
import { type SectionReader, openAnySections } from "../files/section-reader.ts";
import { type FileIdentity, writeSections } from "../files/section-writer.ts";
import type { RecordStore, StoreChange, StoreHead } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { ValueWriter } from "../values/value-writer.ts";
import { lowerBound } from "../lower-bound.ts";
import { decodeValue, encodeValue } from "./batch-codec.ts";

/** Written and read at once, and about as many make a batch. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Records that are no farther apart are fetched with what lies between. */
const GAP_BYTES = 256 * 1024;
/** Of the directory, per record: offset, sequence number and where the record ends, each an f64. */
const ROW_NUMBERS = 3;
const ROW_BYTES = 8 * ROW_NUMBERS;
/** Of the directory, read at once. */
const ROWS_AT_ONCE = 32_768;
const SECTION = { records: "records", directory: "directory", head: "head" } as const;

/** Writes the records of a store that nobody writes. In memory are a piece, and 24 bytes for each record. */
export async function writeRecordFile(
  files: SegmentFiles,
  name: string,
  store: RecordStore,
  signal: CancelSignal,
): Promise<FileIdentity> {
  const { head } = store;
  return writeSections(files, name, async (writer) => {
    const directory: Float64Array<ArrayBuffer>[] = [];
    await writer.stream(SECTION.records);
    let [end, records]: [number, number] = [0, 0];
    for (let from: number | null = 0; from !== null;) {
      throwIfAborted(signal);
      const piece: Piece = await runInTurns(pieceFrom(store, from, end));
      for (const value of piece.values) await writer.write(value);
      directory.push(Float64Array.from(piece.rows));
      records += piece.values.length;
      ({ end, from } = piece);
    }
    await writer.stream(SECTION.directory);
    for (const rows of directory) await writer.write(new Uint8Array(rows.buffer));
    await writer.stream(SECTION.head);
    await writer.write(Buffer.from(JSON.stringify({ ...head, records })));
  });
}

interface Piece {
  readonly values: readonly Uint8Array[];
  readonly rows: readonly number[];
  /** Of its last record, in the section. */
  readonly end: number;
  /** Offset from which on records follow; `null`: none do. */
  readonly from: number | null;
}

function* pieceFrom(store: RecordStore, from: number, start: number): Generator<void, Piece> {
  const [values, rows]: [Uint8Array[], number[]] = [[], []];
  const scratch = new ValueWriter();
  let [next, end] = [from, start];
  while (end - start < PIECE_BYTES) {
    // A scan ends within its turn.
    const [record] = store.scan(next);
    if (record === undefined) return { values, rows, end, from: null };
    const value = yield* encodeValue(scratch, record);
    values.push(value);
    end += value.length;
    rows.push(record.offset, record.sequence, end);
    next = record.offset + 1;
    yield;
  }
  return { values, rows, end, from: next };
}

/** One that is open. What does not fit throws `SegmentDamaged`. */
export class RecordFile {
  readonly head: StoreHead;
  /** So many are in it. */
  readonly records: number;
  readonly #file: SectionReader;

  private constructor(file: SectionReader, { records, ...head }: StoreHead & { readonly records: number }) {
    this.#file = file;
    this.head = head;
    this.records = records;
  }

  /** Throws `SegmentMissing` where there is none. */
  static async open(
    files: Pick<SegmentFiles, "open">,
    name: string,
    options: ReadOptions = {},
  ): Promise<RecordFile> {
    const file = await openAnySections(files as SegmentFiles, name, options);
    if (file === null) throw new SegmentMissing(name);
    try {
      const section = file.stream(SECTION.head);
      const bytes = Buffer.alloc(section.length);
      await section.read(bytes, 0, options);
      const { sequence, nextOffset, dimension, records } = JSON.parse(bytes.toString("utf8"));
      const opened = new RecordFile(file, { sequence, nextOffset, dimension, records });
      if (file.stream(SECTION.directory).length !== records * ROW_BYTES)
        throw new SegmentDamaged(name, SECTION.directory, `it is not one of ${records} records`);
      return opened;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get size(): number {
    return this.#file.size;
  }

  /** Changes that make the state of nothing; the last one has its head. Throws `CorruptDataError`, too. */
  async *changes(collection: string, options: ReadOptions = {}): AsyncGenerator<StoreChange> {
    const { name } = this.#file;
    const section = this.#file.stream(SECTION.records);
    let rows: { readonly first: number; readonly numbers: Float64Array } | null = null;
    let [row, start]: [number, number] = [0, 0];
    /** What is left of the pieces before: the beginning of the next record. */
    let held: Buffer = Buffer.alloc(0);
    // Pieces begin where blocks of an object do, so that none is fetched twice.
    for (let at = 0; at < section.length; at += PIECE_BYTES) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, section.length - at));
      await section.read(piece, at, options);
      const bytes: Buffer = held.length === 0 ? piece : Buffer.concat([held, piece]);
      const from = at - held.length;
      const places: RecordPlace[] = [];
      for (; row < this.records; row++) {
        if (rows === null || row >= rows.first + rows.numbers.length / ROW_NUMBERS)
          rows = { first: row, numbers: await this.directory(row, ROWS_AT_ONCE, options) };
        const place = placeIn(rows.numbers, row - rows.first, start);
        if (place.end > from + bytes.length) break;
        places.push(place);
        start = place.end;
      }
      const puts = await runInTurns(decoded(places, { bytes, from, origin: `${name} of ${collection}` }));
      held = bytes.subarray(start - from);
      if (puts.length > 0)
        yield { head: { ...this.head, nextOffset: puts.at(-1)!.offset + 1 }, puts, removes: [] };
      await nextTurn();
    }
    if (row < this.records || held.length > 0)
      throw new SegmentDamaged(name, SECTION.records, `it ends within record ${row}`);
    yield { head: this.head, puts: [], removes: [] };
  }

  /** Rows from one on, some or fewer: three numbers each. */
  async directory(first: number, count: number, options: ReadOptions = {}): Promise<Float64Array> {
    const numbers = new Float64Array(ROW_NUMBERS * Math.min(count, this.records - first));
    const bytes = new Uint8Array(numbers.buffer);
    await this.#file.stream(SECTION.directory).read(bytes, first * ROW_BYTES, options);
    return numbers;
  }

  /** All of it. */
  async readDirectory(options: ReadOptions = {}): Promise<RecordDirectory> {
    const directory = new RecordDirectory(await this.directory(0, this.records, options));
    const section = this.#file.stream(SECTION.records);
    if (directory.end === section.length) return directory;
    throw new SegmentDamaged(this.#file.name, SECTION.directory, "it ends elsewhere than the records do");
  }

  /** The records in some rows. Rows that lie close together are fetched together. Throws `CorruptDataError`, too. */
  async read(
    directory: RecordDirectory,
    rows: readonly number[],
    options: ReadOptions = {},
  ): Promise<readonly StoredRecord[]> {
    const stretches: RecordPlace[][] = [];
    for (const place of rows.toSorted((a, b) => a - b).map((row) => directory.placeAt(row))) {
      const last = stretches.at(-1);
      const isNear = last !== undefined && place.start - last.at(-1)!.end < GAP_BYTES;
      if (isNear && place.end - last[0]!.start <= PIECE_BYTES) last.push(place);
      else stretches.push([place]);
    }
    const section = this.#file.stream(SECTION.records);
    const read = async (places: readonly RecordPlace[]): Promise<readonly StoredRecord[]> => {
      const from = places[0]!.start;
      const bytes = Buffer.allocUnsafe(places.at(-1)!.end - from);
      await section.read(bytes, from, options);
      return runInTurns(decoded(places, { bytes, from, origin: this.#file.name }));
    };
    return (await Promise.all(stretches.map(read))).flat();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Which records a file has, and where: in memory, 24 bytes for each. */
export class RecordDirectory {
  readonly length: number;
  readonly #numbers: Float64Array;

  constructor(numbers: Float64Array) {
    this.#numbers = numbers;
    this.length = numbers.length / ROW_NUMBERS;
  }

  get end(): number {
    return this.#numbers.at(-1) ?? 0;
  }

  /** The first one whose record has this offset or a higher one. */
  rowFrom(offset: number): number {
    // Where no record was removed before it, that is its row.
    const least = offset - (this.length === 0 ? 0 : this.offsetAt(0));
    if (least >= 0 && least < this.length && this.offsetAt(least) === offset) return least;
    return lowerBound(this.length, (row) => this.offsetAt(row) < offset);
  }

  offsetAt(row: number): number {
    return this.#numbers[row * ROW_NUMBERS]!;
  }

  sequenceAt(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 1]!;
  }

  bytesAt(row: number): number {
    const { start, end } = this.placeAt(row);
    return end - start;
  }

  placeAt(row: number): RecordPlace {
    return placeIn(this.#numbers, row, row === 0 ? 0 : this.#numbers[row * ROW_NUMBERS - 1]!);
  }
}

interface RecordPlace {
  readonly offset: number;
  readonly sequence: number;
  /** In the section of records. */
  readonly start: number;
  readonly end: number;
}

function placeIn(numbers: Float64Array, row: number, start: number): RecordPlace {
  const [offset, sequence, end] = numbers.subarray(row * ROW_NUMBERS, (row + 1) * ROW_NUMBERS);
  return { offset: offset!, sequence: sequence!, start, end: end! };
}

/** @param from Where `bytes` begin in the section. */
function* decoded(
  places: readonly RecordPlace[],
  { bytes, from, origin }: { readonly bytes: Buffer; readonly from: number; readonly origin: string },
): Generator<void, StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (const { offset, start, end } of places) {
    const key = Buffer.from(String(offset));
    records.push(
      yield* decodeValue(bytes.subarray(start - from, end - from), offset, { store: origin, key }),
    );
    yield;
  }
  return records;
}
