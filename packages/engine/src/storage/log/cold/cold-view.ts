/**
 * A view of a collection's log whose records are still in the object store: in memory are the directory of the checkpoint's
 * file, all that the log has beyond it, and records that were fetched. Reads are synchronous as in any store; one that needs a
 * record which is not here throws `DataAbsent`, and can begin again once that was fetched. Nothing is ever taken for
 * missing because it is not here. What is asked for by id waits until the view on disk is full.
 */
import { SheafError } from "@sheaf/protocol";
import { Slots } from "../../objects/slots.ts";
import { lowerBound } from "../../lower-bound.ts";
import { DataAbsent } from "../../data-absent.ts";
import { SegmentDamaged } from "../../files/segment-damaged.ts";
import { MemoryRecordStore } from "../../memory-record-store.ts";
import type { QueryDistance } from "../../../kernels/value-memory.ts";
import type { StoreChange, StoreHead, StoreView, StoredChange } from "../../record-store.ts";
import { type Steps, isInSteps, runInTurns } from "../../steps.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "../../stored-record.ts";
import { recordBytes } from "../../values/record-bytes.ts";
import { damagedRecords } from "../checkpoint-files.ts";
import type { Checkpoint } from "../commit-log.ts";
import type { LogView } from "../log-view.ts";
import type { RecordDirectory } from "../record-directory.ts";
import type { RecordFile } from "../record-file.ts";

/** Of the records of one read, and half of what is kept. */
const MOST_READ_BYTES = 64 * 1024 * 1024;
/** Of a partition at least. */
const LEAST_READ_BYTES = 2 * 1024 * 1024;
/** Reads that fetch at a time; whoever comes later mostly wants some of the same. */
const READS_AT_ONCE = 2;
/** Who asks for one mostly asks for the next ones, too. */
const ROWS_AHEAD = 64;

/** The partitions of a collection take together about what one of one partition takes. */
export function readBytesOf(partitions = 1): number {
  return Math.max(MOST_READ_BYTES / partitions, LEAST_READ_BYTES);
}

export class ColdView implements LogView {
  readonly #file: RecordFile;
  readonly #directory: RecordDirectory;
  /** By offset, oldest first. */
  readonly #fetched = new Map<number, StoredRecord>();
  #fetchedBytes = 0;
  readonly #reads = new Slots(READS_AT_ONCE);
  /** All that was written after the checkpoint. */
  readonly #later: MemoryRecordStore;
  /** Offsets of the checkpoint's records that are gone by now. */
  readonly #removed = new Set<number>();
  /** Ascending, of records that came later; some may be gone. */
  readonly #laterOffsets: number[] = [];
  #size: number;
  #batch: string;
  #head: StoreHead;
  #isClosed = false;
  /** As `keepChangesAfter` was last told. */
  keptAfter: number | null = null;

  readonly #mostReadBytes: number;
  /** Called when the file turns out to be damaged, or another one. */
  onDamaged: () => void = () => {};

  private constructor(
    file: RecordFile,
    directory: RecordDirectory,
    { checkpoint, mostReadBytes }: { readonly checkpoint: Checkpoint; readonly mostReadBytes: number },
  ) {
    this.#mostReadBytes = mostReadBytes;
    this.#file = file;
    this.#directory = directory;
    this.#later = new MemoryRecordStore(checkpoint.sequence);
    this.#head = file.head;
    this.#batch = checkpoint.batch;
    this.#size = file.records;
  }

  /** Closes the file where it cannot be read. `mostReadBytes`: few for tests. */
  static async open(
    file: RecordFile,
    checkpoint: Checkpoint,
    mostReadBytes = readBytesOf(),
  ): Promise<ColdView> {
    try {
      return new ColdView(file, await file.readDirectory(), { checkpoint, mostReadBytes });
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get head(): StoreHead {
    return this.#head;
  }

  get batch(): string {
    return this.#batch;
  }

  get completeFrom(): number {
    return this.#later.completeFrom;
  }

  changesAfter(sequence: number): Iterable<StoredChange> | "trimmed" {
    return this.#later.changesAfter(sequence);
  }

  keepChangesAfter(sequence: number): void {
    this.keptAfter = sequence;
    this.#later.keepChangesAfter(sequence);
  }

  removedAfter(sequence: number): Iterable<string> {
    return this.#later.removedAfter(sequence);
  }

  read(offset: number): StoredRecord | null {
    const later = this.#later.read(offset);
    if (later !== null) return later;
    if (this.#rowOf(offset) === null) return null;
    const fetched = this.#fetched.get(offset);
    if (fetched === undefined) throw this.#absent([offset], ROWS_AHEAD);
    return fetched;
  }

  readInSteps(offset: number): Steps<StoredRecord | null> {
    return this.read(offset);
  }

  readVector(offset: number): VectorVersion | null {
    return this.read(offset);
  }

  sequenceOf(offset: number): number | null {
    const later = this.#later.read(offset);
    if (later !== null) return later.sequence;
    const row = this.#rowOf(offset);
    return row === null ? null : this.#directory.sequenceAt(row);
  }

  readDocument(offset: number): DocumentVersion | null {
    const record = this.read(offset);
    if (record === null) return null;
    const { sequence, document } = record;
    return { sequence, document: typeof document === "string" ? Buffer.from(document) : document };
  }

  documentBytes(offset: number): number {
    return this.#later.documentBytes(offset);
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    const record = this.read(offset);
    return record === null ? null : { sequence: record.sequence, distance: query.to(record.embedding) };
  }

  offsetFrom(from: number): number | null {
    const directory = this.#directory;
    for (let row = directory.rowFrom(from); row < directory.length; row++) {
      const offset = directory.offsetAt(row);
      if (!this.#removed.has(offset)) return offset;
    }
    const later = this.#laterOffsets;
    for (let i = lowerBound(later.length, (at) => later[at]! < from); i < later.length; i++)
      if (this.#later.read(later[i]!) !== null) return later[i]!;
    return null;
  }

  *scan(from: number): Generator<StoredRecord> {
    for (let at = this.offsetFrom(from); at !== null; at = this.offsetFrom(at + 1)) yield this.read(at)!;
  }

  requireWhole(records: number): void {
    if (records === this.#size) return;
    const message = `${records} of ${this.#size} records are there`;
    throw new SheafError("collection_unavailable", message);
  }

  offsetOf(): never {
    throw this.#absent(null);
  }

  idsUnder(): never {
    throw this.#absent(null);
  }

  find(): never {
    throw this.#absent(null);
  }

  findInSteps(): never {
    throw this.#absent(null);
  }

  idAt(): never {
    throw this.#absent(null);
  }

  storedBytes(): never {
    throw this.#absent(null);
  }

  apply(): never {
    throw this.#absent(null);
  }

  async forgetUpTo(): Promise<void> {}

  async follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void> {
    const planned = plan(this);
    const change = isInSteps(planned) ? await runInTurns(planned) : planned;
    for (const { offset } of change.removes) {
      if (this.sequenceOf(offset) !== null) this.#size -= 1;
      this.#removed.add(offset);
    }
    for (const { offset } of change.puts) {
      if (this.sequenceOf(offset) === null) this.#size += 1;
      if (offset >= this.#file.head.nextOffset && offset > (this.#laterOffsets.at(-1) ?? -1))
        this.#laterOffsets.push(offset);
    }
    await this.#later.apply(() => change);
    this.#head = change.head;
    this.#batch = batch;
  }

  /** Until the records with these offsets can be read, those that there are; the first ones where they are too many. */
  async prepare(offsets: readonly number[], ahead = 0): Promise<void> {
    if (this.#absentRows(offsets, ahead).size === 0) return;
    await this.#reads.run(() => this.#fetch(this.#absentRows(offsets, ahead)));
  }

  /** Those that are not here now. */
  #absentRows(offsets: readonly number[], ahead: number): ReadonlySet<number> {
    const rows = new Set<number>();
    let bytes = 0;
    for (const offset of offsets) {
      const first = this.#rowOf(offset);
      if (first === null) continue;
      for (let row = first; row <= first + ahead && row < this.#directory.length; row++) {
        if (this.#fetched.has(this.#directory.offsetAt(row)) || rows.has(row)) continue;
        bytes += this.#directory.bytesAt(row);
        // Those of one read must be here together.
        if (rows.size > 0 && bytes > this.#mostReadBytes) return rows;
        rows.add(row);
      }
    }
    return rows;
  }

  async #fetch(rows: ReadonlySet<number>): Promise<void> {
    if (rows.size === 0 || this.#isClosed) return;
    try {
      for (const record of await this.#file.read(this.#directory, [...rows])) this.#keep(record);
    } catch (error) {
      // Another view has taken the place of this one.
      if (this.#isClosed) return;
      if (!(error instanceof SegmentDamaged)) throw error;
      this.onDamaged();
      throw damagedRecords(error);
    }
  }

  require(offsets: Iterable<number>): void {
    const absent: number[] = [];
    let bytes = 0;
    for (const offset of offsets) {
      const row = this.#fetched.has(offset) || this.#later.read(offset) !== null ? null : this.#rowOf(offset);
      if (row === null) continue;
      absent.push(offset);
      bytes += this.#directory.bytesAt(row);
    }
    if (absent.length > 0) throw this.#absent(bytes > this.#mostReadBytes ? null : absent);
  }

  /** Offsets of the records that the checkpoint has and that were written after this operation; `null`: too many. */
  offsetsAfter(sequence: number): readonly number[] | null {
    const directory = this.#directory;
    const offsets: number[] = [];
    let bytes = 0;
    for (let row = 0; row < directory.length; row++) {
      if (directory.sequenceAt(row) <= sequence) continue;
      bytes += directory.bytesAt(row);
      if (bytes > this.#mostReadBytes) return null;
      offsets.push(directory.offsetAt(row));
    }
    return offsets;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#fetched.clear();
    return this.#file.close();
  }

  #keep(record: StoredRecord): void {
    const known = this.#fetched.get(record.offset);
    if (known !== undefined) this.#fetchedBytes -= recordBytes(known);
    this.#fetched.delete(record.offset);
    this.#fetched.set(record.offset, record);
    this.#fetchedBytes += recordBytes(record);
    for (const [offset, oldest] of this.#fetched) {
      if (this.#fetchedBytes <= 2 * this.#mostReadBytes) return;
      this.#fetched.delete(offset);
      this.#fetchedBytes -= recordBytes(oldest);
    }
  }

  /** In the directory; `null`: the checkpoint does not have it, or it is gone by now. */
  #rowOf(offset: number): number | null {
    const row = this.#directory.rowFrom(offset);
    if (row === this.#directory.length || this.#directory.offsetAt(row) !== offset) return null;
    return this.#removed.has(offset) ? null : row;
  }

  /** `null`: all of them. */
  #absent(offsets: readonly number[] | null, ahead = 0): DataAbsent {
    return new DataAbsent(offsets === null ? null : () => this.prepare(offsets, ahead), "records");
  }
}
