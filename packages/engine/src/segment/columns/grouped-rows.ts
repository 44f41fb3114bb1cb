/** Rows by value, packed: a list of rows per value, and a ready bitset for values that many rows hold. */
import type { MetadataScalar } from "@sheaf/protocol";
import { type RowSelection, noRows, setRows } from "./row-selection.ts";

/** Share of the rows from which on a value has a bitset: the list would be about as large. */
const BITSET_SHARE = 1 / 16;

export class GroupedRows {
  readonly #words: number;
  readonly #groups = new Map<MetadataScalar, number>();
  /** Group `i` is `#rows` from `#starts[i]` to `#starts[i + 1]`. */
  readonly #starts: Uint32Array;
  readonly #rows: Uint16Array;
  readonly #bitsets = new Map<number, Uint32Array>();

  /** Of 32 * `words` rows. */
  constructor(words: number, rowsByValue: ReadonlyMap<MetadataScalar, readonly number[]>) {
    this.#words = words;
    this.#starts = new Uint32Array(rowsByValue.size + 1);
    let group = 0;
    for (const [value, rows] of rowsByValue) {
      this.#groups.set(value, group);
      this.#starts[group + 1] = this.#starts[group]! + rows.length;
      group++;
    }
    this.#rows = new Uint16Array(this.#starts[group]!);
    group = 0;
    for (const rows of rowsByValue.values()) {
      this.#rows.set(rows, this.#starts[group]);
      if (rows.length >= 32 * words * BITSET_SHARE) {
        const bits = new Uint32Array(words);
        setRows(bits, rows);
        this.#bitsets.set(group, bits);
      }
      group++;
    }
  }

  select(value: MetadataScalar): RowSelection {
    const group = this.#groups.get(value);
    if (group === undefined) return noRows(this.#words);
    const bitset = this.#bitsets.get(group);
    return { count: this.#count(group), bits: () => bitset ?? this.#bitsOf([group]) };
  }

  selectAny(values: ReadonlySet<MetadataScalar>): RowSelection {
    const groups = this.#groupsOf(values);
    return {
      count: groups.reduce((sum, group) => sum + this.#count(group), 0),
      bits: () => this.#bitsOf(groups),
    };
  }

  /** Walks the shorter side: a list of 100,000 wanted values is longer than any column. */
  #groupsOf(values: ReadonlySet<MetadataScalar>): number[] {
    if (values.size > this.#groups.size) {
      return [...this.#groups].flatMap(([value, group]) => (values.has(value) ? [group] : []));
    }
    return [...values].flatMap((value) => this.#groups.get(value) ?? []);
  }

  #count(group: number): number {
    return this.#starts[group + 1]! - this.#starts[group]!;
  }

  #bitsOf(groups: readonly number[]): Uint32Array {
    const bits = new Uint32Array(this.#words);
    for (const group of groups) setRows(bits, this.#rows, this.#starts[group], this.#starts[group + 1]);
    return bits;
  }
}
