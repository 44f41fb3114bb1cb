/**
 * The inverted lists of one sparse key within one segment: term -> (row, value), rows ascending. While the segment
 * fills, lists are plain arrays; `seal` packs them. A dot product is defined as the f32 sum, in ascending order of
 * term, of products rounded to f32; walking the lists term by term in that order gives exactly these sums.
 */
import type { SparseVector } from "@sheaf/protocol";
import { SEGMENT_ROWS, hasBit } from "./row-set.ts";

interface OpenList {
  readonly rows: number[];
  readonly values: number[];
}

interface PackedLists {
  /** Ascending; list `i` is `rows` and `values` from `starts[i]` to `starts[i + 1]`. */
  readonly terms: Uint32Array;
  readonly starts: Uint32Array;
  readonly rows: Uint16Array;
  readonly values: Float32Array;
}

/**
 * Dot products of one query with the rows of one segment. A row that shares no term with the query holds -0, which no
 * addition here can produce.
 */
export class SparseSums {
  readonly sums = new Float32Array(SEGMENT_ROWS).fill(-0);
  readonly #bits = new Uint32Array(this.sums.buffer);

  /** Adds a product to a row's sum; storing into the Float32Array rounds it. */
  add(row: number, product: number): void {
    // + 0 turns a product of -0 into +0.
    this.sums[row]! += Math.fround(product) + 0;
  }

  /** The rows of the mask that share a term with the query, ascending. */
  rows(mask: Uint32Array): number[] {
    const rows: number[] = [];
    for (let row = 0; row < SEGMENT_ROWS; row++) {
      if (this.#bits[row] !== MINUS_ZERO && hasBit(mask, row)) rows.push(row);
    }
    return rows;
  }

  clear(): void {
    this.sums.fill(-0);
  }
}

const MINUS_ZERO = 0x8000_0000;

export class SparsePostings {
  #open = new Map<number, OpenList>();
  #packed: PackedLists | null = null;

  /** `row` is larger than every row before. */
  add(row: number, vector: SparseVector): void {
    for (let i = 0; i < vector.indices.length; i++) {
      const term = vector.indices[i]!;
      const list = this.#open.get(term);
      if (list === undefined) this.#open.set(term, { rows: [row], values: [vector.values[i]!] });
      else {
        list.rows.push(row);
        list.values.push(vector.values[i]!);
      }
    }
  }

  /** Nothing is added afterwards. */
  seal(): void {
    const terms = Uint32Array.from(this.#open.keys()).sort();
    const starts = new Uint32Array(terms.length + 1);
    for (let i = 0; i < terms.length; i++)
      starts[i + 1] = starts[i]! + this.#open.get(terms[i]!)!.rows.length;
    const rows = new Uint16Array(starts[terms.length]!);
    const values = new Float32Array(rows.length);
    for (let i = 0; i < terms.length; i++) {
      const list = this.#open.get(terms[i]!)!;
      rows.set(list.rows, starts[i]);
      values.set(list.values, starts[i]);
    }
    this.#packed = { terms, starts, rows, values };
    this.#open = new Map();
  }

  /** Adds `weight * value` to the sum of every row that has the term. Returns how many there are. */
  accumulate(term: number, weight: number, into: SparseSums): number {
    if (this.#packed !== null) return accumulatePacked(this.#packed, term, weight, into);
    const list = this.#open.get(term);
    if (list === undefined) return 0;
    const { rows, values } = list;
    for (let i = 0; i < rows.length; i++) into.add(rows[i]!, weight * values[i]!);
    return rows.length;
  }
}

function accumulatePacked(lists: PackedLists, term: number, weight: number, into: SparseSums): number {
  const at = findTerm(lists.terms, term);
  if (at === -1) return 0;
  const { rows, values } = lists;
  const start = lists.starts[at]!;
  const end = lists.starts[at + 1]!;
  for (let i = start; i < end; i++) into.add(rows[i]!, weight * values[i]!);
  return end - start;
}

function findTerm(terms: Uint32Array, term: number): number {
  let low = 0;
  let high = terms.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = terms[middle]!;
    if (found === term) return middle;
    if (found < term) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
