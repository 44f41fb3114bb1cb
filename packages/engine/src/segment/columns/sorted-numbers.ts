/**
 * Numbers with their rows, sorted by exact value: JavaScript compares a bigint with a number without rounding. Views of
 * the bytes of a column.
 */
import type { MetadataScalar } from "@sheaf/protocol";
import { lowerBound } from "../../storage/lower-bound.ts";
import { type RowSelection, clearRows, noRows, setRows } from "./row-selection.ts";

type Numeric = bigint | number;
export type NumericValues = Int8Array | Int16Array | Int32Array | Float64Array | readonly Numeric[];

export class SortedNumbers {
  /** Ascending. A plain array only where a number needs to be a bigint. */
  readonly values: NumericValues;
  readonly #words: number;
  /** Of each value its row. */
  readonly rows: Uint16Array;
  /** All rows that have a number. */
  readonly #all: Uint32Array;

  /** Of 32 * `words` rows. Values are keys as `scalarKey` makes them. */
  constructor(
    words: number,
    { values, rows }: { readonly values: NumericValues; readonly rows: Uint16Array },
  ) {
    this.values = values;
    this.#words = words;
    this.rows = rows;
    this.#all = new Uint32Array(words);
    setRows(this.#all, rows);
  }

  equal(value: Numeric): RowSelection {
    return this.#slice(this.#lowerBound(value), this.#upperBound(value));
  }

  range(operator: "$gt" | "$gte" | "$lt" | "$lte", bound: Numeric): RowSelection {
    const above = operator === "$gt" || operator === "$gte";
    const at = operator === "$gt" || operator === "$lte" ? this.#upperBound(bound) : this.#lowerBound(bound);
    return above ? this.#slice(at, this.rows.length) : this.#slice(0, at);
  }

  /** Values that are no numbers are passed over. */
  selectAny(wanted: ReadonlySet<MetadataScalar>): RowSelection {
    const rows: number[] = [];
    if (wanted.size > this.rows.length) {
      for (const [i, row] of this.rows.entries()) if (wanted.has(this.values[i]!)) rows.push(row);
    } else {
      for (const value of wanted) {
        if (typeof value !== "number" && typeof value !== "bigint") continue;
        rows.push(...this.rows.subarray(this.#lowerBound(value), this.#upperBound(value)));
      }
    }
    return {
      count: rows.length,
      bits: () => {
        const bits = new Uint32Array(this.#words);
        setRows(bits, rows);
        return bits;
      },
    };
  }

  #slice(start: number, end: number): RowSelection {
    if (start === end) return noRows(this.#words);
    return { count: end - start, bits: () => this.#bits(start, end) };
  }

  #bits(start: number, end: number): Uint32Array {
    if (end - start === this.rows.length) return this.#all;
    if (2 * (end - start) <= this.rows.length) {
      const bits = new Uint32Array(this.#words);
      setRows(bits, this.rows, start, end);
      return bits;
    }
    // The rows outside are fewer.
    const bits = this.#all.slice();
    clearRows(bits, this.rows, 0, start);
    clearRows(bits, this.rows, end, this.rows.length);
    return bits;
  }

  /** First place whose value is not below `bound`. */
  #lowerBound(bound: Numeric): number {
    return lowerBound(this.rows.length, (place) => this.values[place]! < bound);
  }

  /** First place whose value is above `bound`. */
  #upperBound(bound: Numeric): number {
    return lowerBound(this.rows.length, (place) => this.values[place]! <= bound);
  }
}
