/**
 * Gathers the values of one metadata key, row by row, and packs them: numbers sorted, other values and members of arrays
 * grouped by value. The bytes are what `MetadataColumn` looks at, in memory and in index files; `storage-format.md` has the
 * layout.
 */
import { type MetadataArray, type MetadataValue, isSparseVector } from "@sheaf/protocol";
import { MEMBERS_PER_STEP } from "../../storage/member-steps.ts";
import { GroupBuilder } from "./group-builder.ts";
import { setRows } from "./row-selection.ts";
import { lowerBound } from "../../storage/lower-bound.ts";
import { scalarKey } from "./scalar-key.ts";

type Numeric = bigint | number;

/** How numbers are kept: integers of so many bytes, or one of these. */
export const NUMBER_FORM = { int8: 1, int16: 2, int32: 4, float64: 8, mixed: 16 } as const;
export type NumberForm = (typeof NUMBER_FORM)[keyof typeof NUMBER_FORM];
/** Numbers at the beginning. */
export const HEADER_WORDS = 8;

export interface PackedColumn {
  /** A multiple of 8. */
  readonly head: Uint8Array;
  /** Bytes of values, then of members. */
  readonly values: Buffer;
}

/** A larger column is not made: it would take several times what its values do, and the rows are looked at instead. */
const MOST_BYTES = 8 * 1024 * 1024;

export class ColumnBuilder {
  /** By string or boolean. */
  readonly #scalars = new GroupBuilder();
  /** By member of an array. */
  readonly #members = new GroupBuilder();
  readonly #numbers: Numeric[] = [];
  readonly #numberRows: number[] = [];

  /** `row` is larger than every one before. What is left of a long array is added in steps. */
  add(row: number, value: MetadataValue): Generator<undefined, void> | undefined {
    if (typeof value === "object") {
      if (isSparseVector(value)) return undefined;
      if (value.length > MEMBERS_PER_STEP) return this.#addLong(row, value);
      for (const member of value) this.#members.add(scalarKey(member), row);
      return undefined;
    }
    const key = scalarKey(value);
    if (typeof key === "string" || typeof key === "boolean") this.#scalars.add(key, row);
    else {
      this.#numbers.push(key);
      this.#numberRows.push(row);
    }
    return undefined;
  }

  /** What values and members take once they are packed, about. */
  get bytes(): number {
    return this.#scalars.bytes + this.#members.bytes;
  }

  /** Nothing needs to be added any more: members of arrays are too many. */
  get isTooLarge(): boolean {
    return this.#members.bytes > MOST_BYTES;
  }

  /** Of 32 * `words` rows; `null`: it would be too large. Pauses about every millisecond. */
  *pack(words: number): Generator<undefined, PackedColumn | null> {
    if (this.isTooLarge) return null;
    const { values, rows } = sortedByValue(this.#numbers, this.#numberRows);
    const form = formOf(values);
    const groups = [yield* this.#scalars.pack(words), yield* this.#members.pack(words)];
    const header = Uint32Array.of(
      ...[values.length, form],
      ...groups.flatMap(({ ends, bytes, rows }) => [ends.length, bytes.length, rows.length]),
    );
    const packed = [
      header,
      ...packNumbers(values, form),
      ...groups.flatMap(({ hashes, ends, starts }) => [hashes, ends, starts]),
      ...groups.map((group) => group.rows),
      rows,
      ...groups.map(({ counts }) => counts),
    ];
    return { head: concatenated(packed), values: Buffer.concat(groups.map(({ bytes }) => bytes)) };
  }

  *#addLong(row: number, members: MetadataArray): Generator<undefined, void> {
    for (let i = 0; i < members.length && !this.isTooLarge; i++) {
      this.#members.add(scalarKey(members[i]!), row);
      if (i % MEMBERS_PER_STEP === MEMBERS_PER_STEP - 1) yield;
    }
  }
}

interface NumbersByValue {
  /** Ascending. */
  readonly values: Float64Array | readonly Numeric[];
  readonly rows: Uint16Array;
}

/** Equal numbers keep the order of their rows. */
function sortedByValue(numbers: readonly Numeric[], rows: readonly number[]): NumbersByValue {
  if (numbers.some((number) => typeof number === "bigint")) {
    const order = Array.from(numbers, (_, i) => i);
    order.sort((a, b) => (numbers[a]! < numbers[b]! ? -1 : Number(numbers[a]! > numbers[b]!)));
    return { values: order.map((i) => numbers[i]!), rows: Uint16Array.from(order, (i) => rows[i]!) };
  }
  // Sorted without a comparator, and each row put in its place then: a fifth of the time. No number is -0, which would
  // come before 0.
  const values = Float64Array.from(numbers as readonly number[], (number) => number + 0);
  const unsorted = values.slice();
  values.sort();
  const placed = new Uint16Array(values.length);
  const sortedRows = new Uint16Array(values.length);
  for (let i = 0; i < unsorted.length; i++) {
    const value = unsorted[i]!;
    const first = lowerBound(values.length, (place) => values[place]! < value);
    sortedRows[first + placed[first]!++] = rows[i]!;
  }
  return { values, rows: sortedRows };
}

function formOf(values: Float64Array | readonly Numeric[]): NumberForm {
  let form: NumberForm = NUMBER_FORM.int8;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (typeof value === "bigint") return NUMBER_FORM.mixed;
    if ((value | 0) !== value) form = NUMBER_FORM.float64;
    else if (form < 4 && (value << 16) >> 16 !== value) form = NUMBER_FORM.int32;
    else if (form < 2 && (value << 24) >> 24 !== value) form = NUMBER_FORM.int16;
  }
  return form;
}

/** `mixed`: eight bytes each, and a bit for each that is an int64. */
function packNumbers(values: Float64Array | readonly Numeric[], form: NumberForm): ArrayBufferView[] {
  if (form !== NUMBER_FORM.mixed) {
    const Form = { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: Float64Array }[form];
    const numbers = Form.from(values as ArrayLike<number>);
    return [numbers, new Uint8Array((8 - (numbers.byteLength % 8)) % 8)];
  }
  const words = new DataView(new ArrayBuffer(8 * values.length));
  const integers = new Uint32Array(Math.ceil(values.length / 32));
  for (const [i, value] of values.entries()) {
    // A bigint beyond int64 was a float.
    if (typeof value === "bigint" && BigInt.asIntN(64, value) === value) {
      words.setBigInt64(8 * i, value, true);
      setRows(integers, [i]);
    } else words.setFloat64(8 * i, Number(value), true);
  }
  return [words, integers];
}

/** Filled up to a multiple of 8. */
function concatenated(parts: readonly ArrayBufferView[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const bytes = new Uint8Array(Math.ceil(length / 8) * 8);
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of parts) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return bytes;
}
