/**
 * The newest sparse vectors of a mutable segment, one after the other as they came: cheap to add to, and walked as a whole by
 * every search until they are packed. Only ever appended to, so a search may hold on to it.
 */
import type { SparseVector } from "@sheaf/protocol";
import type { PostingLists } from "./posting-lists.ts";
import { hasBit } from "../bits.ts";
import { TermNumbers } from "./term-numbers.ts";

const FIRST_VECTORS = 16;
const FIRST_POSTINGS = 256;

export class SparseTail {
  #count = 0;
  #postings = 0;
  #rows = new Uint16Array(FIRST_VECTORS);
  /** Where the vector's postings end; they begin where those of the vector before end. */
  #ends = new Uint32Array(FIRST_VECTORS);
  #terms = new Uint32Array(FIRST_POSTINGS);
  #values = new Float32Array(FIRST_POSTINGS);

  get postings(): number {
    return this.#postings;
  }

  /** `row` is larger than every row before. */
  add(row: number, { indices, values }: SparseVector): void {
    const end = this.#postings + indices.length;
    if (this.#count === this.#rows.length) {
      this.#rows = copyInto(this.#rows, new Uint16Array(this.#count * 2));
      this.#ends = copyInto(this.#ends, new Uint32Array(this.#count * 2));
    }
    if (end > this.#terms.length) {
      const capacity = Math.max(end, this.#terms.length * 2);
      this.#terms = copyInto(this.#terms, new Uint32Array(capacity));
      this.#values = copyInto(this.#values, new Float32Array(capacity));
    }
    this.#terms.set(indices, this.#postings);
    this.#values.set(values, this.#postings);
    this.#rows[this.#count] = row;
    this.#ends[this.#count++] = end;
    this.#postings = end;
  }

  /** Calls `found` with each row of the mask that holds a term of the query, and its dot product with the weights. */
  score(
    { query, weights }: { readonly query: TermNumbers; readonly weights: Float32Array },
    mask: Uint32Array,
    found: (row: number, sum: number) => void,
  ): void {
    const [terms, values] = [this.#terms, this.#values];
    for (let i = 0, start = 0; i < this.#count; i++) {
      const end = this.#ends[i]!;
      const first = hasBit(mask, this.#rows[i]!) ? query.nextKnown(terms, start, end) : end;
      let sum = 0;
      for (let at = first; at < end; at = query.nextKnown(terms, at + 1, end)) {
        sum = Math.fround(sum + Math.fround(weights[query.find(terms[at]!)]! * values[at]!));
      }
      if (first < end) found(this.#rows[i]!, sum);
      start = end;
    }
  }

  /** Adds to each count, by number of the query's term, how many rows of the mask hold it. */
  count(query: TermNumbers, mask: Uint32Array, counts: Uint32Array): void {
    const terms = this.#terms;
    for (let i = 0, start = 0; i < this.#count; i++) {
      const end = this.#ends[i]!;
      if (hasBit(mask, this.#rows[i]!)) {
        for (
          let at = query.nextKnown(terms, start, end);
          at < end;
          at = query.nextKnown(terms, at + 1, end)
        ) {
          counts[query.find(terms[at]!)]!++;
        }
      }
      start = end;
    }
  }

  /** The same, by term, as lists that cover so many rows. */
  pack(rowCount: number): PostingLists {
    const numbers = new TermNumbers();
    const numberOf = new Uint32Array(this.#postings);
    for (let at = 0; at < this.#postings; at++) numberOf[at] = numbers.add(this.#terms[at]!);
    const terms = numbers.terms.slice().sort();
    const sizes = new Uint32Array(terms.length);
    for (const number of numberOf) sizes[number]!++;
    const starts = new Uint32Array(terms.length + 1);
    // By number: where the next posting of the term goes.
    const places = new Uint32Array(terms.length);
    for (let list = 0; list < terms.length; list++) {
      const number = numbers.find(terms[list]!);
      places[number] = starts[list]!;
      starts[list + 1] = starts[list]! + sizes[number]!;
    }
    const rows = new Uint16Array(this.#postings);
    const values = new Float32Array(this.#postings);
    for (let i = 0, at = 0; i < this.#count; i++) {
      for (; at < this.#ends[i]!; at++) {
        const place = places[numberOf[at]!]!++;
        rows[place] = this.#rows[i]!;
        values[place] = this.#values[at]!;
      }
    }
    return {
      terms,
      starts,
      rows,
      values,
      columnTerms: new Uint32Array(0),
      columns: new Float32Array(0),
      rowCount,
    };
  }
}

function copyInto<T extends Uint16Array | Uint32Array | Float32Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
