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

/** Of so many most promising lists, how many a filter must have rows in for the bounds to count. */
const LISTS_LOOKED_AT = 16;
const LISTS_MET = 12;

/** By list: where its slots begin and end among those of a filter. */
export interface ListStretches {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export interface FirstLists {
  /** The most promising ones that have slots, the best first. */
  readonly lists: readonly number[];
  /** The filter has rows in nearly all of the most promising lists, so it does not take away what the reach was measured by. */
  readonly boundsCount: boolean;
}

/**
 * Fills `order` with the segment's lists by what their centroids say about their best rows. `bases`:
 * <centroid, query> by list; `length`: the query's; `reach`: that of the segment which fits the filter; `least`: lists
 * below it are not wanted.
 */
export function orderLists(
  segment: DenseSegment,
  order: ListOrder,
  bases: Float32Array,
  {
    length,
    reach,
    least = -Infinity,
  }: { readonly length: number; readonly reach: number; readonly least?: number },
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
  order.restart(least);
}

/** For a search that expects this many of the neighbours it asks for in the segment. */
export function reachFor({ unfiltered, best }: Reach, expected: number): number {
  if (expected >= NEIGHBOURS) return unfiltered;
  const share = (NEIGHBOURS - Math.max(1, expected)) / (NEIGHBOURS - 1);
  return unfiltered + share * Math.max(0, best - unfiltered);
}

/** The same among few rows. */
export function filteredReachFor(reach: Reach, expected: number): number {
  return Math.max(reach.filtered, reachFor(reach, expected));
}

/** What the spread of a list counts for, where its centroid has this score. */
export function scaleOf(segment: DenseSegment, list: number, base: number, length: number): number {
  if (segment.shape.space !== "l2") return length;
  return Math.sqrt(Math.max(0, length ** 2 + segment.lists.centroidSquares[list]! - 2 * base));
}

/** `slots` ascend. */
export function stretchesOf({ listOfBlock, lists }: DenseSegment, slots: Uint32Array): ListStretches {
  const starts = new Uint32Array(lists.slots.length);
  const ends = new Uint32Array(lists.slots.length);
  for (let i = 0; i < slots.length;) {
    const list = listOfBlock[slots[i]! >>> 5]!;
    starts[list] = i;
    do i++;
    while (i < slots.length && listOfBlock[slots[i]! >>> 5] === list);
    ends[list] = i;
  }
  return { starts, ends };
}

/** Otherwise bounds will not count. */
export function hasMostLists({ starts, ends }: ListStretches): boolean {
  let met = 0;
  for (let list = 0; list < starts.length; list++) if (starts[list]! < ends[list]!) met++;
  return met >= starts.length / 2;
}

/** Takes lists until they have so many slots, and at least those that are looked at. */
export function takeFirstLists(order: ListOrder, { starts, ends }: ListStretches, slots: number): FirstLists {
  const lists: number[] = [];
  let met = 0;
  let count = 0;
  for (let looked = 0; count < slots || looked < LISTS_LOOKED_AT; looked++) {
    const list = order.take();
    if (list === -1) break;
    const length = ends[list]! - starts[list]!;
    if (length === 0) continue;
    lists.push(list);
    count += length;
    if (looked < LISTS_LOOKED_AT) met++;
  }
  return { lists, boundsCount: met >= LISTS_MET };
}
