/**
 * Rows by value: for each value a list of rows, or a bitset where many rows hold it. Values are found by the hash of their
 * bytes. Views of the bytes of a column.
 */
import type { MetadataScalar } from "@sheaf/protocol";
import { countOnes } from "../bits.ts";
import { lowerBound } from "../../storage/lower-bound.ts";
import { type RowSelection, noRows, setRows } from "./row-selection.ts";
import type { ValueBytes } from "./value-bytes.ts";
import { type ScalarCode, decodeScalar, scalarCode } from "./scalar-code.ts";

export interface Groups {
  /** Of the values, ascending. */
  readonly hashes: Uint32Array;
  /** Where each value ends in `values`, behind `firstByte`. */
  readonly ends: Uint32Array;
  readonly values: ValueBytes;
  readonly firstByte: number;
  /** How many rows hold the value, and where they begin in `rows`. */
  readonly counts: Uint16Array;
  readonly starts: Uint32Array;
  /** Bitsets, at even places, then lists. */
  readonly rows: Uint16Array;
}

/** A value that so many of 32 * `words` rows hold has a bitset: a list would not be smaller. */
export function hasBitset(count: number, words: number): boolean {
  return count >= 2 * words;
}

export class GroupedRows {
  readonly #words: number;
  readonly #groups: Groups;

  /** Of 32 * `words` rows. */
  constructor(words: number, groups: Groups) {
    this.#words = words;
    this.#groups = groups;
  }

  /** How many values there are; each is known by its number. */
  get size(): number {
    return this.#groups.hashes.length;
  }

  startOf(group: number): number {
    return group === 0 ? this.#groups.firstByte : this.endOf(group - 1);
  }

  endOf(group: number): number {
    return this.#groups.firstByte + this.#groups.ends[group]!;
  }

  hashOf(group: number): number {
    return this.#groups.hashes[group]!;
  }

  /** The codes of all values, see `scalarCode`; each is from its `startOf` to its `endOf`. */
  codes(): Buffer {
    return this.#groups.values.whole();
  }

  /** How many rows hold the value. */
  countOf(group: number): number {
    return this.#groups.counts[group]!;
  }

  /** How many rows of the mask hold the value. */
  countIn(group: number, mask: Uint32Array): number {
    const bitset = this.#bitset(group);
    let count = 0;
    if (bitset === null) {
      const { counts, starts, rows } = this.#groups;
      for (let i = starts[group]!, end = i + counts[group]!; i < end; i++) {
        const row = rows[i]!;
        count += (mask[row >>> 5]! >>> (row & 31)) & 1;
      }
    } else for (let word = 0; word < this.#words; word++) count += countOnes(bitset[word]! & mask[word]!);
    return count;
  }

  /** The rows that hold the value, into others. */
  addRows(group: number, into: Uint32Array): void {
    const bitset = this.#bitset(group);
    if (bitset !== null) for (let word = 0; word < this.#words; word++) into[word]! |= bitset[word]!;
    else {
      const { counts, starts, rows } = this.#groups;
      setRows(into, rows, starts[group], starts[group]! + counts[group]!);
    }
  }

  select(value: MetadataScalar): RowSelection {
    const group = this.#find(scalarCode(value));
    if (group < 0) return noRows(this.#words);
    return { count: this.#groups.counts[group]!, bits: () => this.#bitset(group) ?? this.#bitsOf([group]) };
  }

  selectAny(values: ReadonlySet<MetadataScalar>): RowSelection {
    const groups = this.#groupsOf(values);
    return {
      count: groups.reduce((sum, group) => sum + this.#groups.counts[group]!, 0),
      bits: () => this.#bitsOf(groups),
    };
  }

  /** Walks the shorter side: a list of 100,000 wanted values is longer than any column. */
  #groupsOf(values: ReadonlySet<MetadataScalar>): number[] {
    const found: number[] = [];
    const count = this.#groups.hashes.length;
    if (values.size > count) {
      const bytes = this.#groups.values.whole();
      for (let group = 0; group < count; group++) {
        const value = decodeScalar(bytes.subarray(this.startOf(group), this.endOf(group)));
        if (value !== undefined && values.has(value)) found.push(group);
      }
      return found;
    }
    for (const value of values) {
      const group = this.#find(scalarCode(value));
      if (group >= 0) found.push(group);
    }
    return found;
  }

  /** -1: no row holds the value. */
  #find({ hash, bytes }: ScalarCode): number {
    const { hashes, values } = this.#groups;
    for (let group = lowerBound(hashes.length, (i) => hashes[i]! < hash); hashes[group] === hash; group++)
      if (values.read(this.startOf(group), this.endOf(group)).equals(bytes)) return group;
    return -1;
  }

  /** `null`: the group has a list. */
  #bitset(group: number): Uint32Array | null {
    const { counts, starts, rows } = this.#groups;
    if (!hasBitset(counts[group]!, this.#words)) return null;
    return new Uint32Array(rows.buffer, rows.byteOffset + 2 * starts[group]!, this.#words);
  }

  #bitsOf(groups: readonly number[]): Uint32Array {
    const bits = new Uint32Array(this.#words);
    for (const group of groups) this.addRows(group, bits);
    return bits;
  }
}
