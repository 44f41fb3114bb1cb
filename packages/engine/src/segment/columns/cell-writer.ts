/**
 * The metadata of rows as bytes, in memory and in index files: little-endian numbers, texts as numbers of a table or as
 * they are, arrays of numbers in their form. Of a sparse vector only that there is one. `storage-format.md` has the
 * layout; `CellReader` reads it.
 */
import {
  type IntegerArray,
  type Metadata,
  type MetadataScalar,
  type MetadataValue,
  isIntegerArray,
  isLatin1,
  metadataKind,
} from "@sheaf/protocol";
import { eachMember } from "../../storage/member-steps.ts";
import { KIND_NUMBER } from "../../storage/metadata-kinds.ts";
import type { TextTable } from "./text-table.ts";

/** Longer arrays of numbers are listed. Each array object takes some 200 bytes beside its elements. */
const INLINE_BYTES = 4_096;
/** Instead of the width of the elements, with the place in the list instead of their number. */
export const LISTED = 0;
/** What the low two bits of a text's first word say of the others. */
export const TEXT = { known: 0, latin1: 1, utf16: 2 } as const;
const TABLE_TEXT_CHARACTERS = 64;

export type NumberArray = IntegerArray | Float64Array;

export class CellWriter {
  readonly #keys: TextTable;
  readonly #keyCounts: number[];
  readonly #texts: TextTable;
  /** Long ones: among the bytes they would be copied whenever those grow, and at every read. */
  readonly #arrays: NumberArray[];
  readonly #firstBytes: number;
  #bytes: Buffer;
  #at = 0;

  /** Keys, short texts and long arrays go to the tables; what these do not take is written where it stands. */
  constructor(
    tables: {
      readonly keys: TextTable;
      readonly keyCounts: number[];
      readonly texts: TextTable;
      readonly arrays: NumberArray[];
    },
    firstBytes: number,
  ) {
    this.#keyCounts = tables.keyCounts;
    this.#keys = tables.keys;
    this.#texts = tables.texts;
    this.#arrays = tables.arrays;
    this.#firstBytes = firstBytes;
    this.#bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  get length(): number {
    return this.#at;
  }

  /** Valid until the next write. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** A copy of what was written; the next write begins anew. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    // A segment that is full is written no more, and room that nobody fills would stay with it.
    this.#bytes = Buffer.allocUnsafeSlow(this.#firstBytes);
    this.#at = 0;
    return taken;
  }

  /** Pauses within long arrays, where what has been written so far is part of no row. */
  *row(metadata: Metadata): Generator<void, void> {
    this.#u32(metadata.size);
    for (const [key, value] of metadata) {
      const number = this.#keys.add(key);
      this.#text(key, number);
      const kind = metadataKind(value);
      if (number !== undefined)
        this.#keyCounts[number] = (this.#keyCounts[number] ?? 0) + (kind === "sparse_vector" ? 0 : 1);
      this.#u8(KIND_NUMBER[kind]);
      if (Array.isArray(value)) yield* this.#list(value);
      else this.#value(value);
    }
  }

  /** Of any but a list; of a sparse vector there is nothing to write. */
  #value(value: MetadataValue): void {
    if (typeof value !== "object") this.#scalar(value);
    else if (isIntegerArray(value) || value instanceof Float64Array) this.#numbers(value);
  }

  *#list(members: readonly MetadataScalar[]): Generator<void, void> {
    this.#u32(members.length);
    yield* eachMember(members.length, (at) => this.#scalar(members[at]!));
  }

  #numbers(array: NumberArray): void {
    if (array.byteLength > INLINE_BYTES) {
      this.#u8(LISTED);
      this.#u32(this.#arrays.push(array) - 1);
      return;
    }
    this.#u8(array.BYTES_PER_ELEMENT);
    this.#u32(array.length);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    this.#room(bytes.length).set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #scalar(value: MetadataScalar): void {
    if (typeof value === "string") {
      this.#text(value, value.length <= TABLE_TEXT_CHARACTERS ? this.#texts.add(value) : undefined);
    } else if (typeof value === "bigint") this.#at = this.#room(8).writeBigInt64LE(value, this.#at);
    else if (typeof value === "number") this.#at = this.#room(8).writeDoubleLE(value, this.#at);
    else this.#u8(value ? 1 : 0);
  }

  #text(text: string, number: number | undefined): void {
    if (number !== undefined) {
      this.#u32(number * 4 + TEXT.known);
      return;
    }
    const latin1 = isLatin1(text);
    this.#u32(text.length * 4 + (latin1 ? TEXT.latin1 : TEXT.utf16));
    this.#at += this.#room(2 * text.length).write(text, this.#at, latin1 ? "latin1" : "utf16le");
  }

  #u32(value: number): void {
    this.#at = this.#room(4).writeUInt32LE(value, this.#at);
  }

  #u8(value: number): void {
    this.#at = this.#room(1).writeUInt8(value, this.#at);
  }

  #room(count: number): Buffer {
    const needed = this.#at + count;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
