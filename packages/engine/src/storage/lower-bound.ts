/** Binary search. */

/** The first number below `count` for which `isBelow` is false, or `count`. It is true of those before, and of no later one. */
export function lowerBound(count: number, isBelow: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
