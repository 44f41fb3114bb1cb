/**
 * Dense nearest neighbours among the filtered rows, by (distance, insertion order). Rows that have codes are found by
 * these, the others by a scan: of vectors in memory, or of those in the store where a vector is too long for a code.
 * Distances are the same either way. Which rows are found is certain with `exact`, in small collections, where few rows
 * are left, and where no row has a code.
 */
import type { Space } from "@sheaf/protocol";
import { type DenseScan, scanSlices, scanWork } from "../../segment/dense-scan.ts";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { DenseAnswer, DenseRequest, IndexSnapshot } from "../../index/index-snapshot.ts";
import { listBits } from "../../segment/bits.ts";
import { RowSet } from "../../index/row-set.ts";
import type { ScanPool } from "../../index/scan-pool.ts";
import { type Nearest, TopK } from "../../segment/top-k.ts";
import { prepare } from "../../kernels/distance.ts";
import { QueryDistance } from "../../kernels/value-memory.ts";
import { type DenseTally, denseTally } from "../../segment/dense-tally.ts";
import type { SegmentNeeds } from "../../segment/segment.ts";
import type { Pace } from "../pace.ts";
import type { RecordView } from "../record-view.ts";

/** Records of a collection, and filtered rows, up to which the nearest are found with certainty: some 0.3 ms. */
const CERTAIN_RECORDS = 8_192;
const CERTAIN_MATCHES = 2_048;
/** Multiplications from which a scan goes to the workers: about a millisecond in this thread. */
const POOL_WORK = 2 ** 20;
/** Vectors read from the store between two looks at the clock. */
const READS_PER_BREATH = 32;

export interface DenseQuery {
  readonly vector: Float32Array;
  readonly space: Space;
  /** At least 1. */
  readonly k: number;
  readonly exact: boolean;
}

/** How a search for neighbours went. */
export interface DensePath extends DenseTally {
  /** Rows without codes, each of which was compared exactly. */
  scanned: number;
}

export function densePath(): DensePath {
  return { ...denseTally(), scanned: 0 };
}

export interface KnnContext {
  readonly index: CollectionIndex;
  readonly pace: Pace;
  readonly scanPool: ScanPool | undefined;
  /** Is told how it goes. */
  readonly path?: DensePath;
}

interface PreparedQuery {
  readonly query: Float32Array;
  readonly space: Space;
  readonly k: number;
  readonly distance: QueryDistance;
}

const DENSE_NEEDS: SegmentNeeds = { dense: true, docs: "identities" };

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
  const { path = densePath() } = context;
  const ahead = view.isCold ? (positions: readonly number[]): void => view.require(positions) : undefined;
  const request = { query, k, exact: certain, distanceAt, ahead, tally: path };
  const ready = snapshot.prepare(DENSE_NEEDS, context.pace);
  if (ready !== undefined) await ready;
  const answer = await searchDense(request, rows, snapshot, context);
  const rest = answer === null ? rows : answer.rest;
  if (answer !== null && rest === null) return answer.nearest;
  const top = new TopK(k);
  if (answer !== null) top.pushAll(answer.nearest);
  if (rest !== null) {
    path.scanned = snapshot.countOf(rest);
    await scanRest({ query, space, k, distance }, rest, { view, context, top });
  }
  return top.sorted();
}

async function searchDense(
  request: DenseRequest,
  rows: RowSet,
  snapshot: IndexSnapshot,
  { pace }: KnnContext,
): Promise<DenseAnswer | null> {
  const steps = snapshot.searchDense(request, rows);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await pace.breathe();
  return step.value;
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
  const unheld = new RowSet(rest.bases, rest.words.slice());
  const segments = snapshot.segments.flatMap(({ vectors }, index) =>
    vectors.scans(rest.segment(index), snapshot.bases.of(index)),
  );
  for (const { mask, firstPosition } of segments)
    for (let i = 0; i < mask.length; i++) unheld.words[firstPosition / 32 + i]! &= ~mask[i]!;
  return { scan: { query, space, k, segments }, unheld: listBits(unheld.words) };
}
