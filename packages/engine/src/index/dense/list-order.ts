/**
 * Lists by descending bound, one at a time: a search takes few of them, so a heap is several times as cheap as sorting
 * all.
 */

export class ListOrder {
  /** By list; the owner fills it before `restart`. */
  readonly bounds: Float64Array;
  /** A max-heap of lists by their bounds. */
  readonly #heap: Uint16Array;
  #size = 0;

  constructor(lists: number) {
    this.bounds = new Float64Array(lists);
    this.#heap = new Uint16Array(lists);
  }

  restart(): void {
    const heap = this.#heap;
    this.#size = heap.length;
    for (let i = 0; i < heap.length; i++) heap[i] = i;
    for (let at = (heap.length >> 1) - 1; at >= 0; at--) this.#sink(at, heap[at]!);
  }

  /** The list with the highest bound that was not taken yet; -1 when all were. */
  take(): number {
    if (this.#size === 0) return -1;
    const list = this.#heap[0]!;
    this.#size--;
    if (this.#size > 0) this.#sink(0, this.#heap[this.#size]!);
    return list;
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
