/**
 * What one `$knn` leaf gives each record it found, ascending by position. Kept with a ranking, so that a score can
 * be explained by what went into it.
 */
import { orderByKey, permute } from "../index/native-order.ts";
import type { Nearest } from "../index/top-k.ts";

export class LeafValues {
  /** Ascending. */
  readonly positions: Int32Array;
  /** f32 distance, or rank from 0 if the leaf asks for it. */
  readonly values: Float32Array;

  constructor(nearest: Nearest, options: { readonly returnRank: boolean }) {
    const { positions, distances } = nearest;
    const order = orderByKey(positions);
    this.positions = permute(positions, order, new Int32Array(order.length));
    this.values = options.returnRank
      ? Float32Array.from(order)
      : permute(distances, order, new Float32Array(order.length));
  }

  /** `null`: the leaf did not find the record. */
  valueOf(position: number): number | null {
    const at = this.lowerBound(position);
    return this.positions[at] === position ? this.values[at]! : null;
  }

  /** Index of the first entry at or after a position. */
  lowerBound(position: number): number {
    let low = 0;
    let high = this.positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.positions[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
