/**
 * The nearest rows seen so far by their bf16 scores (higher is nearer). Keeps every row that could still be among the
 * k nearest once exact distances are known: those within `margin` of the k-th best score.
 */

export interface ScoredRow {
  readonly row: number;
  readonly score: number;
}

export class Nearest {
  readonly #k: number;
  readonly #margin: number;
  /** Min-heap of the k best scores. */
  readonly #heap: Float64Array;
  #heapSize = 0;
  #found: ScoredRow[] = [];
  #pruneAt: number;

  constructor(k: number, margin: number) {
    this.#k = k;
    this.#margin = margin;
    this.#heap = new Float64Array(k);
    this.#pruneAt = 2 * k + 1_024;
  }

  /** The k-th best score, -Infinity while fewer than k rows were seen. */
  get kth(): number {
    return this.#heapSize < this.#k ? -Infinity : this.#heap[0]!;
  }

  /** Rows below it cannot be among the k nearest. */
  get threshold(): number {
    return this.kth - this.#margin;
  }

  offer(row: number, score: number): void {
    if (score < this.threshold) return;
    this.#found.push({ row, score });
    if (score > this.kth) this.#push(score);
    if (this.#found.length >= this.#pruneAt) this.#prune();
  }

  /** Rows that may be among the nearest, best score first, then the lower row. */
  ranked(): readonly ScoredRow[] {
    this.#prune();
    return this.#found.sort((a, b) => b.score - a.score || a.row - b.row);
  }

  #prune(): void {
    const { threshold } = this;
    this.#found = this.#found.filter(({ score }) => score >= threshold);
    this.#pruneAt = 2 * this.#found.length + 1_024;
  }

  #push(score: number): void {
    const heap = this.#heap;
    if (this.#heapSize < this.#k) {
      let at = this.#heapSize++;
      while (at > 0 && heap[(at - 1) >> 1]! > score) {
        heap[at] = heap[(at - 1) >> 1]!;
        at = (at - 1) >> 1;
      }
      heap[at] = score;
      return;
    }
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < this.#k && heap[child + 1]! < heap[child]!) child++;
      if (child >= this.#k || heap[child]! >= score) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = score;
  }
}
