/**
 * How many live records hold each term, per sparse key that asks for idf (`bm25: true`). Counted up and down with
 * every write, so idf always reflects exactly the live records.
 */
import { type IndexPlan, type Metadata, type SparseVector, isSparseVector } from "@sheaf/protocol";

export class SparseStatistics {
  readonly #counts = new Map<string, Map<number, number>>();

  constructor(plan: IndexPlan) {
    for (const { key, bm25 } of plan.sparse) if (bm25) this.#counts.set(key, new Map());
  }

  add(metadata: Metadata | null): void {
    this.#change(metadata, 1);
  }

  remove(metadata: Metadata | null): void {
    this.#change(metadata, -1);
  }

  /**
   * Weights of a query: its values, times ln(1 + (n - nt + 0.5) / (nt + 0.5)) where the key asks for idf; n is the
   * number of records, nt of those that hold the term.
   */
  weights(key: string, query: SparseVector, records: number): Float32Array {
    const counts = this.#counts.get(key);
    if (counts === undefined) return query.values;
    return query.values.map((value, i) => {
      const holders = counts.get(query.indices[i]!) ?? 0;
      return value * Math.fround(Math.log(1 + (records - holders + 0.5) / (holders + 0.5)));
    });
  }

  #change(metadata: Metadata | null, step: 1 | -1): void {
    if (metadata === null) return;
    for (const [key, counts] of this.#counts) {
      const value = metadata.get(key);
      if (value === undefined || !isSparseVector(value)) continue;
      for (const term of value.indices) {
        const count = (counts.get(term) ?? 0) + step;
        if (count === 0) counts.delete(term);
        else counts.set(term, count);
      }
    }
  }
}
