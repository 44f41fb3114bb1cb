/**
 * The inverted lists of one sparse key within one segment: term -> (row, value), rows ascending. While the segment
 * fills, lists are plain arrays; `seal` packs them. A dot product is defined as the f32 sum, in ascending order of
 * term, of products rounded to f32; walking the lists term by term in that order gives exactly these sums.
 */
import type { SparseVector } from "@sheaf/protocol";
import { SEGMENT_ROWS, SEGMENT_WORDS, hasBit } from "./row-set.ts";

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

/** Dot products of one query with the rows of one segment. */
export interface SparseSums {
  readonly sums: Float32Array;
  /** Rows that share a term with the query, whatever its value. */
  readonly touched: Uint32Array;
}

export function newSparseSums(): SparseSums {
  return { sums: new Float32Array(SEGMENT_ROWS), touched: new Uint32Array(SEGMENT_WORDS) };
}

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

  /** Adds `weight * value` to the sum of every row in `mask` that has the term. Returns how many it looked at. */
  accumulate(term: number, weight: number, mask: Uint32Array, into: SparseSums): number {
    if (this.#packed !== null) return accumulatePacked(this.#packed, term, weight, { mask, into });
    const list = this.#open.get(term);
    if (list === undefined) return 0;
    const { rows, values } = list;
    for (let i = 0; i < rows.length; i++) addProduct(rows[i]!, weight * values[i]!, mask, into);
    return rows.length;
  }
}

function accumulatePacked(
  lists: PackedLists,
  term: number,
  weight: number,
  { mask, into }: { mask: Uint32Array; into: SparseSums },
): number {
  const at = findTerm(lists.terms, term);
  if (at === -1) return 0;
  const { rows, values } = lists;
  const start = lists.starts[at]!;
  const end = lists.starts[at + 1]!;
  for (let i = start; i < end; i++) addProduct(rows[i]!, weight * values[i]!, mask, into);
  return end - start;
}

function addProduct(row: number, product: number, mask: Uint32Array, into: SparseSums): void {
  if (!hasBit(mask, row)) return;
  into.touched[row >>> 5]! |= 1 << (row & 31);
  // Storing into the Float32Array rounds the sum.
  into.sums[row]! += Math.fround(product);
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
