/**
 * Gathers the values of one metadata key, row by row, and packs them: numbers sorted, other values and members of arrays
 * grouped by value. The bytes are what `MetadataColumn` looks at, in memory and in index files; `storage-format.md` has the
 * layout.
 */
import { type MetadataScalar, type MetadataValue, isSparseVector } from "@sheaf/protocol";
import { hasBitset } from "./grouped-rows.ts";
import { setRows } from "./row-selection.ts";
import { lowerBound } from "../lower-bound.ts";
import { orderByKey } from "../native-order.ts";
import { ScalarCodes } from "./scalar-code.ts";
import { scalarKey } from "./scalar-key.ts";

type Numeric = bigint | number;
type RowsByValue = Map<MetadataScalar, number[]>;

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

export class ColumnBuilder {
  /** By string or boolean. */
  readonly #scalars: RowsByValue = new Map();
  /** By member of an array. */
  readonly #members: RowsByValue = new Map();
  readonly #numbers: Numeric[] = [];
  readonly #numberRows: number[] = [];

  /** `row` is larger than every one before. */
  add(row: number, value: MetadataValue): void {
    if (typeof value === "object") {
      if (!isSparseVector(value)) for (const member of value) addRow(this.#members, scalarKey(member), row);
      return;
    }
    const key = scalarKey(value);
    if (typeof key === "string" || typeof key === "boolean") addRow(this.#scalars, key, row);
    else {
      this.#numbers.push(key);
      this.#numberRows.push(row);
    }
  }

  /** Of 32 * `words` rows. */
  pack(words: number): PackedColumn {
    const { values, rows } = sortedByValue(this.#numbers, this.#numberRows);
    const form = formOf(values);
    const [scalars, members] = [this.#scalars, this.#members].map((rows) => packGroups(rows, words));
    const header = Uint32Array.of(
      ...[values.length, form],
      ...[scalars!, members!].flatMap(({ ends, bytes, rows }) => [ends.length, bytes.length, rows.length]),
    );
    const packed = [
      header,
      ...packNumbers(values, form),
      ...[scalars!, members!].flatMap(({ hashes, ends, starts }) => [hashes, ends, starts]),
      ...[scalars!.rows, members!.rows],
      rows,
      ...[scalars!.counts, members!.counts],
    ];
    return { head: concatenated(packed), values: Buffer.concat([scalars!.bytes, members!.bytes]) };
  }
}

interface PackedGroups {
  readonly hashes: Uint32Array;
  readonly ends: Uint32Array;
  readonly starts: Uint32Array;
  readonly counts: Uint16Array;
  readonly rows: Uint16Array;
  readonly bytes: Buffer;
}

function packGroups(rowsByValue: RowsByValue, words: number): PackedGroups {
  const lists = [...rowsByValue.values()];
  const codes = new ScalarCodes([...rowsByValue.keys()]);
  const order = orderByKey(codes.hashes);
  const bytes = Buffer.allocUnsafeSlow(codes.bytes.length);
  const ends = new Uint32Array(order.length);
  const starts = new Uint32Array(order.length);
  const isBitset = (list: readonly number[]): boolean => hasBitset(list.length, words);
  const bitsetUnits = 2 * words * lists.filter(isBitset).length;
  const listed = lists.reduce((sum, list) => sum + (isBitset(list) ? 0 : list.length), 0);
  // An even number, so that what follows is aligned.
  const rows = new Uint16Array(Math.ceil((bitsetUnits + listed) / 2) * 2);
  let nextBitset = 0;
  let nextList = bitsetUnits;
  let end = 0;
  for (let i = 0; i < order.length; i++) {
    const list = lists[order[i]!]!;
    const start = order[i] === 0 ? 0 : codes.ends[order[i]! - 1]!;
    ends[i] = end += codes.bytes.copy(bytes, end, start, codes.ends[order[i]!]);
    if (isBitset(list)) {
      starts[i] = nextBitset;
      setRows(new Uint32Array(rows.buffer, 2 * nextBitset, words), list);
      nextBitset += 2 * words;
    } else {
      starts[i] = nextList;
      for (const row of list) rows[nextList++] = row;
    }
  }
  return {
    hashes: codes.hashes.map((_, i) => codes.hashes[order[i]!]!),
    ends,
    starts,
    counts: Uint16Array.from(order, (group) => lists[group]!.length),
    rows,
    bytes,
  };
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

function addRow(rows: RowsByValue, key: MetadataScalar, row: number): void {
  const known = rows.get(key);
  if (known === undefined) rows.set(key, [row]);
  // An array may have a member twice.
  else if (known.at(-1) !== row) known.push(row);
}
