/** One search of the dictionary, stage by stage: filter, `$knn` leaves, rank, group, page, select. */
import {
  EMBEDDING_KEY,
  type Knn,
  type ResultRecord,
  type Search,
  SheafError,
  invalid,
} from "@sheaf/protocol";
import type { RowSet } from "../index/row-set.ts";
import type { Nearest } from "../index/top-k.ts";
import { candidateRows, filterRows } from "./filter.ts";
import { groupRecords } from "./group.ts";
import { denseKnn } from "./knn.ts";
import type { Scored } from "./order.ts";
import type { Pace } from "./pace.ts";
import { pageOf, unrankedPage } from "./page.ts";
import type { QueryContext } from "./query-context.ts";
import { knnLeaves, rankRecords } from "./rank.ts";
import type { RecordView } from "./record-view.ts";
import { fieldsOfSelect, selectRecords } from "./select.ts";
import { sparseKnn } from "./sparse-knn.ts";
import type { WherePlan } from "./where-plan.ts";

type Leaf = (rows: RowSet) => Promise<Nearest>;

/** Throws 400, with the path, for a leaf that the collection's indexes cannot answer. */
export function checkLeaves(context: QueryContext, search: Search): void {
  if (search.rank !== null) for (const leaf of knnLeaves(search.rank)) checkLeaf(context, leaf);
}

/** Throws 400 for a vector of another length than the collection's. */
export function checkDimension(context: QueryContext, vector: Float32Array, path: string): void {
  if (context.dimension === null || vector.length === context.dimension) return;
  throw invalid(
    path,
    `Collection expecting embedding with dimension of ${context.dimension}, got ${vector.length}`,
  );
}

export async function runSearch(
  context: QueryContext,
  search: Search,
  where: WherePlan | null,
  { view, pace }: { readonly view: RecordView; readonly pace: Pace },
): Promise<ResultRecord[]> {
  const { rank, groupBy } = search;
  const leaves = rank === null ? [] : knnLeaves(rank).map((knn) => prepareLeaf(context, knn, view, pace));
  const candidates = candidateRows(context.index, null, search.where);
  const rows = await filterRows(where, candidates, view, pace);
  let page: Scored;
  if (rank === null) page = unrankedPage(rows, view.snapshot, search);
  else {
    const nearest: Nearest[] = [];
    for (const leaf of leaves) nearest.push(await leaf(rows));
    const ranking = await rankRecords(rank, nearest, view.snapshot, pace);
    const kept = groupBy === null ? ranking : await groupRecords(ranking, groupBy, view.snapshot, pace);
    page = pageOf(kept, search);
  }
  return selectRecords(page, fieldsOfSelect(search.select), view, pace);
}

/** Takes idf now, while the index's newest state is the view's snapshot. */
function prepareLeaf(
  { index, plan, scanPool, onRowsScanned }: QueryContext,
  { query, key, limit: k, exact, path }: Knn,
  { snapshot }: RecordView,
  pace: Pace,
): Leaf {
  if (query.type === "text") throw textQuery(path);
  if (query.type === "sparse") {
    const weights = index.sparseWeights(key, query.vector);
    return (rows) => sparseKnn({ key, terms: query.vector.indices, weights, k }, rows, snapshot, pace);
  }
  const dense = { vector: query.vector, space: plan.space, k, exact };
  return (rows) => {
    onRowsScanned?.(rows.count());
    return denseKnn(dense, rows, snapshot, { index, pace, scanPool });
  };
}

function checkLeaf(context: QueryContext, { key, query, path }: Knn): void {
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
