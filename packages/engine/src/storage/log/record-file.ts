/**
 * The records of a collection at one state as one file, so that an object store can keep them: the sections of an index file
 * (docs/internals/storage-format.md), with a checksum for each 64 KiB. Each record lies in it as it is in a store, and a
 * directory says where, so that a reader may go through all of them or fetch a few. Those of a partition lie together: who has
 * one reads no others.
 */
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CHUNK_BYTES } from "../files/footer.ts";
import { SegmentDamaged, SegmentMissing } from "../files/segment-damaged.ts";
import type { ReadOptions, SegmentFiles } from "../files/segment-files.ts";
import { type SectionReader, openAnySections } from "../files/section-reader.ts";
import type { StoreChange, StoreHead } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { decodeValue } from "./batch-codec.ts";
import { mergedRecords } from "./merged-records.ts";
import type { ViewedPart } from "./partition-of.ts";
import { ROW_BYTES, ROW_NUMBERS, RecordDirectory, type RecordPlace, placeIn } from "./record-directory.ts";

/** Written and read at once, and about as many make a batch. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Of the pieces of all partitions that are read together, and as much again that is on its way. */
const MERGED_BYTES = 16 * 1024 * 1024;
/** Records that are no farther apart are fetched with what lies between. */
const GAP_BYTES = 256 * 1024;
/** Of the directory, read at once. */
const ROWS_AT_ONCE = 32_768;
export const SECTION = { records: "records", directory: "directory", head: "head" } as const;

/** What a file has of one partition. */
export interface FilePart {
  readonly records: number;
  readonly bytes: number;
}

/** As JSON in a section of its own. */
export interface FileHead extends StoreHead {
  readonly records: number;
  /** One behind the other; left out where the collection has one partition. */
  readonly parts?: readonly FilePart[];
}

/** Rows of the directory, and bytes of the records. */
interface Extent {
  readonly firstRow: number;
  readonly rows: number;
  readonly start: number;
  readonly end: number;
}

export interface OpenRecordsOptions extends ReadOptions {
  /** Whose records alone are wanted. */
  readonly part?: ViewedPart | undefined;
}

/** One that is open. What does not fit throws `SegmentDamaged`. */
export class RecordFile {
  readonly head: StoreHead;
  readonly #file: SectionReader;
  /** Of the partitions that are read. */
  readonly #extents: readonly Extent[];
  /** Only records of the partition that was asked for are read. `false`: the file is of no partitions, or all were asked for. */
  readonly isOfPart: boolean;

  private constructor(file: SectionReader, head: FileHead, part: ViewedPart | undefined) {
    const { sequence, nextOffset, dimension } = head;
    this.#file = file;
    this.head = { sequence, nextOffset, dimension };
    this.isOfPart = part !== undefined && head.parts?.length === part.partitions;
    const extents = extentsOf(file, head);
    this.#extents = this.isOfPart ? [extents[part!.partition]!] : extents;
  }

  /** Throws `SegmentMissing` where there is none. */
  static async open(
    files: Pick<SegmentFiles, "open">,
    name: string,
    { part, ...options }: OpenRecordsOptions = {},
  ): Promise<RecordFile> {
    const file = await openAnySections(files as SegmentFiles, name, options);
    if (file === null) throw new SegmentMissing(name);
    try {
      const section = file.stream(SECTION.head);
      const bytes = Buffer.alloc(section.length);
      await section.read(bytes, 0, options);
      return new RecordFile(file, JSON.parse(bytes.toString("utf8")), part);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** So many are read. */
  get records(): number {
    return this.#extents.reduce((sum, { rows }) => sum + rows, 0);
  }

  get size(): number {
    return this.#file.size;
  }

  /** Changes that make the state of nothing, by ascending offset; the last one has its head. Throws `CorruptDataError`, too. */
  async *changes(collection: string, options: ReadOptions = {}): AsyncGenerator<StoreChange> {
    const each = Math.ceil(MERGED_BYTES / this.#extents.length / CHUNK_BYTES) * CHUNK_BYTES;
    const pieceBytes = Math.min(PIECE_BYTES, each);
    const parts = this.#extents.map((extent) => this.#recordsOf(extent, collection, { pieceBytes, options }));
    for await (const puts of parts.length === 1 ? parts[0]! : mergedRecords(parts, PIECE_BYTES))
      yield { head: { ...this.head, nextOffset: puts.at(-1)!.offset + 1 }, puts, removes: [] };
    yield { head: this.head, puts: [], removes: [] };
  }

  /** None of them is empty. */
  async *#recordsOf(
    { firstRow, rows, start: from, end }: Extent,
    collection: string,
    { pieceBytes, options }: { readonly pieceBytes: number; readonly options: ReadOptions },
  ): AsyncGenerator<readonly StoredRecord[]> {
    const { name } = this.#file;
    const section = this.#file.stream(SECTION.records);
    let known = { first: 0, numbers: new Float64Array(0) };
    let [row, start] = [0, from];
    /** What is left of the pieces before: the beginning of the next record. */
    let held: Buffer = Buffer.alloc(0);
    for (let at = from, next = at; at < end; at = next) {
      // Pieces begin where blocks of an object do, so that none is fetched twice.
      next = Math.min((Math.floor(at / pieceBytes) + 1) * pieceBytes, end);
      const piece = Buffer.allocUnsafe(next - at);
      await section.read(piece, at, options);
      const bytes: Buffer = held.length === 0 ? piece : Buffer.concat([held, piece]);
      const begin = at - held.length;
      const places: RecordPlace[] = [];
      for (; row < rows; row++) {
        if (row >= known.first + known.numbers.length / ROW_NUMBERS) {
          const count = Math.min(Math.ceil(ROWS_AT_ONCE / this.#extents.length), rows - row);
          known = { first: row, numbers: await this.#directory(firstRow + row, count, options) };
        }
        const place = placeIn(known.numbers, row - known.first, start);
        if (place.end > begin + bytes.length) break;
        places.push(place);
        start = place.end;
      }
      const origin = `${name} of ${collection}`;
      const records = await runInTurns(decoded(places, { bytes, from: begin, origin }));
      held = bytes.subarray(start - begin);
      if (records.length > 0) yield records;
      await nextTurn();
    }
    if (row < rows || held.length > 0)
      throw new SegmentDamaged(name, SECTION.records, `it ends within record ${firstRow + row}`);
  }

  /** The directory of a file of one partition, or of the one that was asked for. */
  async readDirectory(options: ReadOptions = {}): Promise<RecordDirectory> {
    const [extent, another] = this.#extents;
    assert.ok(extent !== undefined && another === undefined, "a directory is of one partition");
    const { firstRow, rows, start, end } = extent;
    const directory = new RecordDirectory(await this.#directory(firstRow, rows, options), start);
    if (directory.end === end) return directory;
    throw new SegmentDamaged(this.#file.name, SECTION.directory, "it ends elsewhere than the records do");
  }

  /** Three numbers for each row. */
  async #directory(first: number, rows: number, options: ReadOptions): Promise<Float64Array<ArrayBuffer>> {
    const numbers = new Float64Array(ROW_NUMBERS * rows);
    await this.#file
      .stream(SECTION.directory)
      .read(new Uint8Array(numbers.buffer), first * ROW_BYTES, options);
    return numbers;
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

/** One behind the other, up to the ends of both sections. */
function extentsOf(file: SectionReader, { records, parts }: FileHead): readonly Extent[] {
  const end = file.stream(SECTION.records).length;
  const extents: Extent[] = [];
  let [firstRow, start] = [0, 0];
  for (const part of parts ?? [{ records, bytes: end }]) {
    extents.push({ firstRow, rows: part.records, start, end: start + part.bytes });
    firstRow += part.records;
    start += part.bytes;
  }
  if (firstRow !== records || file.stream(SECTION.directory).length !== records * ROW_BYTES)
    throw new SegmentDamaged(file.name, SECTION.directory, `it is not one of ${records} records`);
  if (start === end) return extents;
  throw new SegmentDamaged(file.name, SECTION.head, "its partitions end elsewhere than the records do");
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
