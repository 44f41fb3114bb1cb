/**
 * The metadata of a segment's rows as bytes in memory: a `Map` for each row takes ten times the memory, and every full
 * garbage collection visits all of its parts. Rows are only ever appended.
 */
import { type Metadata, type MetadataValue, SheafError } from "@sheaf/protocol";
import { CellReader } from "./cell-reader.ts";
import { CellWriter, type NumberArray } from "./cell-writer.ts";
import type { RowMetadata } from "./row-metadata.ts";
import { TextTable } from "./text-table.ts";

/** Rows whose bytes are one buffer, and how long it may be before it is closed: one that grows is copied. */
const BUFFER_ROWS = 512;
const BUFFER_BYTES = 1024 * 1024;
const FIRST_BYTES = 256;
const PLACE_WORDS = 3;
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
  /** First row of the buffer that still fills. */
  #firstRow = 0;
  /** By row, where its bytes begin and end in its buffer, and which that is. */
  #places = new Uint32Array(16 * PLACE_WORDS);
  /** The buffer that still fills. */
  readonly #writer = new CellWriter(this, FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Some may hold a key that is not in `keys`. */
  get hasOtherKeys(): boolean {
    return this.keys.texts.length >= TABLE_KEYS;
  }

  get totalBytes(): number {
    const arrays = this.arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return this.#buffers.reduce((sum, { length }) => sum + length, this.#writer.length + arrays);
  }

  /** In steps where it is long; the row is there from the last one on. */
  *push(metadata: Metadata | null): Generator<void, void> {
    const at = PLACE_WORDS * this.#length;
    if (at === this.#places.length) {
      const places = new Uint32Array(2 * at);
      places.set(this.#places);
      this.#places = places;
    }
    this.#places[at] = this.#writer.length;
    if (metadata !== null) yield* this.#writer.row(metadata);
    this.#length++;
    this.#places[at + 1] = this.#writer.length;
    this.#places[at + 2] = this.#buffers.length;
    if (this.#length - this.#firstRow < BUFFER_ROWS && this.#writer.length < BUFFER_BYTES) return;
    this.#buffers.push(this.#writer.take());
    this.#firstRow = this.#length;
  }

  get(row: number): Metadata | null {
    return this.#moveTo(row) ? this.#reader.row() : null;
  }

  *getInSteps(row: number): Generator<void, Metadata | null> {
    return this.#moveTo(row) ? yield* this.#reader.rowInSteps() : null;
  }

  value(row: number, key: string): MetadataValue | undefined {
    const number = this.keys.find(key);
    if (number === undefined && !this.hasOtherKeys) return undefined;
    return this.#moveTo(row) ? this.#reader.value(key, number) : undefined;
  }

  bytes(row: number): number {
    return this.#end(row) - this.#start(row);
  }

  /** As they are written; a view, until the next `push`. */
  cells(row: number): Uint8Array {
    return this.#bufferOf(row).subarray(this.#start(row), this.#end(row));
  }

  /** `false`: the row has none. */
  #moveTo(row: number): boolean {
    const start = this.#start(row);
    const end = this.#end(row);
    this.#reader.moveTo(this.#bufferOf(row), start, end);
    return end > start;
  }

  #bufferOf(row: number): Buffer {
    return this.#buffers[this.#places[PLACE_WORDS * row + 2]!] ?? this.#writer.bytes;
  }

  #start(row: number): number {
    return this.#places[PLACE_WORDS * row]!;
  }

  #end(row: number): number {
    return this.#places[PLACE_WORDS * row + 1]!;
  }
}
