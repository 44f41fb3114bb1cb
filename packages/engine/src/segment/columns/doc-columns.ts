/**
 * The metadata columns of a block of docIds, each made when it is first asked for. They cover the rows that were there when
 * this object was made; later rows are the caller's to test. At most `MAX_COLUMNS` are kept, so that requests for
 * ever new keys take no memory without end.
 */
import { MetadataColumn } from "./metadata-column.ts";
import type { RowMetadata } from "./row-metadata.ts";

export const MAX_COLUMNS = 64;

export class DocColumns {
  /** Rows covered, a multiple of 32. */
  readonly rows: number;
  readonly #metadata: RowMetadata;
  /** Least recently made first. */
  readonly #columns = new Map<string, MetadataColumn>();

  /** `metadata` only ever grows. */
  constructor(metadata: RowMetadata) {
    this.rows = metadata.length - (metadata.length % 32);
    this.#metadata = metadata;
  }

  /** Of the columns that there are, least recently made first. */
  get keys(): Iterable<string> {
    return this.#columns.keys();
  }

  /** The column if it is there already. */
  peek(key: string): MetadataColumn | undefined {
    return this.#columns.get(key);
  }

  /** Makes the column if need be, which takes up to a millisecond or two. */
  column(key: string): MetadataColumn {
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#columns.keys();
    if (oldest !== undefined && this.#columns.size >= MAX_COLUMNS) this.#columns.delete(oldest);
    const column = MetadataColumn.of(this.#metadata, this.rows, key);
    this.#columns.set(key, column);
    return column;
  }
}
