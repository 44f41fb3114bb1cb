/**
 * Dense nearest neighbours among the filtered rows, by (distance, insertion order). The fast index of a large
 * collection answers for the rows it holds, an exact scan for the others. Distances are the same either way. Which
 * rows are found is certain with `exact`, up to `CERTAIN_MATCHES` filtered rows, and where the fast index is not asked.
 */
import type { Space } from "@sheaf/protocol";
import { type DenseScan, scanSlices, scanWork } from "../index/dense-scan.ts";
import type { ExactIndex } from "../index/exact-index.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { type RowSet, SEGMENT_ROWS } from "../index/row-set.ts";
import type { ScanPool } from "../index/scan-pool.ts";
import { type Nearest, TopK } from "../index/top-k.ts";
import { prepare } from "../kernels/distance.ts";
import type { Pace } from "./pace.ts";

/** Filtered rows up to which the nearest are found with certainty: at 384 dimensions some tenths of a millisecond. */
const CERTAIN_MATCHES = 8_192;
/** The fast index finds so many neighbours before scoring every row is the better way. */
const MAX_FAST_K = 1_000;
/** Multiplications of a certain search that may hold this thread: some milliseconds. A scan gives way to others. */
const MAX_CERTAIN_WORK = 2 ** 26;
/** Multiplications from which a scan goes to the workers: about a millisecond in this thread. */
const POOL_WORK = 2 ** 20;

export interface DenseQuery {
  readonly vector: Float32Array;
  readonly space: Space;
  /** At least 1. */
  readonly k: number;
  readonly exact: boolean;
}

export interface KnnContext {
  readonly index: ExactIndex;
  readonly pace: Pace;
  readonly scanPool: ScanPool | undefined;
}

export async function denseKnn(
  { vector, space, k, exact }: DenseQuery,
  rows: RowSet,
  snapshot: IndexSnapshot,
  context: KnnContext,
): Promise<Nearest> {
  const query = prepare(space, vector);
  const matches = rows.count();
  const certain = exact || matches <= CERTAIN_MATCHES;
  const isFast = k <= MAX_FAST_K && !(certain && matches * query.length > MAX_CERTAIN_WORK);
  const answer = isFast ? context.index.searchDense({ query, k, exact: certain }, rows, snapshot) : null;
  const scan = denseScan({ query, space, k }, answer?.rest ?? rows, snapshot);
  if (answer === null) return nearestOf(scan, context);
  if (scan.segments.length === 0) return answer.nearest;
  const top = new TopK(k);
  top.pushAll(answer.nearest);
  top.pushAll(await nearestOf(scan, context));
  return top.sorted();
}

async function nearestOf(scan: DenseScan, { pace, scanPool }: KnnContext): Promise<Nearest> {
  if (scanPool !== undefined && scanWork(scan) > POOL_WORK) return scanPool.scan(scan, pace.signal);
  const top = new TopK(scan.k);
  const slices = scanSlices(scan, top);
  while (slices.next().done !== true) await pace.breathe();
  return top.sorted();
}

function denseScan(scan: Omit<DenseScan, "segments">, rows: RowSet, snapshot: IndexSnapshot): DenseScan {
  const segments = snapshot.segments.map(({ vectors, offsets }, index) => ({
    vectors,
    offsets,
    // A copy: sent to a worker, a view would carry the whole bitset along.
    mask: rows.segment(index).slice(),
    firstPosition: index * SEGMENT_ROWS,
  }));
  return { ...scan, segments: segments.filter(({ mask }) => mask.some((word) => word !== 0)) };
}
