/**
 * The values of one metadata key over the first rows of a block, turned around: which rows hold a value, which hold
 * a number of a range, which arrays have a member. Numbers are sorted by exact value, whatever their kind. Immutable, and
 * the same bytes in memory and in index files.
 */
import { type MetadataScalar, SheafError } from "@sheaf/protocol";
import { PartFields } from "../../storage/files/part-fields.ts";
import { addBits, hasBit } from "../bits.ts";
import { HEADER_WORDS, NUMBER_FORM, type PackedColumn } from "./column-builder.ts";
import { type Groups, GroupedRows, hasBitset } from "./grouped-rows.ts";
import type { RowSelection } from "./row-selection.ts";
import { MemoryBytes, type ValueBytes } from "./value-bytes.ts";
import { type NumericValues, SortedNumbers } from "./sorted-numbers.ts";

export type RangeOperator = "$gt" | "$gte" | "$lt" | "$lte";

/** What a column can be asked for. Values are keys as `scalarKey` makes them. */
export type ColumnQuery =
  | { readonly type: "equal"; readonly values: ReadonlySet<MetadataScalar> }
  | { readonly type: "member"; readonly value: MetadataScalar }
  | { readonly type: "range"; readonly operator: RangeOperator; readonly bound: bigint | number };

/** As a `ColumnBuilder` packed them. */
export interface ColumnParts {
  readonly fields: PartFields;
  /** With zeros behind them up to a multiple of 8, in a file. */
  readonly values: ValueBytes;
}

const ALIGNMENT = 8;

export class MetadataColumn {
  /** By string or boolean. */
  readonly scalars: GroupedRows;
  /** By member of an array. */
  readonly members: GroupedRows;
  readonly numbers: SortedNumbers;

  /** Of 32 * `words` rows. */
  constructor({ fields, values: bytes }: ColumnParts, words: number) {
    const [numbers, form, ...sizes] = fields.u32(HEADER_WORDS);
    const values = numericValues(fields, numbers!, form!);
    const [scalarGroups, scalarBytes, scalarRows, memberGroups, memberBytes, memberRows] = sizes;
    const arrays = [scalarGroups!, memberGroups!].map((count) => {
      return { hashes: fields.u32(count), ends: fields.u32(count), starts: fields.u32(count) };
    });
    const rows = [fields.u16(scalarRows!), fields.u16(memberRows!)];
    const numberRows = fields.u16(numbers!);
    const counts = [fields.u16(scalarGroups!), fields.u16(memberGroups!)];
    const groups = arrays.map((array, i): Groups => {
      const firstByte = i === 0 ? 0 : scalarBytes!;
      fields.requireAscending(array.ends, i === 0 ? scalarBytes! : memberBytes!);
      return { ...array, rows: rows[i]!, counts: counts[i]!, values: bytes, firstByte };
    });
    const left = bytes.length - scalarBytes! - memberBytes!;
    if (left < 0 || left >= ALIGNMENT) throw fields.fail(`values of ${bytes.length} bytes`);
    fields.end();
    for (const group of groups) requireRows(fields, group, words);
    this.scalars = new GroupedRows(words, groups[0]!);
    this.members = new GroupedRows(words, groups[1]!);
    this.numbers = new SortedNumbers(words, { values, rows: numberRows });
  }

  /** As a `ColumnBuilder` packed it. */
  static packed({ head, values }: PackedColumn, words: number): MetadataColumn {
    const fields = new PartFields(head, (reason) => new SheafError("internal", reason));
    return new MetadataColumn({ fields, values: new MemoryBytes(values) }, words);
  }

  /** The rows that match; a row without the key never does. */
  select(query: ColumnQuery): RowSelection {
    if (query.type === "member") return this.members.select(query.value);
    if (query.type === "range") return this.numbers.range(query.operator, query.bound);
    const { values } = query;
    if (values.size > 1)
      return selectionOfAny([this.scalars.selectAny(values), this.numbers.selectAny(values)]);
    const [value] = values;
    if (typeof value === "bigint" || typeof value === "number") return this.numbers.equal(value);
    return value === undefined ? this.scalars.selectAny(values) : this.scalars.select(value);
  }
}

function selectionOfAny(all: readonly RowSelection[]): RowSelection {
  const selections = all.filter(({ count }) => count > 0);
  if (selections.length < 2) return selections[0] ?? all[0]!;
  return {
    count: selections.reduce((sum, { count }) => sum + count, 0),
    bits: () => {
      const [bits, ...others] = selections.map((selection) => selection.bits());
      const union = bits!.slice();
      for (const other of others) addBits(union, other);
      return union;
    },
  };
}

/** Bitsets and lists are within the rows of their column. */
function requireRows(fields: PartFields, { counts, starts, rows }: Groups, words: number): void {
  for (let group = 0; group < counts.length; group++) {
    const [count, start] = [counts[group]!, starts[group]!];
    const isSet = hasBitset(count, words);
    // Words of a bitset are aligned; a length before it that lies moves them.
    const isAligned = (rows.byteOffset + 2 * start) % 4 === 0;
    if (start + (isSet ? 2 * words : count) > rows.length || (isSet && !isAligned))
      throw fields.fail(`rows of value ${group} are beyond the others`);
  }
}

function numericValues(fields: PartFields, count: number, form: number): NumericValues {
  const width = form === NUMBER_FORM.mixed ? 8 : form;
  const { buffer, byteOffset } = fields.bytes(Math.ceil((count * width) / 8) * 8);
  if (form === NUMBER_FORM.int8) return new Int8Array(buffer, byteOffset, count);
  if (form === NUMBER_FORM.int16) return new Int16Array(buffer, byteOffset, count);
  if (form === NUMBER_FORM.int32) return new Int32Array(buffer, byteOffset, count);
  if (form === NUMBER_FORM.float64) return new Float64Array(buffer, byteOffset, count);
  if (form !== NUMBER_FORM.mixed) throw fields.fail(`numbers of form ${form}`);
  const integers = fields.u32(Math.ceil(count / 32));
  const words = new DataView(buffer, byteOffset, 8 * count);
  return Array.from({ length: count }, (_, i) => {
    if (hasBit(integers, i)) return words.getBigInt64(8 * i, true);
    const number = words.getFloat64(8 * i, true);
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
  });
}
