/** Reads what a `CellWriter` wrote. Bytes may be of a file: nothing they say leads beyond them. */
import {
  type IntegerWidth,
  INTEGER_WIDTHS,
  type Metadata,
  type MetadataKind,
  type MetadataScalar,
  type MetadataValue,
  type SparseVector,
  emptyIntegerArray,
} from "@sheaf/protocol";
import { eachMember } from "../../storage/member-steps.ts";
import { kindOf } from "../../storage/metadata-kinds.ts";
import { LISTED, type NumberArray, TEXT } from "./cell-writer.ts";
import type { Texts } from "./text-table.ts";

const SCALARS_OF_ARRAYS = new Map<MetadataKind, MetadataKind>([
  ["bool_array", "bool"],
  ["string_array", "string"],
]);
const NUMBER_ARRAYS: ReadonlySet<MetadataKind> = new Set(["int_array", "float_array"]);
/** Shorter rows are read at once. */
const LONG_ROW_BYTES = 64 * 1024;
const PLACEHOLDER: SparseVector = { indices: new Uint32Array(0), values: new Float32Array(0) };

/** What cells name by number, and what is said of bytes that do not fit. */
export interface CellSource {
  readonly keys: Texts;
  readonly texts: Texts;
  /** `undefined`: there is no such array. */
  arrayAt(number: number): NumberArray | undefined;
  damaged(reason: string): Error;
}

export class CellReader {
  readonly #source: CellSource;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  constructor(source: CellSource) {
    this.#source = source;
  }

  /** Stands on the row whose bytes are those from `start` to `end`. */
  moveTo(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = Math.min(end, bytes.length);
  }

  /** Of the row; sparse vectors are empty. */
  row(): Metadata {
    const metadata = new Map<string, MetadataValue>();
    for (let left = this.#u32(); left > 0; left--) {
      const key = this.#text(this.#source.keys);
      metadata.set(key, this.#value(this.#kind()));
    }
    return metadata;
  }

  /** `row` with pauses within long arrays, in which others may read. */
  *rowInSteps(): Generator<void, Metadata> {
    if (this.#end - this.#at < LONG_ROW_BYTES) return this.row();
    const own = new CellReader(this.#source);
    own.moveTo(this.#bytes, this.#at, this.#end);
    const metadata = new Map<string, MetadataValue>();
    for (let left = own.#u32(); left > 0; left--) {
      const key = own.#text(this.#source.keys);
      const kind = own.#kind();
      const scalar = SCALARS_OF_ARRAYS.get(kind);
      metadata.set(key, scalar === undefined ? own.#value(kind) : yield* own.#listInSteps(scalar));
    }
    return metadata;
  }

  *#listInSteps(scalar: MetadataKind): Generator<void, MetadataValue> {
    const members: MetadataScalar[] = [];
    yield* eachMember(this.#u32(), () => members.push(this.#scalar(scalar)));
    return members as MetadataValue;
  }

  /** The same for one key, of which `number` is that in the table. `undefined`: the row does not have the key. */
  value(key: string, number: number | undefined): MetadataValue | undefined {
    for (let left = this.#u32(); left > 0; left--) {
      const isWanted = this.#isText(key, number);
      const kind = this.#kind();
      if (isWanted) return this.#value(kind);
      this.#skip(kind);
    }
    return undefined;
  }

  #value(kind: MetadataKind): MetadataValue {
    if (kind === "sparse_vector") return PLACEHOLDER;
    if (NUMBER_ARRAYS.has(kind)) return this.#numbers(kind);
    const scalar = SCALARS_OF_ARRAYS.get(kind);
    if (scalar === undefined) return this.#scalar(kind);
    const members: MetadataScalar[] = [];
    for (let left = this.#u32(); left > 0; left--) members.push(this.#scalar(scalar));
    return members as MetadataValue;
  }

  #skip(kind: MetadataKind): void {
    if (kind === "sparse_vector") return;
    if (NUMBER_ARRAYS.has(kind)) {
      const width = this.#u8();
      this.#take(width * this.#u32());
      return;
    }
    const scalar = SCALARS_OF_ARRAYS.get(kind);
    if (scalar === undefined) this.#skipScalar(kind);
    else for (let left = this.#u32(); left > 0; left--) this.#skipScalar(scalar);
  }

  #numbers(kind: MetadataKind): NumberArray {
    const width = this.#u8();
    const count = this.#u32();
    if (width === LISTED) return this.#source.arrayAt(count) ?? this.#fail(`array ${count} is not listed`);
    const isFloat = kind === "float_array";
    if (isFloat ? width !== 8 : !INTEGER_WIDTHS.includes(width as IntegerWidth))
      this.#fail(`numbers of ${width} bytes`);
    const start = this.#take(width * count);
    const array = isFloat ? new Float64Array(count) : emptyIntegerArray(width as IntegerWidth, count);
    this.#bytes.copy(new Uint8Array(array.buffer), 0, start, start + array.byteLength);
    return array;
  }

  #scalar(kind: MetadataKind): MetadataScalar {
    if (kind === "string") return this.#text(this.#source.texts);
    if (kind === "bool") return this.#u8() === 1;
    const at = this.#take(8);
    return kind === "int" ? this.#bytes.readBigInt64LE(at) : this.#bytes.readDoubleLE(at);
  }

  #skipScalar(kind: MetadataKind): void {
    this.#take(kind === "string" ? textBytes(this.#u32()) : kind === "bool" ? 1 : 8);
  }

  #text(table: Texts): string {
    const head = this.#u32();
    const number = head >>> 2;
    if ((head & 3) === TEXT.known) return table.at(number) ?? this.#fail(`text ${number} is in no table`);
    const start = this.#take(textBytes(head));
    return this.#bytes.toString((head & 3) === TEXT.latin1 ? "latin1" : "utf16le", start, this.#at);
  }

  /** Whether the next text is the one with this number, if it has one; goes on behind it. */
  #isText(text: string, number: number | undefined): boolean {
    const head = this.#u32();
    if ((head & 3) === TEXT.known) return head >>> 2 === number;
    const start = this.#take(textBytes(head));
    return (
      number === undefined &&
      head >>> 2 === text.length &&
      this.#bytes.toString((head & 3) === TEXT.latin1 ? "latin1" : "utf16le", start, this.#at) === text
    );
  }

  #kind(): MetadataKind {
    const number = this.#u8();
    return kindOf(number) ?? this.#fail(`metadata kind ${number} is unknown`);
  }

  #u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  #u8(): number {
    return this.#bytes[this.#take(1)]!;
  }

  /** Where the next bytes begin. */
  #take(bytes: number): number {
    const at = this.#at;
    this.#at += bytes;
    if (this.#at > this.#end) this.#fail("the row is cut off");
    return at;
  }

  #fail(reason: string): never {
    throw this.#source.damaged(reason);
  }
}

/** Bytes of a text behind its first word. */
function textBytes(head: number): number {
  const form = head & 3;
  return form === TEXT.known ? 0 : (head >>> 2) * (form === TEXT.utf16 ? 2 : 1);
}
