/**
 * The metadata of a segment's rows as bytes in memory: a `Map` for each row takes ten times the memory, and every full
 * garbage collection visits all of its parts. Rows are only ever appended.
 */
import { type Metadata, type MetadataValue, SheafError } from "@sheaf/protocol";
import { CellReader } from "./cell-reader.ts";
import { CellWriter, type NumberArray } from "./cell-writer.ts";
import type { RowMetadata } from "./row-metadata.ts";
import { TextTable } from "./text-table.ts";

/** Rows whose bytes are one buffer. */
const BUFFER_ROWS = 512;
const FIRST_BYTES = 256;
/** Keys and texts that are the same in many rows are kept once; where more than so many differ, few are. */
const TABLE_KEYS = 4_096;
const TABLE_TEXTS = 512;

export class MetadataRows implements RowMetadata {
  readonly keys = new TextTable(TABLE_KEYS);
  /** By number of the key: rows that hold a value, sparse vectors aside. */
  readonly keyCounts: number[] = [];
  readonly texts = new TextTable(TABLE_TEXTS);
  /** Long arrays of numbers, which the bytes of rows name by number. */
  readonly arrays: NumberArray[] = [];
  readonly #reader = new CellReader({
    keys: this.keys,
    texts: this.texts,
    arrayAt: (number) => this.arrays[number],
    damaged: (reason) => new SheafError("internal", `metadata: ${reason}`),
  });
  /** Full ones. */
  readonly #buffers: Buffer[] = [];
  /** By row, where its bytes end in its buffer. */
  #ends = new Uint32Array(16);
  /** The buffer that still fills. */
  readonly #writer = new CellWriter(this, FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(metadata: Metadata | null): void {
    if (metadata !== null) this.#writer.row(metadata);
    if (this.#length === this.#ends.length) {
      const ends = new Uint32Array(2 * this.#length);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#ends[this.#length++] = this.#writer.length;
    if (this.#length % BUFFER_ROWS === 0) this.#buffers.push(this.#writer.take());
  }

  get(row: number): Metadata | null {
    return this.#moveTo(row) ? this.#reader.row() : null;
  }

  value(row: number, key: string): MetadataValue | undefined {
    const number = this.keys.find(key);
    if (number === undefined && this.keys.texts.length < TABLE_KEYS) return undefined;
    return this.#moveTo(row) ? this.#reader.value(key, number) : undefined;
  }

  bytes(row: number): number {
    return this.#ends[row]! - this.#start(row);
  }

  /** As they are written; a view, until the next `push`. */
  cells(row: number): Uint8Array {
    return this.#bufferOf(row).subarray(this.#start(row), this.#ends[row]);
  }

  /** `false`: the row has none. */
  #moveTo(row: number): boolean {
    const start = this.#start(row);
    const end = this.#ends[row]!;
    this.#reader.moveTo(this.#bufferOf(row), start, end);
    return end > start;
  }

  #bufferOf(row: number): Buffer {
    return this.#buffers[Math.floor(row / BUFFER_ROWS)] ?? this.#writer.bytes;
  }

  #start(row: number): number {
    return row % BUFFER_ROWS === 0 ? 0 : this.#ends[row - 1]!;
  }
}
