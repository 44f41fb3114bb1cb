/** Sorts in slices: a generator pauses about every millisecond. */

const RUN = 1_024;
const MERGED_PER_SLICE = 16_384;

/** The numbers below `count` in the order of `compare`; equal ones ascend. */
export function* sortedOrder(
  count: number,
  compare: (a: number, b: number) => number,
): Generator<void, Uint32Array> {
  let from = new Uint32Array(count);
  for (let i = 0; i < count; i++) from[i] = i;
  for (let start = 0; start < count; start += RUN) {
    from.subarray(start, start + RUN).sort((a, b) => compare(a, b) || a - b);
    yield;
  }
  let into = new Uint32Array(count);
  let work = 0;
  for (let width = RUN; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(start + 2 * width, count);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        const isLeft = right === end || (left < middle && compare(from[left]!, from[right]!) <= 0);
        into[at] = from[isLeft ? left++ : right++]!;
        if (++work % MERGED_PER_SLICE === 0) yield;
      }
    }
    [from, into] = [into, from];
  }
  return from;
}
