/**
 * A section of rows of the same length, each with its checksum behind it: one positional read has both. Rows are read
 * into kernel memory, where their checksums are computed, and copied from there once they fit.
 */
import { SheafError } from "@sheaf/protocol";
import { valueMemory } from "../../kernels/value-memory.ts";
import { crc32c } from "../values/crc32c.ts";
import {
  type ByteSource,
  type FetchedBytes,
  PIECE_BYTES,
  damagedAt,
  fetchChecked,
  requireWithin,
  tryChecked,
} from "./checked-range.ts";
import { ROW_CHECKSUM_BYTES, type RowsEntry, rowMask } from "./footer.ts";
import { READ_BYTES, type RowReader } from "./row-reader.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import type { ReadOptions, SegmentFile } from "./segment-files.ts";

/** Rows that are no farther apart are read together: as many bytes take as long as another read. */
const GAP_BYTES = 8 * 1024;

export class RowSection {
  readonly #file: SegmentFile;
  readonly #entry: RowsEntry;
  /** Of a row and its checksum. */
  readonly #stride: number;
  /** Rows that fit kernel memory. */
  readonly #window: number;
  /** Rows from one to the next that are read together. */
  readonly #near: number;

  constructor(file: SegmentFile, entry: RowsEntry) {
    this.#file = file;
    this.#entry = entry;
    this.#stride = entry.rowBytes + ROW_CHECKSUM_BYTES;
    this.#window = Math.floor(valueMemory().capacity / this.#stride);
    this.#near = 1 + Math.floor(GAP_BYTES / this.#stride);
  }

  /** In the file. */
  get offset(): number {
    return this.#entry.offset;
  }

  /** In bytes of the file. */
  get length(): number {
    return this.#entry.length;
  }

  get rowBytes(): number {
    return this.#entry.rowBytes;
  }

  /** Rows. */
  get count(): number {
    return this.length / this.#stride;
  }

  /**
   * Fills `into` with whole rows from `first` on; or returns `false`: not all of them are on this machine.
   * Only bytes that fit their checksums get there.
   */
  tryRead(into: Uint8Array, first: number): boolean {
    const end = this.#endOf(into, first);
    return tryChecked(this.#file, () => this.#check(this.#file, first, end, into));
  }

  /** `tryRead` of rows that ascend, one behind the other in `into`. What lies between those that are near each other is read too. */
  tryReadEach(into: Uint8Array, rows: Uint32Array): boolean {
    requireWithin(this.#file, this.#entry.name, [rows.at(-1)! + 1, this.count]);
    return tryChecked(this.#file, () => this.#checkEach(rows, into));
  }

  /** `tryRead` of rows that may have to be fetched. Nothing is written to `into` once it has settled. */
  async read(into: Uint8Array, first: number, options: ReadOptions = {}): Promise<void> {
    const end = this.#endOf(into, first);
    for (let row = first; row < end; row += this.#piece) {
      const next = Math.min(row + this.#piece, end);
      const [from, to] = [(row - first) * this.rowBytes, (next - first) * this.rowBytes];
      await this.#fetch([row, next], options, into.subarray(from, to));
    }
  }

  /** `tryRead` with the help of another thread. Rejects where that cannot be had; nothing is in `into` then. */
  async readWith(reader: RowReader, into: Uint8Array, first: number): Promise<void> {
    const range = [first, this.#endOf(into, first)] as const;
    const isSound = await reader.read(this.#file, this.#entry, range, (rows) => into.set(rows));
    // It says which row is damaged.
    if (!isSound) this.tryRead(into, first);
  }

  /** Rows that `readWith` reads at once. */
  get rowsPerRead(): number {
    return Math.floor(READ_BYTES / this.#stride);
  }

  /** Reads all of it, and yields the lengths of the pieces that it is read in. */
  async *verify(options: ReadOptions = {}): AsyncGenerator<number, void> {
    let checksum = 0;
    for (let row = 0; row < this.count; row += this.#piece) {
      const next = Math.min(row + this.#piece, this.count);
      const fetched = await this.#fetch([row, next], options);
      const checksums = this.#checksumsOf(fetched.bytes);
      checksum = crc32c(checksums, 0, checksums.length, checksum);
      yield fetched.bytes.length;
    }
    if (checksum !== this.#entry.checksum)
      throw new SegmentDamaged(this.#file.name, this.#entry.name, "it has other rows than were written");
  }

  /** Rows that are fetched at once. */
  get #piece(): number {
    return Math.ceil(PIECE_BYTES / this.#stride);
  }

  /** Holds the rows [first, end) to their checksums and copies them to `into`, if it is given. */
  #check(source: ByteSource, first: number, end: number, into?: Uint8Array): boolean {
    const memory = valueMemory();
    for (let start = first; start < end; start += this.#window) {
      const count = Math.min(this.#window, end - start);
      const window = memory.bytes.subarray(0, count * this.#stride);
      if (!source.tryRead(window, this.offset + start * this.#stride)) return false;
      const at = (start - first) * this.rowBytes;
      const damaged = takeLoaded(this.#entry, [start, start + count], into?.subarray(at));
      if (damaged !== null) throw damagedAt(this.#file, this.#entry.name, `row ${damaged}`);
    }
    return true;
  }

  #checkEach(rows: Uint32Array, into: Uint8Array): boolean {
    const { bytes } = valueMemory();
    for (let from = 0; from < rows.length;) {
      const first = rows[from]!;
      let end = from + 1;
      while (rows[end]! - rows[end - 1]! <= this.#near && rows[end]! - first < this.#window) end++;
      const window = bytes.subarray(0, (rows[end - 1]! + 1 - first) * this.#stride);
      if (!this.#file.tryRead(window, this.offset + first * this.#stride)) return false;
      for (; from < end; from++) {
        const [row, at] = [rows[from]!, (rows[from]! - first) * this.#stride];
        if (!isSound(this.#entry, row, at)) throw damagedAt(this.#file, this.#entry.name, `row ${row}`);
        into.set(bytes.subarray(at, at + this.rowBytes), from * this.rowBytes);
      }
    }
    return true;
  }

  #checksumsOf(rows: Buffer): Buffer {
    const checksums = Buffer.alloc((rows.length / this.#stride) * ROW_CHECKSUM_BYTES);
    for (let at = this.rowBytes, to = 0; at < rows.length; at += this.#stride, to += ROW_CHECKSUM_BYTES)
      rows.copy(checksums, to, at, at + ROW_CHECKSUM_BYTES);
    return checksums;
  }

  #fetch(
    [first, end]: readonly [number, number],
    options: ReadOptions,
    into?: Uint8Array,
  ): Promise<FetchedBytes> {
    const place = [this.offset + first * this.#stride, this.offset + end * this.#stride] as const;
    return fetchChecked(this.#file, place, options, (fetched) => this.#check(fetched, first, end, into));
  }

  /** The row behind the last one that `into` is for. */
  #endOf(into: Uint8Array, first: number): number {
    const end = first + into.length / this.rowBytes;
    if (!Number.isInteger(end))
      throw new SheafError("internal", `section ${this.#entry.name}: part of a row`);
    requireWithin(this.#file, this.#entry.name, [end, this.count]);
    return end;
  }
}

/**
 * Holds rows, each with its checksum behind it, to these, and leaves the rows alone at the start. `false`: one does not fit.
 * @param range Which rows of the section they are, end excluded.
 */
export function packRows(
  bytes: Uint8Array,
  entry: Pick<RowsEntry, "rowBytes" | "seed">,
  [first, end]: readonly [number, number],
): boolean {
  const stride = entry.rowBytes + ROW_CHECKSUM_BYTES;
  const memory = valueMemory();
  const window = Math.floor(memory.capacity / stride);
  for (let start = first; start < end; start += window) {
    const next = Math.min(start + window, end);
    memory.load(bytes.subarray((start - first) * stride, (next - first) * stride));
    // It goes to where what is loaded was, or before.
    const into = bytes.subarray((start - first) * entry.rowBytes);
    if (takeLoaded(entry, [start, next], into) !== null) return false;
  }
  return true;
}

/** Copies the rows that are loaded into kernel memory; gives the first one that does not fit its checksum, else `null`. */
function takeLoaded(
  { rowBytes, seed }: Pick<RowsEntry, "rowBytes" | "seed">,
  [first, end]: readonly [number, number],
  into: Uint8Array | undefined,
): number | null {
  const { bytes } = valueMemory();
  for (let row = first, at = 0; row < end; row++, at += rowBytes + ROW_CHECKSUM_BYTES) {
    if (!isSound({ rowBytes, seed }, row, at)) return row;
    into?.set(bytes.subarray(at, at + rowBytes), (row - first) * rowBytes);
  }
  return null;
}

/** Whether a row that is loaded into kernel memory, from `at` on, fits its checksum. */
function isSound({ rowBytes, seed }: Pick<RowsEntry, "rowBytes" | "seed">, row: number, at: number): boolean {
  const memory = valueMemory();
  const { bytes } = memory;
  const after = at + rowBytes;
  const stored =
    bytes[after]! | (bytes[after + 1]! << 8) | (bytes[after + 2]! << 16) | (bytes[after + 3]! << 24);
  return (~memory.checksum(0xffffffff, at, after) ^ rowMask(seed, row)) === stored;
}
