/**
 * Lists by descending bound, one at a time. A search takes few of them: those that stand out become a heap at once,
 * the others when these are used up. Where it is known how high a bound must be, only those lists do.
 */

/** Deviations above the mean from which a bound stands out: one list of twenty, or fewer. */
const STANDS_OUT = 1.6;

export class ListOrder {
  /** By list; the owner fills it before `restart`. */
  readonly bounds: Float64Array;
  /** A max-heap of lists by their bounds. */
  readonly #heap: Uint16Array;
  #size = 0;
  /** Bounds from it on stand out. */
  #cut = 0;
  #othersWait = false;

  constructor(lists: number) {
    this.bounds = new Float64Array(lists);
    this.#heap = new Uint16Array(lists);
  }

  /** `least`: lists with lower bounds are not wanted. */
  restart(least = -Infinity): void {
    this.#othersWait = least === -Infinity;
    this.#cut = this.#othersWait ? this.#standingOut() : least;
    this.#collect(true);
  }

  /** The list with the highest bound that was not taken yet; -1 when all were. */
  take(): number {
    if (this.#size === 0) {
      if (!this.#othersWait) return -1;
      this.#othersWait = false;
      this.#collect(false);
    }
    if (this.#size === 0) return -1;
    const list = this.#heap[0]!;
    this.#size--;
    if (this.#size > 0) this.#sink(0, this.#heap[this.#size]!);
    return list;
  }

  #standingOut(): number {
    const { bounds } = this;
    let sum = 0;
    let squares = 0;
    for (let i = 0; i < bounds.length; i++) {
      const bound = bounds[i]!;
      sum += bound;
      squares += bound * bound;
    }
    const mean = sum / bounds.length;
    return mean + STANDS_OUT * Math.sqrt(squares / bounds.length - mean * mean);
  }

  /** Makes a heap of the lists that stand out, or of the others. A cut that is no number leaves all to the others. */
  #collect(standingOut: boolean): void {
    const { bounds } = this;
    const heap = this.#heap;
    const cut = this.#cut;
    let size = 0;
    for (let i = 0; i < bounds.length; i++) if (bounds[i]! >= cut === standingOut) heap[size++] = i;
    this.#size = size;
    for (let at = (size >> 1) - 1; at >= 0; at--) this.#sink(at, heap[at]!);
  }

  #sink(from: number, list: number): void {
    const { bounds } = this;
    const heap = this.#heap;
    const bound = bounds[list]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < this.#size && bounds[heap[child + 1]!]! > bounds[heap[child]!]!) child++;
      if (child >= this.#size || bounds[heap[child]!]! <= bound) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = list;
  }
}
