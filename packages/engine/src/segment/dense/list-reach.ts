/**
 * When to stop probing. The best row of a list rises above its centroid's score in proportion to the list's spread;
 * how far is a matter of the data, so it is measured: `measure-reach.ts`.
 */
import type { DenseSegment } from "./dense-segment.ts";
import type { ListOrder } from "./list-order.ts";

/** That the reach is measured by. */
export const NEIGHBOURS = 10;

/** How many spreads, per unit of a query's scale, rows may rise above their centroid's score. */
export interface Reach {
  /** Of the ten nearest of a segment. */
  readonly unfiltered: number;
  /**
   * Of the very nearest of a segment. Where ten are asked of ten segments, each holds one of them, which is measured by itself
   * and not by a tenth. No less than `unfiltered`; 0 in files of before it was measured.
   */
  readonly best: number;
  /** Of the nearest among few rows. They are further away, where their lists tell less about them. */
  readonly filtered: number;
}

/**
 * Fills `order` with the segment's lists by what their centroids say about their best rows. `bases`:
 * <centroid, query> by list; `length`: the query's; `reach`: that of the segment which fits the filter.
 */
export function orderLists(
  segment: DenseSegment,
  order: ListOrder,
  bases: Float32Array,
  { length, reach }: { readonly length: number; readonly reach: number },
): void {
  const { biases, spreads } = segment.lists;
  const { bounds } = order;
  if (segment.shape.space === "l2") {
    for (let list = 0; list < bounds.length; list++) {
      const scale = scaleOf(segment, list, bases[list]!, length);
      bounds[list] = bases[list]! + biases[list]! + reach * spreads[list]! * scale;
    }
  } else {
    // Without biases, and with one scale for all.
    for (let list = 0; list < bounds.length; list++)
      bounds[list] = bases[list]! + reach * length * spreads[list]!;
  }
  order.restart();
}

/** For a search that expects this many of the neighbours it asks for in the segment. */
export function reachFor({ unfiltered, best }: Reach, expected: number): number {
  if (expected >= NEIGHBOURS) return unfiltered;
  const share = (NEIGHBOURS - Math.max(1, expected)) / (NEIGHBOURS - 1);
  return unfiltered + share * Math.max(0, best - unfiltered);
}

/** What the spread of a list counts for, where its centroid has this score. */
export function scaleOf(segment: DenseSegment, list: number, base: number, length: number): number {
  if (segment.shape.space !== "l2") return length;
  return Math.sqrt(Math.max(0, length ** 2 + segment.lists.centroidSquares[list]! - 2 * base));
}
