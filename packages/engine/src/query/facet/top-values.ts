/** The most frequent values of a key; of those that are as frequent the first in the order of values. */
import type { FacetValue } from "@sheaf/protocol";
import { compareMetadata } from "../metadata-order.ts";
import type { TalliedValue } from "./value-tally.ts";

/** As many are gathered beside those that are kept, before they are sorted. */
const GATHERED = 1_024;

export class TopValues {
  readonly #limit: number;
  #values: FacetValue[] = [];
  /** What is not before it is not among the first; `null`: that is not known yet. */
  #last: FacetValue | null = null;
  /** What is not below it, and as frequent as the last one, is not before that; Infinity: nobody knows. */
  #bound = Infinity;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(tallied: TalliedValue): void {
    const { count, number } = tallied;
    if (this.#limit === 0 || (this.#last !== null && count < this.#last.count)) return;
    // Most of many values end here, before they are made.
    if (count === this.#last?.count && number !== null && number >= this.#bound) return;
    const value = { value: tallied.value(), count };
    if (this.#last !== null && compare(value, this.#last) >= 0) return;
    this.#values.push(value);
    if (this.#values.length < this.#limit + GATHERED) return;
    this.#last = this.sorted().at(-1)!;
    // All floats come behind the integers.
    const { value: last } = this.#last;
    this.#bound = typeof last === "bigint" && Number.isSafeInteger(Number(last)) ? Number(last) : Infinity;
  }

  /** Best first. */
  sorted(): readonly FacetValue[] {
    this.#values = this.#values.sort(compare).slice(0, this.#limit);
    return this.#values;
  }
}

function compare(a: FacetValue, b: FacetValue): number {
  return b.count - a.count || compareMetadata(a.value, b.value);
}
