/** One search of the dictionary, stage by stage: filter, `$knn` leaves, rank, mmr, group, page. */
import { EMBEDDING_KEY, type Knn, type Rank, type Search, SheafError, invalid } from "@sheaf/protocol";
import type { RowSet } from "../index/row-set.ts";
import type { SideThread } from "../index/side-thread.ts";
import type { Nearest } from "../segment/top-k.ts";
import { candidateRows, filterRows } from "./filter/filter.ts";
import { diversify } from "./diversity/diversify.ts";
import type { FoundLeaf } from "./explain/page-leaves.ts";
import { groupRecords } from "./group/group.ts";
import type { Reading } from "./group/member-order.ts";
import { denseKnn, densePath } from "./rank/knn.ts";
import { leafValues } from "./rank/finds.ts";
import { knnLeaves } from "./rank/leaves.ts";
import type { Scored } from "./score-order.ts";
import type { Pace } from "./pace.ts";
import { orderedPage, pageEnd, pageOf, unrankedPage } from "./page.ts";
import type { QueryContext } from "./query-context.ts";
import { rankRecords } from "./rank/rank.ts";
import type { RecordView } from "./record-view.ts";
import { type TermStatistics, beginSparse, termStatistics, unweighed } from "./rank/sparse-knn.ts";
import type { Filter } from "./filter/where-plan.ts";

/** Records of a collection from which a sparse leaf takes several times as long as to wake another thread. */
const SHARED_RECORDS = 32_768;

/** A leaf that is looked for. */
interface Leaf extends Omit<FoundLeaf, "nearest"> {
  /** What has to be counted in the whole collection before; `null`: nothing. */
  readonly count: () => Promise<TermStatistics | null>;
  /**
   * Resolves once the side thread has what it can do of it, to what does the rest.
   *
   * @param counted Left out: the snapshot is all of the collection.
   */
  readonly begin: (rows: RowSet, counted?: TermStatistics | null) => Promise<() => Promise<Nearest>>;
}

/** What a query has to fit. */
type CheckedBy = Pick<QueryContext, "dimension" | "plan">;

/** Throws 400, with the path, for a leaf that the collection's indexes cannot answer. */
export function checkLeaves(context: CheckedBy, search: Search): void {
  if (search.rank !== null) for (const leaf of knnLeaves(search.rank)) checkLeaf(context, leaf);
}

/** Throws 400 for a vector of another length than the collection's. */
export function checkDimension(context: CheckedBy, vector: Float32Array, path: string): void {
  if (context.dimension === null || vector.length === context.dimension) return;
  throw invalid(
    path,
    `Collection expecting embedding with dimension of ${context.dimension}, got ${vector.length}`,
  );
}

/** What each stage of a search left for the next; the last ones are `null` where it has no rank. */
export interface SearchStages {
  readonly rows: RowSet;
  readonly leaves: readonly FoundLeaf[];
  readonly ranking: Scored | null;
  /** Of the ranking, by `mmr`; all of it without. */
  readonly chosen: Scored | null;
  /** Of these, if they were grouped. */
  readonly kept: Scored | null;
  /** The records of the page with their scores. */
  readonly page: Scored;
}

export async function runSearch(
  context: QueryContext,
  search: Search,
  filter: Filter | null,
  { view, pace }: { readonly view: RecordView; readonly pace: Pace },
): Promise<SearchStages> {
  const { times } = context;
  const { rank, mmr, groupBy, orderBy } = search;
  const vectors = { space: context.plan.space, dimension: context.dimension ?? 0 };
  const leaves = rank === null ? [] : prepareLeaves(context, rank, { view, pace });
  const candidates = candidateRows(context.index, { ids: null, where: search.where }, view);
  const rows = await times.measure("filter", () => filterRows(filter, candidates, view, pace));
  if (rank === null) {
    const page = await (orderBy === undefined
      ? unrankedPage(rows, search, { snapshot: view.snapshot, pace })
      : times.measure("sort", () => orderedPage(rows, orderBy, search, { view, pace })));
    return { rows, leaves: [], ranking: null, chosen: null, kept: null, page };
  }
  const nearest = await findLeaves(leaves, rows);
  if (leaves.length > 1) times.near();
  const values = leaves.map(({ knn }, i) => leafValues(nearest[i]!, knn.returnRank));
  const ranking = await times.measure("rank", () =>
    rankRecords(rank, values, { rows, snapshot: view.snapshot, pace }),
  );
  const chosen =
    mmr === undefined
      ? ranking
      : await times.measure("mmr", () => diversify(ranking, mmr, vectors, { view, pace }));
  const kept =
    groupBy === null
      ? null
      : await times.measure("group", () => groupRecords(chosen, groupBy, pageEnd(search), { view, pace }));
  const found = leaves.map((leaf, i) => ({ ...leaf, nearest: nearest[i]! }));
  return { rows, leaves: found, ranking, chosen, kept, page: pageOf(kept ?? chosen, search) };
}

export function prepareLeaves(context: QueryContext, rank: Rank, { view, pace }: Reading): readonly Leaf[] {
  const leaves = knnLeaves(rank);
  // Alone, or in little time, a leaf is found sooner by the thread that has it.
  const isShared = leaves.length > 1 && view.snapshot.size >= SHARED_RECORDS;
  const sideThread = isShared ? (context.scanPool?.sideThread ?? null) : null;
  return leaves.map((knn) => prepareLeaf(context, knn, { view, pace, sideThread }));
}

function prepareLeaf(
  { index, plan, scanPool, times }: QueryContext,
  knn: Knn,
  { view, pace, sideThread }: { view: RecordView; pace: Pace; sideThread: SideThread | null },
): Leaf {
  const { query, key, limit: k, exact } = knn;
  if (query.type === "text") throw textQuery(knn.path);
  if (query.type === "sparse") {
    const path = { weighed: unweighed(query.vector.values), blocks: 0, tails: 0 };
    const { indices: terms, values } = query.vector;
    const { bm25: idf = false, statistics } = plan.sparse.find((sparse) => sparse.key === key) ?? {};
    const sparse = { key, terms, values, idf, statistics, k };
    const begin: Leaf["begin"] = async (rows, statistics) => {
      const context = { snapshot: view.snapshot, pace, sideThread, path, statistics };
      const rest = await times.measure("sparse", () => beginSparse(sparse, rows, context));
      return () => times.measure("sparse", rest);
    };
    const count: Leaf["count"] = () => termStatistics(sparse, view.snapshot, pace);
    return { knn, dense: null, sparse: path, count, begin };
  }
  const dense = { vector: query.vector, space: plan.space, k, exact };
  const path = densePath();
  const begin: Leaf["begin"] = async (rows) => {
    times.scanned(view.snapshot.countOf(rows));
    return () => times.measure("dense", () => denseKnn(dense, rows, view, { index, pace, scanPool, path }));
  };
  return { knn, dense: path, sparse: null, count: () => Promise.resolve(null), begin };
}

/**
 * Sparse leaves begin first and end last: the side thread is at them while this thread is at the dense ones.
 *
 * @param counted Of each leaf; left out: the snapshot is all of the collection.
 */
export async function findLeaves(
  leaves: readonly Leaf[],
  rows: RowSet,
  counted?: readonly (TermStatistics | null)[],
): Promise<Nearest[]> {
  const rests: (() => Promise<Nearest>)[] = [];
  for (const [i, { begin }] of leaves.entries()) rests.push(await begin(rows, counted?.[i]));
  const nearest: Nearest[] = [];
  for (const isSparse of [false, true])
    for (const [i, { sparse }] of leaves.entries())
      if ((sparse !== null) === isSparse) nearest[i] = await rests[i]!();
  return nearest;
}

function checkLeaf(context: CheckedBy, { key, query, path }: Knn): void {
  if (query.type === "text") throw textQuery(path);
  if (key === EMBEDDING_KEY) {
    if (query.type === "sparse") throw invalid(`${path}.query`, "#embedding takes a dense vector");
    checkDimension(context, query.vector, `${path}.query`);
    return;
  }
  if (!context.plan.sparse.some((index) => index.key === key)) {
    throw invalid(`${path}.key`, `no sparse vector index on "${key}"`);
  }
  if (query.type === "dense") throw invalid(`${path}.query`, `"${key}" takes a sparse vector`);
}

function textQuery(path: string): SheafError {
  return new SheafError("internal", `${path}: a text reached the engine before it was embedded`);
}
