/**
 * One search over partitions, stage by stage as `search.ts` does it on one index:
 *
 * 1. each partition filters, and counts what scores depend on; the sums are those of the collection;
 * 2. each finds the nearest of its records, scored by the sums; the nearest of all are taken by (distance, offset);
 * 3. where records' own values matter each ranks its own, and the best of all are taken by (score, offset);
 * 4. mmr, groups and the page are made here, of what was fetched for the records that are left.
 */
import { EMBEDDING_KEY, LIMITS, type Knn, type Rank, type Search } from "@sheaf/protocol";
import { addTotals } from "../../segment/postings/document-length.ts";
import { type Nearest, TopK } from "../../segment/top-k.ts";
import { diversify } from "../diversity/diversify.ts";
import type { FoundLeaf } from "../explain/page-leaves.ts";
import { groupRecords } from "../group/group.ts";
import { SCORE_KEY } from "../group/member-order.ts";
import { sortedRecords } from "../metadata-sort.ts";
import type { Pace } from "../pace.ts";
import { pageEnd, pageOf } from "../page.ts";
import type { QueryContext } from "../query-context.ts";
import { type LeafValues, joined, leafValues } from "../rank/finds.ts";
import { hasFields, knnLeaves } from "../rank/leaves.ts";
import { type DensePath, densePath } from "../rank/knn.ts";
import { rankLeaves } from "../rank/rank.ts";
import { type TermStatistics, unweighed } from "../rank/sparse-knn.ts";
import { type Scored, sortScored } from "../score-order.ts";
import { InsertionOrder } from "./insertion-order.ts";
import type { LeafRows, ListSurvey, RowValues } from "./partition.ts";
import type { PartitionedRecords } from "./partitioned-records.ts";

/** What each stage left for the next; as `SearchStages`. */
export interface PartitionedStages {
  /** Records that passed the filter. */
  readonly rows: number;
  readonly leaves: readonly FoundLeaf[];
  /** Records that have a score; `null`: the search has no rank. */
  readonly ranked: number | null;
  /** The best of them; all where it is asked why records are not on the page. */
  readonly ranking: Scored | null;
  readonly chosen: Scored | null;
  readonly kept: Scored | null;
  readonly page: Scored;
}

export interface PartitionedReading extends Pick<QueryContext, "plan" | "dimension" | "times"> {
  readonly records: PartitionedRecords;
  readonly pace: Pace;
}

/** @param list Its number in the question that the partitions were asked. */
export async function searchPartitions(
  search: Search,
  list: number,
  reading: PartitionedReading,
): Promise<PartitionedStages> {
  const { records, pace, times } = reading;
  const { rank } = search;
  const surveys = await times.measure("filter", () =>
    Promise.all(records.reads.map((read) => read.survey(list))),
  );
  const rows = surveys.reduce((sum, { count }) => sum + count, 0);
  if (rank === null) {
    const page = await unrankedPage(search, { list, rows }, reading);
    return { rows, leaves: [], ranked: null, ranking: null, chosen: null, kept: null, page };
  }
  const counted = knnLeaves(rank).map((_, leaf) => sumOf(surveys, leaf));
  const leaves = await findLeaves(rank, list, counted, reading);
  const { ranking, ranked } = await times.measure("rank", () =>
    rankFound(search, rank, { list, leaves }, reading),
  );
  const { mmr, groupBy } = search;
  let chosen = ranking;
  if (mmr !== undefined) {
    const vectors = { space: reading.plan.space, dimension: reading.dimension ?? 0 };
    await records.fetchUnits(ranking.positions.subarray(0, LIMITS.mmrPool), vectors.dimension);
    chosen = await times.measure("mmr", () => diversify(ranking, mmr, vectors, { view: records, pace }));
  }
  let kept: Scored | null = null;
  if (groupBy !== null) {
    const keys = [...groupBy.keys, ...groupBy.aggregate.keys.filter((key) => key !== SCORE_KEY)];
    await records.fetchValues(chosen.positions, [...new Set(keys)]);
    const end = pageEnd(search);
    kept = await times.measure("group", () => groupRecords(chosen, groupBy, end, { view: records, pace }));
  }
  return { rows, leaves, ranked, ranking, chosen, kept, page: pageOf(kept ?? chosen, search) };
}

/** `null`: nothing is counted for the leaf. */
function sumOf(surveys: readonly ListSurvey[], leaf: number): TermStatistics | null {
  const counts = surveys.flatMap(({ counted }) => counted[leaf] ?? []);
  if (counts.length === 0) return null;
  return counts.reduce((a, b) => ({
    records: a.records + b.records,
    holders: a.holders.map((holders, term) => holders + b.holders[term]!),
    totals: a.totals && b.totals && addTotals(a.totals, b.totals),
  }));
}

async function findLeaves(
  rank: Rank,
  list: number,
  counted: readonly (TermStatistics | null)[],
  { records, pace, times }: PartitionedReading,
): Promise<readonly FoundLeaf[]> {
  const knns = knnLeaves(rank);
  if (knns.length === 0) return [];
  const stage = knns.some(({ key }) => key === EMBEDDING_KEY) ? "dense" : "sparse";
  const found = await times.measure(stage, () =>
    Promise.all(records.reads.map((read) => read.nearest(list, counted))),
  );
  const leaves: FoundLeaf[] = [];
  for (const [leaf, knn] of knns.entries()) {
    const shares = found.map((leavesOf) => leavesOf[leaf]!);
    leaves.push(joinedLeaf(knn, shares, counted[leaf] ?? null, records));
    await pace.breathe();
  }
  return leaves;
}

function joinedLeaf(
  knn: Knn,
  shares: readonly LeafRows[],
  counted: TermStatistics | null,
  records: PartitionedRecords,
): FoundLeaf {
  const top = new TopK(knn.limit);
  for (const [partition, { rows, offsets, distances }] of shares.entries())
    top.pushAll({ positions: records.positions(partition, rows), offsets, distances });
  const nearest: Nearest = top.sorted();
  records.remember(nearest.positions, nearest.offsets);
  const dense = shares.map((share) => share.dense).filter((path) => path !== null);
  const sparse = shares.map((share) => share.sparse).filter((path) => path !== null);
  return {
    ...{ knn, nearest, dense: dense.length === 0 ? null : dense.reduce(addPaths) },
    sparse:
      sparse.length === 0
        ? null
        : {
            weighed: { ...unweighed(new Float32Array(0)), totals: counted?.totals ?? null },
            blocks: sparse.reduce((sum, { blocks }) => sum + blocks, 0),
            tails: sparse.reduce((sum, { tails }) => sum + tails, 0),
          },
  };
}

function addPaths(a: DensePath, b: DensePath): DensePath {
  const sum = densePath();
  sum.exact = a.exact && b.exact;
  for (const key of ["lists", "listsProbed", "estimated", "scored", "rescored", "scanned"] as const)
    sum[key] = a[key] + b[key];
  return sum;
}

interface Found {
  readonly list: number;
  readonly leaves: readonly FoundLeaf[];
}

/** Where no value of a record counts, nobody has to be asked again. */
async function rankFound(
  { mmr, groupBy }: Search,
  rank: Rank,
  { list, leaves }: Found,
  { records, pace }: PartitionedReading,
): Promise<{ readonly ranking: Scored; readonly ranked: number }> {
  const values = leaves.map(({ knn, nearest }) => leafValues(nearest, knn.returnRank));
  if (!hasFields(rank) && (groupBy === null || mmr !== undefined)) {
    const ranking = await rankLeaves(rank, values, { snapshot: records.snapshot, pace });
    return { ranking, ranked: ranking.positions.length };
  }
  const shares = sharesOf(values, records);
  const found = await Promise.all(
    records.reads.map((read, partition) => read.rank(list, shares[partition]!)),
  );
  const scored = found.map((share, partition) => ({
    positions: records.add(partition, share),
    scores: share.scores,
  }));
  return {
    ranking: await sortScored(joined(scored), records.snapshot, pace),
    ranked: found.reduce((sum, { ranked }) => sum + ranked, 0),
  };
}

/** By partition and leaf. */
function sharesOf(
  leaves: readonly LeafValues[],
  records: PartitionedRecords,
): readonly (readonly RowValues[])[] {
  const none: RowValues = { rows: new Int32Array(0), values: new Float32Array(0) };
  const shares = records.reads.map(() => leaves.map(() => none));
  for (const [leaf, { positions, values }] of leaves.entries())
    for (const { partition, rows, places } of records.divide(positions))
      shares[partition]![leaf] = { rows, values: Float32Array.from(places, (place) => values[place]!) };
  return shares;
}

/** Each score is the place on the page. */
async function unrankedPage(
  search: Pick<Search, "offset" | "limit" | "orderBy">,
  { list, rows }: { readonly list: number; readonly rows: number },
  reading: PartitionedReading,
): Promise<Scored> {
  const { records, pace, times } = reading;
  const { offset, orderBy } = search;
  const end = pageEnd(search);
  let positions: Int32Array;
  if (orderBy === undefined) {
    const order = new InsertionOrder(list, records);
    await order.skip(offset, pace);
    positions = await order.next(end - offset, pace);
  } else {
    const page = { list, rows, offset, end };
    positions = await times.measure("sort", () => sortedPositions(orderBy, page, reading));
  }
  return { positions, scores: Float32Array.from(positions.keys()) };
}

export interface SortedBounds {
  readonly list: number;
  /** Records that the list's selection has. */
  readonly rows: number;
  readonly offset: number;
  readonly end: number;
}

/** Throws 400 where too many records are before the end of the page. */
export async function sortedPositions(
  orderBy: NonNullable<Search["orderBy"]>,
  { list, rows, offset, end }: SortedBounds,
  { records, pace }: Pick<PartitionedReading, "records" | "pace">,
): Promise<Int32Array> {
  const page = { offset, end };
  const wanted = Math.min(end, rows);
  let candidates: Int32Array = new Int32Array(0);
  if (wanted <= LIMITS.orderedResults && offset < wanted) {
    const found = await Promise.all(records.reads.map((read) => read.sorted(list, orderBy, end)));
    const scored = found.map((share, partition) => {
      const positions = records.add(partition, share);
      return { positions, scores: new Float32Array(positions.length) };
    });
    // All scores are equal: this is the order of insertion.
    ({ positions: candidates } = await sortScored(joined(scored), records.snapshot, pace));
    await records.fetchValues(
      candidates,
      orderBy.keys.map(({ key }) => key),
    );
  }
  const inOrder = { positions: candidates, count: rows };
  return sortedRecords(inOrder, orderBy, page, { view: records, pace });
}
