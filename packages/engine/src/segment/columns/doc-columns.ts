/**
 * The metadata columns of a block of docIds, each made when it is first asked for. They cover the rows that were there when
 * this object was made; later rows are the caller's to test. At most `MAX_COLUMNS` are kept, so that requests for
 * ever new keys take no memory without end.
 */
import type { BlockColumns } from "../doc-block.ts";
import { ColumnBuilder, type PackedColumn } from "./column-builder.ts";
import { MetadataColumn } from "./metadata-column.ts";
import type { MetadataRows } from "./metadata-rows.ts";

export const MAX_COLUMNS = 64;
/** Common keys: their columns are there before a filter asks for them. */
export const MAX_COMMON = 8;
/** In bytes of metadata: what a row takes beside, and about a millisecond. */
const ROW_WORK = 128;
const WORK_PER_PAUSE = 1024 * 1024;
/** A key is common that this share of the rows holds. */
const COMMON_SHARE = 1 / 16;

interface MadeColumn {
  readonly column: MetadataColumn;
  readonly packed: PackedColumn;
}

export class DocColumns implements BlockColumns {
  /** Rows covered, a multiple of 32. */
  readonly rows: number;
  readonly #metadata: MetadataRows;
  /** Least recently made first; `null`: it would be too large. */
  readonly #columns = new Map<string, MadeColumn | null>();

  /** `metadata` only ever grows. */
  constructor(metadata: MetadataRows) {
    this.rows = metadata.length - (metadata.length % 32);
    this.#metadata = metadata;
  }

  /** Of the columns that there are, least recently made first. */
  get keys(): Iterable<string> {
    return this.#columns.keys();
  }

  get common(): readonly string[] {
    const { keys, keyCounts, length } = this.#metadata;
    return [...keyCounts.entries()]
      .filter(([, count]) => count >= length * COMMON_SHARE)
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_COMMON)
      .map(([number]) => keys.at(number)!);
  }

  /** The column if it is there already. */
  peek(key: string): MetadataColumn | undefined {
    return this.#columns.get(key)?.column;
  }

  *column(key: string): Generator<undefined, MetadataColumn | null> {
    const known = this.#columns.get(key);
    if (known !== undefined) return known?.column ?? null;
    const packed = yield* this.#pack(key);
    const [oldest] = this.#columns.keys();
    if (oldest !== undefined && this.#columns.size >= MAX_COLUMNS) this.#columns.delete(oldest);
    const made = packed === null ? null : { column: MetadataColumn.packed(packed, this.rows / 32), packed };
    this.#columns.set(key, made);
    return made?.column ?? null;
  }

  *preload(key: string): Generator<undefined, boolean> {
    if (this.#columns.has(key) || this.#columns.size >= MAX_COLUMNS) return false;
    yield* this.column(key);
    return true;
  }

  packed(key: string): PackedColumn | null | undefined {
    const made = this.#columns.get(key);
    return made === null ? null : made?.packed;
  }

  *#pack(key: string): Generator<undefined, PackedColumn | null> {
    const builder = new ColumnBuilder();
    let work = 0;
    for (let row = 0; row < this.rows && !builder.isTooLarge; row++) {
      const value = this.#metadata.value(row, key);
      const long = value === undefined ? undefined : builder.add(row, value);
      if (long !== undefined) yield* long;
      work += ROW_WORK + this.#metadata.bytes(row);
      if (work < WORK_PER_PAUSE) continue;
      work = 0;
      yield;
    }
    return yield* builder.pack(this.rows / 32);
  }
}
