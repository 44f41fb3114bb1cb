/**
 * Metadata values as bytes in memory: little-endian numbers, texts as numbers of a table or as they are, arrays of numbers
 * in their form. Of a sparse vector only that there is one. Nothing of this is ever on disk (that is
 * `storage/metadata-codec.ts`).
 */
import {
  type IntegerArray,
  type IntegerWidth,
  type MetadataKind,
  type MetadataScalar,
  type MetadataValue,
  type SparseVector,
  isIntegerArray,
  emptyIntegerArray,
  isLatin1,
} from "@sheaf/protocol";

const KINDS = [
  "bool",
  "int",
  "float",
  "string",
  "sparse_vector",
  "bool_array",
  "int_array",
  "float_array",
  "string_array",
] as const satisfies readonly MetadataKind[];
const KIND_NUMBERS = new Map<MetadataKind, number>(KINDS.map((kind, number) => [kind, number]));
const SCALARS_OF_ARRAYS = new Map<MetadataKind, MetadataKind>([
  ["bool_array", "bool"],
  ["string_array", "string"],
]);
/** Longer arrays of numbers are listed. Each array object takes some 200 bytes beside its elements. */
const INLINE_BYTES = 4_096;
/** Instead of the width of the elements, with the place in the list instead of their number. */
const LISTED = 0;
const NUMBER_ARRAYS: ReadonlySet<MetadataKind> = new Set(["int_array", "float_array"]);
const PLACEHOLDER: SparseVector = { indices: new Uint32Array(0), values: new Float32Array(0) };
/** What the low two bits of a text's first word say of the others. */
const TEXT = { known: 0, latin1: 1, utf16: 2 } as const;

/** Texts by number, each once. */
export class TextTable {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #limit: number;

  /** Takes no more than `limit` texts. */
  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  /** `undefined`: the table does not have it. */
  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** `undefined`: the table does not have it and is full. */
  add(text: string): number | undefined {
    const known = this.#numbers.get(text);
    if (known !== undefined || this.#texts.length >= this.#limit) return known;
    this.#numbers.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  at(number: number): string {
    return this.#texts[number]!;
  }
}

type NumberArray = IntegerArray | Float64Array;

export function kindNumber(kind: MetadataKind): number {
  return KIND_NUMBERS.get(kind)!;
}

/** What cells name by number. */
export interface CellTables {
  readonly texts: TextTable;
  /** Long ones: among the bytes they would be copied whenever those grow, and at every read. */
  readonly arrays: NumberArray[];
}

/** Appends to a buffer that grows. */
export class CellWriter {
  readonly #texts: TextTable;
  readonly #maxTableText: number;
  readonly #firstBytes: number;
  readonly #arrays: NumberArray[];
  #bytes: Buffer;
  #at = 0;

  /** Texts of up to `maxTableText` characters go to the table while it takes them. */
  constructor(
    { texts, arrays }: CellTables,
    { maxTableText, firstBytes }: { readonly maxTableText: number; readonly firstBytes: number },
  ) {
    this.#texts = texts;
    this.#arrays = arrays;
    this.#maxTableText = maxTableText;
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

  u32(value: number): void {
    this.#at = this.#room(4).writeUInt32LE(value, this.#at);
  }

  u8(value: number): void {
    this.#at = this.#room(1).writeUInt8(value, this.#at);
  }

  value(value: MetadataValue): void {
    if (typeof value !== "object") this.#scalar(value);
    else if (isIntegerArray(value) || value instanceof Float64Array) {
      this.#numbers(value);
    } else if (!("indices" in value)) {
      this.u32(value.length);
      for (const member of value) this.#scalar(member);
    }
  }

  #numbers(array: NumberArray): void {
    if (array.byteLength > INLINE_BYTES) {
      this.u8(LISTED);
      this.u32(this.#arrays.push(array) - 1);
      return;
    }
    this.u8(array.BYTES_PER_ELEMENT);
    this.u32(array.length);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    this.#room(bytes.length).set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #scalar(value: MetadataScalar): void {
    if (typeof value === "string") this.#text(value);
    else if (typeof value === "bigint") this.#at = this.#room(8).writeBigInt64LE(value, this.#at);
    else if (typeof value === "number") this.#at = this.#room(8).writeDoubleLE(value, this.#at);
    else this.u8(value ? 1 : 0);
  }

  #text(text: string): void {
    const number = text.length <= this.#maxTableText ? this.#texts.add(text) : undefined;
    if (number !== undefined) {
      this.u32(number * 4 + TEXT.known);
      return;
    }
    const latin1 = isLatin1(text);
    this.u32(text.length * 4 + (latin1 ? TEXT.latin1 : TEXT.utf16));
    this.#at += this.#room(2 * text.length).write(text, this.#at, latin1 ? "latin1" : "utf16le");
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

/** Reads what a `CellWriter` with the same tables wrote. */
export class CellReader {
  readonly #texts: TextTable;
  readonly #arrays: NumberArray[];
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor({ texts, arrays }: CellTables) {
    this.#texts = texts;
    this.#arrays = arrays;
  }

  moveTo(bytes: Buffer, at: number): void {
    this.#bytes = bytes;
    this.#at = at;
  }

  u32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  u8(): number {
    return this.#bytes[this.#at++]!;
  }

  value(kindOf: number): MetadataValue {
    const kind = KINDS[kindOf]!;
    if (kind === "sparse_vector") return PLACEHOLDER;
    if (NUMBER_ARRAYS.has(kind)) return this.#numbers(kind);
    const scalar = SCALARS_OF_ARRAYS.get(kind);
    if (scalar === undefined) return this.#scalar(kind);
    const members: MetadataScalar[] = [];
    for (let left = this.u32(); left > 0; left--) members.push(this.#scalar(scalar));
    return members as MetadataValue;
  }

  skip(kindOf: number): void {
    const kind = KINDS[kindOf]!;
    if (kind === "sparse_vector") return;
    if (NUMBER_ARRAYS.has(kind)) {
      const width = this.u8();
      const word = this.u32();
      this.#at += width * word;
      return;
    }
    const scalar = SCALARS_OF_ARRAYS.get(kind);
    if (scalar === undefined) this.#skipScalar(kind);
    else for (let left = this.u32(); left > 0; left--) this.#skipScalar(scalar);
  }

  #numbers(kind: MetadataKind): NumberArray {
    const width = this.u8();
    const word = this.u32();
    if (width === LISTED) return this.#arrays[word]!;
    const array =
      kind === "float_array" ? new Float64Array(word) : emptyIntegerArray(width as IntegerWidth, word);
    const start = this.#at;
    this.#at += array.byteLength;
    this.#bytes.copy(new Uint8Array(array.buffer), 0, start, this.#at);
    return array;
  }

  #scalar(kind: MetadataKind): MetadataScalar {
    if (kind === "string") return this.#text();
    if (kind === "bool") return this.u8() === 1;
    this.#at += 8;
    return kind === "int" ? this.#bytes.readBigInt64LE(this.#at - 8) : this.#bytes.readDoubleLE(this.#at - 8);
  }

  #skipScalar(kind: MetadataKind): void {
    // Reading the head moves on by itself.
    const bytes = kind === "string" ? textBytes(this.u32()) : kind === "bool" ? 1 : 8;
    this.#at += bytes;
  }

  #text(): string {
    const head = this.u32();
    if ((head & 3) === TEXT.known) return this.#texts.at(head >>> 2);
    const start = this.#at;
    this.#at += textBytes(head);
    return this.#bytes.toString((head & 3) === TEXT.latin1 ? "latin1" : "utf16le", start, this.#at);
  }
}

/** Bytes of a text behind its first word. */
function textBytes(head: number): number {
  const form = head & 3;
  return form === TEXT.known ? 0 : (head >>> 2) * (form === TEXT.utf16 ? 2 : 1);
}
