/**
 * The metadata of a segment's rows as bytes: a `Map` for each row takes ten times the memory, and every full garbage
 * collection visits all of its parts. Rows are only ever appended. Sparse vectors are empty when read back: their
 * terms are in the inverted lists, and whoever wants the vector reads the store.
 */
import { type Metadata, type MetadataValue, metadataKind } from "@sheaf/protocol";
import { CellReader, type CellTables, CellWriter, TextTable, kindNumber } from "./metadata-cells.ts";

/** Rows whose bytes are one buffer. */
const BLOCK_ROWS = 512;
const FIRST_BYTES = 256;
/** Texts that are the same in many rows are kept once; where more than so many differ, few are. */
const TABLE_TEXTS = 512;
const TABLE_TEXT_CHARACTERS = 64;

export class MetadataRows {
  readonly #keys = new TextTable();
  readonly #tables: CellTables = { texts: new TextTable(TABLE_TEXTS), arrays: [] };
  readonly #reader = new CellReader(this.#tables);
  /** Of full blocks. */
  readonly #blocks: Buffer[] = [];
  /** By row, where its bytes end in its block. */
  #ends = new Uint32Array(16);
  /** The block that still fills. */
  readonly #writer = new CellWriter(this.#tables, {
    maxTableText: TABLE_TEXT_CHARACTERS,
    firstBytes: FIRST_BYTES,
  });
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(metadata: Metadata | null): void {
    if (metadata !== null) {
      this.#writer.u32(metadata.size);
      for (const [key, value] of metadata) {
        this.#writer.u32(this.#keys.add(key)!);
        this.#writer.u8(kindNumber(metadataKind(value)));
        this.#writer.value(value);
      }
    }
    if (this.#length === this.#ends.length) {
      const ends = new Uint32Array(2 * this.#length);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#ends[this.#length++] = this.#writer.length;
    if (this.#length % BLOCK_ROWS === 0) this.#blocks.push(this.#writer.take());
  }

  get(row: number): Metadata | null {
    if (!this.#moveTo(row)) return null;
    const metadata = new Map<string, MetadataValue>();
    for (let left = this.#reader.u32(); left > 0; left--) {
      const key = this.#keys.at(this.#reader.u32());
      metadata.set(key, this.#reader.value(this.#reader.u8()));
    }
    return metadata;
  }

  /** `undefined`: the row does not have the key. */
  value(row: number, key: string): MetadataValue | undefined {
    const wanted = this.#keys.find(key);
    if (wanted === undefined || !this.#moveTo(row)) return undefined;
    for (let left = this.#reader.u32(); left > 0; left--) {
      const isWanted = this.#reader.u32() === wanted;
      const kind = this.#reader.u8();
      if (isWanted) return this.#reader.value(kind);
      this.#reader.skip(kind);
    }
    return undefined;
  }

  /** What a look at a value of the row may have to walk through. */
  bytes(row: number): number {
    return this.#ends[row]! - this.#start(row);
  }

  /** `false`: the row has none. */
  #moveTo(row: number): boolean {
    const start = this.#start(row);
    this.#reader.moveTo(this.#blocks[Math.floor(row / BLOCK_ROWS)] ?? this.#writer.bytes, start);
    return this.#ends[row]! > start;
  }

  #start(row: number): number {
    return row % BLOCK_ROWS === 0 ? 0 : this.#ends[row - 1]!;
  }
}
