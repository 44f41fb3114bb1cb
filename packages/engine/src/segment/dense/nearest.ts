/**
 * The nearest rows seen so far by approximate scores (higher is nearer), each known to be off by at most its slack.
 * Keeps every row that could still be among the k nearest once exact distances are known.
 */

export interface BoundedRow {
  /** A position, or a slot where one segment is looked at. */
  readonly row: number;
  /** The best score that the row may have. */
  readonly bound: number;
}

/** The k-th highest of the numbers offered so far. */
export class KthBest {
  /** Min-heap of the k highest. */
  readonly #heap: number[] = [];
  readonly #k: number;

  constructor(k: number) {
    this.#k = k;
  }

  /** -Infinity while fewer than k were offered. */
  get value(): number {
    return this.#heap.length < this.#k ? -Infinity : this.#heap[0]!;
  }

  offer(number: number): void {
    const heap = this.#heap;
    const k = this.#k;
    if (heap.length < k) {
      let at = heap.length;
      heap.push(number);
      while (at > 0 && heap[(at - 1) >> 1]! > number) {
        heap[at] = heap[(at - 1) >> 1]!;
        at = (at - 1) >> 1;
      }
      heap[at] = number;
      return;
    }
    if (number <= heap[0]!) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < k && heap[child + 1]! < heap[child]!) child++;
      if (child >= k || heap[child]! >= number) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = number;
  }
}

export class Nearest {
  /** Of the worst scores that rows may have. */
  readonly #best: KthBest;
  /** Of the scores that rows which wait to be scored have at least, most likely. */
  readonly #expected: KthBest;
  #found: BoundedRow[] = [];
  #pruneAt: number;

  constructor(k: number) {
    this.#best = new KthBest(k);
    this.#expected = new KthBest(k);
    this.#pruneAt = 2 * k + 1_024;
  }

  /** k rows have at least this score: others below it are out. -Infinity while fewer than k rows were seen. */
  get threshold(): number {
    return this.#best.value;
  }

  /** As the threshold, or what k rows that wait will most likely reach: others that do not need not be looked at. */
  get bar(): number {
    return Math.max(this.#best.value, this.#expected.value);
  }

  /** A row that is offered later, if this reaches the bar then, has at least this score, most likely. */
  expect(score: number): void {
    this.#expected.offer(score);
  }

  offer(row: number, score: number, slack: number): void {
    if (score + slack < this.#best.value) return;
    this.#found.push({ row, bound: score + slack });
    this.#best.offer(score - slack);
    if (this.#found.length >= this.#pruneAt) this.#prune();
  }

  /** Rows that may be among the nearest, best bound first, then the lower row. */
  ranked(): readonly BoundedRow[] {
    this.#prune();
    return this.#found.sort((a, b) => b.bound - a.bound || a.row - b.row);
  }

  #prune(): void {
    const { threshold } = this;
    this.#found = this.#found.filter(({ bound }) => bound >= threshold);
    this.#pruneAt = 2 * this.#found.length + 1_024;
  }
}
