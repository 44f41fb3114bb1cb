/**
 * DocIds in insertion order while rows are added: as they are until a row replaces an older record, sorted from then on,
 * each time those alone that have come since.
 */
import { orderByNumber } from "./native-order.ts";

export class OffsetOrder {
  /** Rows that are looked at. */
  #count = 0;
  #largest = -1;
  /** `null`: the offsets ascend. */
  #docs: Uint32Array | null = null;

  /** DocIds of the first `count` rows, ascending by offset, then docId; `null`: all ascend as they are. */
  docs(offsets: Float64Array, count: number): Uint32Array | null {
    const first = this.#count;
    let docId = first;
    if (this.#docs === null)
      while (docId < count && offsets[docId]! >= this.#largest) this.#largest = offsets[docId++]!;
    this.#count = count;
    if (docId === count && this.#docs === null) return null;
    if (count > first) this.#docs = withNew(this.#docs, { first, count, offsets });
    return this.#docs;
  }
}

interface NewRows {
  readonly first: number;
  /** Of all rows. */
  readonly count: number;
  readonly offsets: Float64Array;
}

/** `known`: the docIds below `first` in order; `null`: as they are. */
function withNew(known: Uint32Array | null, { first, count, offsets }: NewRows): Uint32Array {
  const added = orderByNumber(offsets.subarray(first, count));
  const docs = new Uint32Array(count);
  let at = 0;
  let next = 0;
  for (let i = 0; i < count; i++) {
    const old = known === null ? at : known[at]!;
    const isOld = next === added.length || (at < first && offsets[old]! <= offsets[first + added[next]!]!);
    docs[i] = isOld ? old : first + added[next]!;
    if (isOld) at++;
    else next++;
  }
  return docs;
}
