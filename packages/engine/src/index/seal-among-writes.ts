/**
 * Whoever writes faster than the background seals does some of it, a little with every batch, and the more the more
 * waits: what is not sealed would grow until the memory ends else, every search would look at all of it, and then
 * writers would wait for seconds.
 */

/** A segment of 131,072 rows takes some 10,000 steps, so at a share of 0.3 as much is sealed as is written. */
const ROWS_PER_STEP = 4;
const MOST_SHARE = 2;

export interface WrittenRows {
  /** Of the batch. */
  readonly rows: number;
  /** That wait to be sealed. */
  readonly unsealed: number;
  /** So many may wait, which become one segment: a row that is sealed with few others is sealed again with more. */
  readonly segmentRows: number;
}

/** `step` does about a millisecond of work, or less; false: there is nothing to do. */
export function* sealAmongWrites(
  { rows, unsealed, segmentRows }: WrittenRows,
  step: () => boolean,
): Generator<void, void> {
  const share = Math.min(MOST_SHARE, unsealed / segmentRows - 1);
  for (let steps = (rows * share) / ROWS_PER_STEP; steps > 0 && step(); steps--) yield;
}
