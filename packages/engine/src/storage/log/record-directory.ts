/** Where the records of a file are: for each, by ascending offset, three numbers as f64, its offset, its sequence number and its end. */
import { lowerBound } from "../lower-bound.ts";

export const ROW_NUMBERS = 3;
export const ROW_BYTES = 8 * ROW_NUMBERS;

export interface RecordPlace {
  readonly offset: number;
  readonly sequence: number;
  /** In the section of records. */
  readonly start: number;
  readonly end: number;
}

/** @param start Of the first record of `numbers`, or where the one before it ends. */
export function placeIn(numbers: Float64Array, row: number, start: number): RecordPlace {
  const [offset, sequence, end] = numbers.subarray(row * ROW_NUMBERS, (row + 1) * ROW_NUMBERS);
  return { offset: offset!, sequence: sequence!, start, end: end! };
}

/** Which records a file has, and where: in memory, 24 bytes for each. */
export class RecordDirectory {
  readonly length: number;
  readonly #numbers: Float64Array;
  /** Of its first record. */
  readonly #start: number;

  constructor(numbers: Float64Array, start = 0) {
    this.#numbers = numbers;
    this.#start = start;
    this.length = numbers.length / ROW_NUMBERS;
  }

  get end(): number {
    return this.#numbers.at(-1) ?? this.#start;
  }

  /** The first one whose record has this offset or a higher one. */
  rowFrom(offset: number): number {
    // Where no record was removed before it, that is its row.
    const least = offset - (this.length === 0 ? 0 : this.offsetAt(0));
    if (least >= 0 && least < this.length && this.offsetAt(least) === offset) return least;
    return lowerBound(this.length, (row) => this.offsetAt(row) < offset);
  }

  offsetAt(row: number): number {
    return this.#numbers[row * ROW_NUMBERS]!;
  }

  sequenceAt(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 1]!;
  }

  bytesAt(row: number): number {
    const { start, end } = this.placeAt(row);
    return end - start;
  }

  placeAt(row: number): RecordPlace {
    return placeIn(this.#numbers, row, row === 0 ? this.#start : this.#numbers[row * ROW_NUMBERS - 1]!);
  }
}
