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

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(tallied: TalliedValue): void {
    const { count } = tallied;
    if (this.#limit === 0 || (this.#last !== null && count < this.#last.count)) return;
    const value = { value: tallied.value(), count };
    if (this.#last !== null && compare(value, this.#last) >= 0) return;
    this.#values.push(value);
    if (this.#values.length >= this.#limit + GATHERED) this.#last = this.sorted().at(-1)!;
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
