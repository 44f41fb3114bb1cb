/**
 * The newest sparse vectors of a mutable segment, one after the other as they came: cheap to add to, and walked as a whole by
 * every search until they are packed. Only ever appended to, so a search may hold on to it.
 */
import type { SparseVector } from "@sheaf/protocol";
import type { PostingLists } from "./posting-lists.ts";
import { hasBit } from "../bits.ts";
import {
  type LengthTotals,
  NO_LENGTHS,
  type Saturation,
  addTotals,
  documentLength,
  restOf,
  saturated,
} from "./document-length.ts";
import { copyInto } from "../copy-into.ts";
import { orderInSteps } from "../native-order.ts";
import type { TermNumbers } from "./term-numbers.ts";

const FIRST_VECTORS = 16;
const FIRST_POSTINGS = 256;
const PLACED_PER_STEP = 32_768;

/** What a tail is searched for. */
export interface TailQuery {
  readonly query: TermNumbers;
  /** By number. */
  readonly weights: Float32Array;
  /** As in `WeightedTerms`. */
  readonly saturation: Saturation | null;
}

export class SparseTail {
  #count = 0;
  #postings = 0;
  #rows = new Uint16Array(FIRST_VECTORS);
  /** Where the vector's postings end; they begin where those of the vector before end. */
  #ends = new Uint32Array(FIRST_VECTORS);
  #terms = new Uint32Array(FIRST_POSTINGS);
  #values = new Float32Array(FIRST_POSTINGS);
  /** Of each vector; `null`: nobody asks for them. */
  #lengths: Float32Array | null;

  constructor(hasLengths = false) {
    this.#lengths = hasLengths ? new Float32Array(FIRST_VECTORS) : null;
  }

  get postings(): number {
    return this.#postings;
  }

  /** `row` is larger than every row before. */
  add(row: number, { indices, values }: SparseVector): void {
    const end = this.#postings + indices.length;
    if (this.#count === this.#rows.length) {
      this.#rows = copyInto(this.#rows, new Uint16Array(this.#count * 2));
      this.#ends = copyInto(this.#ends, new Uint32Array(this.#count * 2));
      if (this.#lengths !== null) this.#lengths = copyInto(this.#lengths, new Float32Array(this.#count * 2));
    }
    if (end > this.#terms.length) {
      const capacity = Math.max(end, this.#terms.length * 2);
      this.#terms = copyInto(this.#terms, new Uint32Array(capacity));
      this.#values = copyInto(this.#values, new Float32Array(capacity));
    }
    this.#terms.set(indices, this.#postings);
    this.#values.set(values, this.#postings);
    if (this.#lengths !== null) this.#lengths[this.#count] = documentLength(values);
    this.#rows[this.#count] = row;
    this.#ends[this.#count++] = end;
    this.#postings = end;
  }

  /** Calls `found` with each row of the mask that holds a term of the query, and its dot product with the weights. */
  score(
    { query, weights, saturation }: TailQuery,
    mask: Uint32Array,
    found: (row: number, sum: number) => void,
  ): void {
    const [terms, values] = [this.#terms, this.#values];
    for (let i = 0, start = 0; i < this.#count; i++) {
      const end = this.#ends[i]!;
      const first = hasBit(mask, this.#rows[i]!) ? query.nextKnown(terms, start, end) : end;
      const rest = saturation === null ? 0 : restOf(saturation, this.#lengths![i]!);
      let sum = 0;
      for (let at = first; at < end; at = query.nextKnown(terms, at + 1, end)) {
        const value = saturation === null ? values[at]! : saturated(values[at]!, rest);
        sum = Math.fround(sum + Math.fround(weights[query.find(terms[at]!)]! * value));
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

  /** Of the rows of the mask. */
  totals(mask: Uint32Array): LengthTotals {
    let totals: LengthTotals = NO_LENGTHS;
    for (let i = 0; i < this.#count; i++) {
      const length = this.#lengths?.[i] ?? 0;
      if (length > 0 && hasBit(mask, this.#rows[i]!)) totals = addTotals(totals, { documents: 1, length });
    }
    return totals;
  }

  /** The same, by term, as lists that cover so many rows. Pauses about every millisecond. */
  *pack(rowCount: number): Generator<void, PostingLists> {
    const postings = this.#postings;
    // Equal terms keep the order of their rows.
    const order = yield* orderInSteps(this.#terms.subarray(0, postings));
    const terms = new Uint32Array(postings);
    const starts = new Uint32Array(postings + 1);
    const rows = new Uint16Array(postings);
    const values = new Float32Array(postings);
    const rowOf = this.#rowOfEach();
    yield;
    let count = 0;
    for (let place = 0; place < postings; place++) {
      const at = order[place]!;
      const term = this.#terms[at]!;
      if (count === 0 || term !== terms[count - 1]) {
        terms[count] = term;
        starts[count++] = place;
      }
      rows[place] = rowOf[at]!;
      values[place] = this.#values[at]!;
      if (place % PLACED_PER_STEP === PLACED_PER_STEP - 1) yield;
    }
    starts[count] = postings;
    return {
      terms: terms.subarray(0, count),
      starts: starts.subarray(0, count + 1),
      rows,
      values,
      columnTerms: new Uint32Array(0),
      columns: new Float32Array(0),
      lengths: this.#lengthsByRow(rowCount),
      rowCount,
    };
  }

  #lengthsByRow(rowCount: number): Float32Array {
    if (this.#lengths === null) return new Float32Array(0);
    const lengths = new Float32Array(rowCount);
    for (let i = 0; i < this.#count; i++) lengths[this.#rows[i]!] = this.#lengths[i]!;
    return lengths;
  }

  /** By posting. */
  #rowOfEach(): Uint16Array {
    const rows = new Uint16Array(this.#postings);
    for (let i = 0, start = 0; i < this.#count; i++) {
      rows.fill(this.#rows[i]!, start, this.#ends[i]);
      start = this.#ends[i]!;
    }
    return rows;
  }
}
