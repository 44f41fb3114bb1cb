/**
 * The k best rows by (distance in total order, record offset). Until there are k they are only collected; then they
 * become a heap whose root is the worst. Shared by every scan, so that ties are decided the same way everywhere.
 */
import { orderByScore, permute } from "./native-order.ts";
import { compareTotal } from "./total-order.ts";

/** Rows in ascending order, best first; the three arrays have one length. */
export interface Nearest {
  readonly positions: Int32Array;
  /** f32. */
  readonly distances: Float32Array;
  /** Record offsets. */
  readonly offsets: Float64Array;
}

const FIRST_CAPACITY = 64;

export class TopK {
  readonly k: number;
  #size = 0;
  #distances: Float32Array;
  #offsets: Float64Array;
  #positions: Int32Array;

  /** `k` is at least 1. */
  constructor(k: number) {
    this.k = k;
    const capacity = Math.min(k, FIRST_CAPACITY);
    this.#distances = new Float32Array(capacity);
    this.#offsets = new Float64Array(capacity);
    this.#positions = new Int32Array(capacity);
  }

  /** No row further away gets in; NaN while every row does. */
  get bound(): number {
    return this.#size < this.k ? Number.NaN : this.#distances[0]!;
  }

  /** `distance` is an f32. */
  push(distance: number, offset: number, position: number): void {
    if (this.#size === this.k) {
      if ((compareTotal(distance, this.#distances[0]!) || offset - this.#offsets[0]!) < 0) {
        this.#set(0, distance, offset, position);
        this.#siftDown(0);
      }
      return;
    }
    if (this.#size === this.#distances.length) this.#grow();
    this.#set(this.#size++, distance, offset, position);
    if (this.#size === this.k) for (let at = (this.k >>> 1) - 1; at >= 0; at--) this.#siftDown(at);
  }

  pushAll({ positions, distances, offsets }: Nearest): void {
    for (let i = 0; i < positions.length; i++) this.push(distances[i]!, offsets[i]!, positions[i]!);
  }

  sorted(): Nearest {
    const order = orderByScore(this.#distances.subarray(0, this.#size), (i) => this.#offsets[i]!);
    return {
      positions: permute(this.#positions, order, new Int32Array(order.length)),
      distances: permute(this.#distances, order, new Float32Array(order.length)),
      offsets: permute(this.#offsets, order, new Float64Array(order.length)),
    };
  }

  #compare(a: number, b: number): number {
    return compareTotal(this.#distances[a]!, this.#distances[b]!) || this.#offsets[a]! - this.#offsets[b]!;
  }

  /** Moves the entry at `start` down until no child is worse. */
  #siftDown(start: number): void {
    const distance = this.#distances[start]!;
    const offset = this.#offsets[start]!;
    const position = this.#positions[start]!;
    let at = start;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#compare(child + 1, child) > 0) child++;
      const order = compareTotal(this.#distances[child]!, distance) || this.#offsets[child]! - offset;
      if (order <= 0) break;
      this.#set(at, this.#distances[child]!, this.#offsets[child]!, this.#positions[child]!);
      at = child;
    }
    this.#set(at, distance, offset, position);
  }

  #set(at: number, distance: number, offset: number, position: number): void {
    this.#distances[at] = distance;
    this.#offsets[at] = offset;
    this.#positions[at] = position;
  }

  #grow(): void {
    const capacity = Math.min(this.k, this.#distances.length * 2);
    const distances = new Float32Array(capacity);
    distances.set(this.#distances);
    this.#distances = distances;
    const offsets = new Float64Array(capacity);
    offsets.set(this.#offsets);
    this.#offsets = offsets;
    const positions = new Int32Array(capacity);
    positions.set(this.#positions);
    this.#positions = positions;
  }
}
