/**
 * Which segments are next to be written as one: full mutable segments together with the newest sealed ones that are not
 * larger, so that a row is written anew only about as often as its segment doubles. At rest also larger ones, for each
 * segment more costs a search half of its time, if they keep as much of their vectors: all of a segment keeps as little
 * as the least of its sources. Else a sealed one most of whose rows have gone, at rest one that a fifth has left: its file
 * and memory shrink with it. A mutable segment that is not full is sealed at rest too, where it has many rows: an opening
 * from files replays what is not sealed.
 */
import type { RowsKept } from "../segment/dense/segment-layout.ts";

/** Of a full mutable segment, at rest. */
const REST_SHARE = 4;
/** Full mutable segments whose rows an opening may have to replay because of one old row. */
const MOST_SPANNED = 4;
/** At rest a sealed segment joins newer rows only while it is at most so many times as large. */
const MOST_LARGER = 8;
/** A sealed segment with a smaller share of live rows is written anew; at rest each dead row costs a few that are. */
const LEAST_LIVE = 0.5;
const LEAST_LIVE_AT_REST = 0.8;

export interface SegmentMeta {
  readonly sealed: boolean;
  /** Live rows, at least one, or as many as their metadata stands for where that is long. */
  readonly live: number;
  /** Rows that there were once, counted so too. */
  readonly rows: number;
  /** What can be read of its vectors. */
  readonly kept: RowsKept;
}

/** A mutable segment that is not full. */
export interface UnsealedRows {
  readonly live: number;
  /** From the operation of its oldest row to the newest one of the collection. */
  readonly span: number;
}

export interface DueRequest {
  /** Rows of a full mutable segment. */
  readonly mutableRows: number;
  readonly atRest: boolean;
}

/**
 * Whether it is sealed all the same. An opening from files replays what is not sealed, and all operations since the oldest
 * row of that: at rest there are at most a quarter as many as a full segment has, and else a few times as many.
 */
export function isDue({ live, span }: UnsealedRows, { mutableRows, atRest }: DueRequest): boolean {
  if (live === 0) return false;
  if (isFarBehind(span, mutableRows)) return true;
  return atRest && Math.max(live, span) >= mutableRows / REST_SHARE;
}

/** The oldest row of a segment is so old that the others must not wait for it any longer. */
export function isFarBehind(span: number, mutableRows: number): boolean {
  return span >= mutableRows * MOST_SPANNED;
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
    const mayBeLarger = atRest && canJoin(meta, sources, rows);
    if (sources.length > 0 && (rows + meta.live > segmentRows || (isLarger && !mayBeLarger))) break;
    if (sources.length === 0 && isLarger && !atRest) break;
    sources.push(meta);
    rows += meta.live;
  }
  // A sealed segment alone is what it would become.
  if (sources.length > 1 || sources[0]?.sealed === false) return sources;
  const least = atRest ? LEAST_LIVE_AT_REST : LEAST_LIVE;
  const hollow = metas.find((meta) => meta.sealed && meta.live < meta.rows * least);
  return hollow === undefined ? [] : [hollow];
}

function canJoin<T extends SegmentMeta>({ live, kept }: T, sources: readonly T[], rows: number): boolean {
  return (
    (sources.length === 0 || live <= rows * MOST_LARGER) && sources.every((source) => source.kept === kept)
  );
}
