/**
 * The values of one metadata key over the first rows of a segment, turned around: which rows hold a value, which hold
 * a number of a range, which arrays have a member. Numbers are sorted by exact value, whatever their kind. Immutable.
 */
import { type MetadataScalar, type MetadataValue, isSparseVector } from "@sheaf/protocol";
import { GroupedRows } from "./grouped-rows.ts";
import type { RowMetadata } from "./row-metadata.ts";
import type { RowSelection } from "./row-selection.ts";
import { scalarKey } from "./scalar-key.ts";
import { SortedNumbers } from "./sorted-numbers.ts";

export type RangeOperator = "$gt" | "$gte" | "$lt" | "$lte";

/** What a column can be asked for. Values are keys as `scalarKey` makes them. */
export type ColumnQuery =
  | { readonly type: "equal"; readonly values: ReadonlySet<MetadataScalar> }
  | { readonly type: "member"; readonly value: MetadataScalar }
  | { readonly type: "range"; readonly operator: RangeOperator; readonly bound: bigint | number };

export class MetadataColumn {
  /** By string or boolean. */
  readonly #scalars: GroupedRows;
  /** By member of an array. */
  readonly #members: GroupedRows;
  readonly #numbers: SortedNumbers;

  /** Of the first `count` rows. */
  constructor(metadata: RowMetadata, count: number, key: string) {
    const scalars = new Map<MetadataScalar, number[]>();
    const members = new Map<MetadataScalar, number[]>();
    const numbers: { value: bigint | number; row: number }[] = [];
    for (let row = 0; row < count; row++) {
      const value = metadata.value(row, key);
      if (value === undefined) continue;
      if (typeof value === "object") for (const member of membersOf(value)) addRow(members, member, row);
      else {
        const scalar = scalarKey(value);
        if (typeof scalar === "string" || typeof scalar === "boolean") addRow(scalars, scalar, row);
        else numbers.push({ value: scalar, row });
      }
    }
    this.#scalars = new GroupedRows(Math.ceil(count / 32), scalars);
    this.#members = new GroupedRows(Math.ceil(count / 32), members);
    this.#numbers = new SortedNumbers(Math.ceil(count / 32), numbers);
  }

  /** The rows that match; a row without the key never does. */
  select(query: ColumnQuery): RowSelection {
    if (query.type === "member") return this.#members.select(query.value);
    if (query.type === "range") return this.#numbers.range(query.operator, query.bound);
    const { values } = query;
    if (values.size > 1)
      return selectionOfAny([this.#scalars.selectAny(values), this.#numbers.selectAny(values)]);
    const [value] = values;
    if (typeof value === "bigint" || typeof value === "number") return this.#numbers.equal(value);
    return value === undefined ? this.#scalars.selectAny(values) : this.#scalars.select(value);
  }
}

function selectionOfAny(selections: readonly RowSelection[]): RowSelection {
  return {
    count: selections.reduce((sum, { count }) => sum + count, 0),
    bits: () => {
      const [bits, ...others] = selections.map((selection) => selection.bits());
      const union = bits!.slice();
      for (const other of others) for (let i = 0; i < union.length; i++) union[i]! |= other[i]!;
      return union;
    },
  };
}

/** As keys of `scalarKey`, or something that it makes the same key of: a narrow integer array holds numbers. */
function membersOf(value: Extract<MetadataValue, object>): Iterable<MetadataScalar> {
  return isSparseVector(value) ? [] : value;
}

function addRow(rows: Map<MetadataScalar, number[]>, value: MetadataScalar, row: number): void {
  const key = scalarKey(value);
  const known = rows.get(key);
  if (known === undefined) rows.set(key, [row]);
  // An array may have a member twice.
  else if (known.at(-1) !== row) known.push(row);
}
