/**
 * Which segments are next to be written as one: full mutable segments together with the newest sealed ones that are not
 * larger, so that a row is written anew only about as often as its segment doubles. At rest also larger ones, for each
 * segment more costs a search half of its time, if they keep as much of their vectors: all of a segment keeps as little
 * as the least of its sources. Else a sealed one most of whose rows have gone.
 */
import type { RowsKept } from "../segment/dense/segment-layout.ts";

export interface SegmentMeta {
  readonly sealed: boolean;
  /** Live rows, at least one. */
  readonly live: number;
  /** Rows that there were once. */
  readonly rows: number;
  /** What can be read of its vectors. */
  readonly kept: RowsKept;
}

export interface MergeRequest {
  /** The most rows of a segment that is written of several. */
  readonly segmentRows: number;
  /** Nothing is being written: work may be begun that the next rows would soon have to be part of. */
  readonly atRest: boolean;
}

/** `metas`: oldest first, sealed ones before mutable ones, which are full. Nothing: none is worth it. */
export function chooseMerge<T extends SegmentMeta>(
  metas: readonly T[],
  { segmentRows, atRest }: MergeRequest,
): readonly T[] {
  const sources: T[] = [];
  let rows = 0;
  for (const meta of metas.toReversed()) {
    const isLarger = meta.sealed && meta.live > rows;
    const mayBeLarger = atRest && sources.every(({ kept }) => kept === meta.kept);
    if (sources.length > 0 && (rows + meta.live > segmentRows || (isLarger && !mayBeLarger))) break;
    if (sources.length === 0 && isLarger && !atRest) break;
    sources.push(meta);
    rows += meta.live;
  }
  // A sealed segment alone is what it would become.
  if (sources.length > 1 || sources[0]?.sealed === false) return sources;
  const hollow = metas.find((meta) => meta.sealed && meta.live < meta.rows / 2);
  return hollow === undefined ? [] : [hollow];
}
