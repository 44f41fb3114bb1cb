/**
 * Dense nearest neighbours among the filtered rows, by (distance, insertion order). The fast index of a large
 * collection answers for the rows it holds, a scan for the others: of vectors in memory, or of those in the store for
 * rows that left the fast index after the snapshot. Distances are the same either way. Which rows are found is
 * certain with `exact`, in small collections, where few rows are left, and where the fast index is not asked.
 */
import type { Space } from "@sheaf/protocol";
import { type DenseScan, scanSlices, scanWork } from "../index/dense-scan.ts";
import type { DenseAnswer, DenseRequest } from "../index/dense-rows.ts";
import type { ExactIndex } from "../index/exact-index.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { type RowSet, listBits } from "../index/row-set.ts";
import type { ScanPool } from "../index/scan-pool.ts";
import { type Nearest, TopK } from "../index/top-k.ts";
import { prepare } from "../kernels/distance.ts";
import { QueryDistance } from "../kernels/value-memory.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";

/** Records of a collection, and filtered rows, up to which the nearest are found with certainty: some 0.3 ms. */
const CERTAIN_RECORDS = 8_192;
const CERTAIN_MATCHES = 2_048;
/** Multiplications from which a scan goes to the workers: about a millisecond in this thread. */
const POOL_WORK = 2 ** 20;
/** Searches that let other work have its turn; after them one that nothing can overtake, as it does not wait. */
const PAUSED_ATTEMPTS = 3;
/** Vectors read from the store between two looks at the clock. */
const READS_PER_BREATH = 32;

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

interface PreparedQuery {
  readonly query: Float32Array;
  readonly space: Space;
  readonly k: number;
  readonly distance: QueryDistance;
}

export async function denseKnn(
  { vector, space, k, exact }: DenseQuery,
  rows: RowSet,
  view: RecordView,
  context: KnnContext,
): Promise<Nearest> {
  const { snapshot } = view;
  const query = prepare(space, vector);
  const certain = exact || snapshot.size <= CERTAIN_RECORDS || snapshot.countOf(rows) <= CERTAIN_MATCHES;
  const distance = new QueryDistance(space, query);
  const distanceAt = (position: number): number => view.distance(position, distance);
  const answer = await searchDense({ query, k, exact: certain, distanceAt }, rows, snapshot, context);
  const rest = answer === null ? rows : answer.rest;
  if (answer !== null && rest === null) return answer.nearest;
  const top = new TopK(k);
  if (answer !== null) top.pushAll(answer.nearest);
  if (rest !== null) await scanRest({ query, space, k, distance }, rest, { view, context, top });
  return top.sorted();
}

/** Rows that are written while it waits may hide others from it; then it searches again. */
async function searchDense(
  request: DenseRequest,
  rows: RowSet,
  snapshot: IndexSnapshot,
  { index, pace }: KnnContext,
): Promise<DenseAnswer | null> {
  for (let attempt = 1; ; attempt++) {
    const steps = index.searchDense(request, rows, snapshot);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) if (attempt <= PAUSED_ATTEMPTS) await pace.breathe();
    if (step.value?.overtaken !== true) return step.value;
  }
}

async function scanRest(
  prepared: PreparedQuery,
  rest: RowSet,
  { view, context, top }: { readonly view: RecordView; readonly context: KnnContext; readonly top: TopK },
): Promise<void> {
  const { scan, unheld } = divide(prepared, rest, view);
  if (scan.segments.length > 0) top.pushAll(await context.index.reading(() => nearestOf(scan, context)));
  for (const [i, position] of unheld.entries()) {
    const distance = view.distance(position, prepared.distance);
    top.push(distance, view.snapshot.offset(position), position);
    if (i % READS_PER_BREATH === 0) await context.pace.breathe();
  }
}

async function nearestOf(scan: DenseScan, { pace, scanPool }: KnnContext): Promise<Nearest> {
  if (scanPool !== undefined && scanWork(scan) > POOL_WORK) return scanPool.scan(scan, pace.signal);
  const top = new TopK(scan.k);
  const slices = scanSlices(scan, top);
  while (slices.next().done !== true) await pace.breathe();
  return top.sorted();
}

/** A scan of the rows whose vectors are in memory, and the positions of the others. */
function divide(
  { query, space, k }: PreparedQuery,
  rest: RowSet,
  { snapshot }: RecordView,
): { readonly scan: DenseScan; readonly unheld: readonly number[] } {
  const segments: DenseScan["segments"][number][] = [];
  const unheld: number[] = [];
  for (const [index, { vectors, offsets, held }] of snapshot.segments.entries()) {
    const rows = rest.segment(index);
    // Words of its own: sent to a worker, a view would carry the whole bitset along.
    const mask = new Uint32Array(rows.length);
    const others = new Uint32Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      mask[i] = rows[i]! & held[i]!;
      others[i] = rows[i]! & ~held[i]!;
    }
    const firstPosition = snapshot.bases.of(index);
    if (mask.some((word) => word !== 0)) segments.push({ vectors, offsets, mask, firstPosition });
    for (const local of listBits(others)) unheld.push(firstPosition + local);
  }
  return { scan: { query, space, k, segments }, unheld };
}
