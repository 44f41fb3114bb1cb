/** The page stage: skip `offset`, take `limit`; without a limit of its own a page ends at the server's maximum. */
import { LIMITS, type OrderBy, type Search } from "@sheaf/protocol";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { RowSet } from "../index/row-set.ts";
import type { Reading } from "./group/member-order.ts";
import { inInsertionOrder } from "./insertion-order.ts";
import { sortedPage } from "./metadata-sort.ts";
import type { Pace } from "./pace.ts";
import type { Scored } from "./score-order.ts";

type Bounds = Pick<Search, "offset" | "limit">;

export function pageOf({ positions, scores }: Scored, bounds: Bounds): Scored {
  const end = pageEnd(bounds);
  // Copies: the page may be kept for long, the ranking may be of all records.
  return { positions: positions.slice(bounds.offset, end), scores: scores.slice(bounds.offset, end) };
}

/** The page of a search without a rank: insertion order, and each score is the place on this page. */
export async function unrankedPage(
  rows: RowSet,
  bounds: Bounds,
  { snapshot, pace }: { readonly snapshot: IndexSnapshot; readonly pace: Pace },
): Promise<Scored> {
  const first = await inInsertionOrder(rows, snapshot, { count: pageEnd(bounds), pace });
  const positions = first.slice(bounds.offset);
  return { positions: Int32Array.from(positions), scores: Float32Array.from(positions.keys()) };
}

/** The same in the order that is asked for. */
export async function orderedPage(
  rows: RowSet,
  orderBy: OrderBy,
  bounds: Bounds,
  reading: Reading,
): Promise<Scored> {
  const page = { offset: bounds.offset, end: pageEnd(bounds) };
  const positions = await sortedPage(rows, orderBy, page, reading);
  return { positions, scores: Float32Array.from(positions.keys()) };
}

/** Results up to the last of the page. */
export function pageEnd({ offset, limit }: Bounds): number {
  return offset + Math.min(limit ?? LIMITS.resultsPerPage, LIMITS.resultsPerPage);
}
