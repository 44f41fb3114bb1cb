/** What the `$knn` leaves of a search found of the records on its page: all that is kept for their traces. */
import type { Knn } from "@sheaf/protocol";
import type { Nearest } from "../../segment/top-k.ts";
import type { Pace } from "../pace.ts";
import type { DensePath } from "../rank/knn.ts";
import type { SparsePath, WeighedQuery } from "../rank/sparse-knn.ts";

/** A leaf, what it found and how. */
export interface FoundLeaf {
  readonly knn: Knn;
  readonly nearest: Nearest;
  readonly dense: DensePath | null;
  readonly sparse: SparsePath | null;
}

/** By place on the page. */
export interface PageLeaf {
  readonly knn: Knn;
  /** Place among what the leaf found; -1: it did not find the record. */
  readonly ranks: Int32Array;
  /** f32. */
  readonly distances: Float32Array;
  /** Of a sparse query. */
  readonly weighed: WeighedQuery | null;
}

const ROWS_PER_BREATH = 4_096;

export async function leavesOnPage(
  leaves: readonly FoundLeaf[],
  page: Int32Array,
  pace: Pace,
): Promise<readonly PageLeaf[]> {
  const places = new Map<number, number>();
  for (const [place, position] of page.entries()) places.set(position, place);
  const onPage: PageLeaf[] = [];
  for (const { knn, nearest, sparse } of leaves) {
    const ranks = new Int32Array(page.length).fill(-1);
    const distances = new Float32Array(page.length);
    for (const [rank, position] of nearest.positions.entries()) {
      const place = places.get(position);
      if (place !== undefined) {
        ranks[place] = rank;
        distances[place] = nearest.distances[rank]!;
      }
      if (rank % ROWS_PER_BREATH === 0) await pace.breathe();
    }
    onPage.push({ knn, ranks, distances, weighed: sparse?.weighed ?? null });
  }
  return onPage;
}
