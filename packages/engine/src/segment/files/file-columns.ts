/**
 * The columns of a segment in a file. That of a key which many rows hold is read; that of another key is made of the few
 * rows which hold it.
 */
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { LazyPart } from "../../storage/files/lazy-part.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import type { PagedSection } from "../../storage/files/paged-section.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import { ColumnBuilder } from "../columns/column-builder.ts";
import { MAX_COLUMNS, MAX_COMMON } from "../columns/doc-columns.ts";
import { MetadataColumn } from "../columns/metadata-column.ts";
import { lowerBound } from "../../storage/lower-bound.ts";
import type { BlockColumns } from "../doc-block.ts";
import type { FileRows } from "./file-rows.ts";
import { FileBytes } from "./file-bytes.ts";
import { pagedSource } from "./paged-source.ts";
import { keyHash } from "./key-rows.ts";

export interface FileColumnsOptions {
  readonly section: PagedSection;
  readonly rows: FileRows;
  /** Keys with columns; where each is and where its values are; behind them the list of rows by other keys, then the end. */
  readonly keys: readonly string[];
  readonly places: Float64Array;
  readonly memory: SegmentMemory;
}

/** Rows by key: pairs, ascending by hash. */
interface KeyRows {
  readonly hashes: Uint32Array;
  readonly rows: Uint16Array;
}

const BYTES_PER_PAUSE = 1024 * 1024;

interface FileColumn {
  readonly head: LazyPart<MetadataColumn>;
  readonly values: FileBytes;
}

/** Of one block. */
export class FileColumns implements BlockColumns {
  readonly rows: number;
  readonly #options: FileColumnsOptions;
  /** By key. */
  readonly #columns: ReadonlyMap<string, FileColumn>;
  readonly #keyRows: LazyPart<KeyRows>;
  /** Of other keys, least recently made first; `null`: it would be too large. */
  readonly #made = new Map<string, MetadataColumn | null>();

  constructor(options: FileColumnsOptions) {
    const { section, rows, keys, places, memory } = options;
    this.#options = options;
    this.rows = rows.length;
    const part = <T>(i: number, parse: (fields: PartFields) => T): LazyPart<T> => {
      const [start, end] = places.subarray(i);
      const source = pagedSource(section, [start!, end!], (bytes) =>
        parse(new PartFields(bytes, (reason) => section.damaged(`column at ${start}: ${reason}`))),
      );
      return new LazyPart(memory, source);
    };
    const column = (i: number): FileColumn => {
      const [start, end] = places.subarray(2 * i + 1);
      const values = new FileBytes(section, [start!, end!], memory);
      const head = part(2 * i, (fields) => new MetadataColumn({ fields, values }, rows.length / 32));
      return { head, values };
    };
    this.#columns = new Map(keys.map((key, i) => [key, column(i)]));
    this.#keyRows = part(2 * keys.length, (fields) => parseKeyRows(fields, rows.length));
  }

  get keys(): Iterable<string> {
    const loaded = [...this.#columns].filter(([, { head }]) => head.isLoaded).map(([key]) => key);
    return [...loaded, ...this.#made.keys()];
  }

  get common(): readonly string[] {
    return this.#options.keys.slice(0, MAX_COMMON);
  }

  peek(key: string): MetadataColumn | undefined {
    const column = this.#columns.get(key);
    if (column === undefined) return this.#made.get(key) ?? undefined;
    return column.head.isLoaded ? column.head.get() : undefined;
  }

  *column(key: string): Generator<undefined, MetadataColumn | null> {
    const column = this.#columns.get(key);
    if (column !== undefined) return isLeftOut(column) ? null : column.head.get();
    const made = this.#made.get(key);
    return made === undefined ? yield* this.#make(key) : made;
  }

  *preload(key: string): Generator<undefined, boolean> {
    const column = this.#columns.get(key);
    if (column === undefined || isLeftOut(column) || column.head.isLoaded) return false;
    if (!this.#options.memory.hasRoomFor(column.head.bytes + column.values.smallBytes)) return false;
    column.head.get();
    yield;
    column.values.preload();
    return true;
  }

  packed(): undefined {
    return undefined;
  }

  /** So that the column can be had at once. */
  async prepare(key: string, options: ReadOptions): Promise<void> {
    const column = this.#columns.get(key);
    if (column !== undefined && isLeftOut(column)) {
      const all = Uint16Array.from({ length: this.rows }, (_, row) => row);
      return this.#options.rows.prepare(all, options);
    }
    if (column !== undefined) {
      await column.head.prepare(options);
      await column.values.prepare(options);
      return;
    }
    await this.#keyRows.prepare(options);
    await this.#options.rows.prepare(this.#rowsOf(key), options);
  }

  *#make(key: string): Generator<undefined, MetadataColumn | null> {
    const builder = new ColumnBuilder();
    let bytes = 0;
    for (const row of this.#rowsOf(key)) {
      bytes += this.#options.rows.bytes(row);
      if (bytes >= BYTES_PER_PAUSE) {
        bytes = 0;
        yield;
      }
      const value = this.#options.rows.value(row, key);
      // Another key may have the same hash.
      const long = value === undefined ? undefined : builder.add(row, value);
      if (long !== undefined) yield* long;
      if (builder.isTooLarge) break;
    }
    const [oldest] = this.#made.keys();
    if (oldest !== undefined && this.#made.size >= MAX_COLUMNS) this.#made.delete(oldest);
    const words = this.rows / 32;
    const packed = yield* builder.pack(words);
    const column = packed === null ? null : MetadataColumn.packed(packed, words);
    this.#made.set(key, column);
    return column;
  }

  /** Rows that may hold the key, which has no column. */
  #rowsOf(key: string): Uint16Array {
    const { hashes, rows } = this.#keyRows.get();
    const hash = keyHash(key);
    const start = lowerBound(hashes.length, (i) => hashes[i]! < hash);
    let end = start;
    while (hashes[end] === hash) end++;
    return rows.subarray(start, end);
  }
}

/** It would have been too large. */
function isLeftOut({ head }: FileColumn): boolean {
  return head.bytes === 0;
}

function parseKeyRows(fields: PartFields, rowCount: number): KeyRows {
  const [count] = fields.u32(1);
  const hashes = fields.u32(count!);
  const rows = fields.u16(count!);
  fields.end();
  for (let i = 0; i < rows.length; i++)
    if (rows[i]! >= rowCount) throw fields.fail(`it has no row ${rows[i]}`);
  return { hashes, rows };
}
