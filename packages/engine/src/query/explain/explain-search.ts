/** Explains one search of a call once its page is known: traces of its records, how they were found, what is not there. */
import { type Explained, type LeafPlan, type Search, type SearchPlan, leafPaths } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import { nodeCount } from "./trace-size.ts";
import { type FoundLeaf, leavesOnPage } from "./page-leaves.ts";
import { PageTraces, type TraceBudget } from "./traces.ts";
import type { SearchStages } from "../search.ts";
import { type NamedRecord, type WhyNotReading, searchedRows, whyNot } from "./why-not.ts";

/** `null`: the search has no rank. */
export async function tracePage(
  { rank, explain }: Search,
  { leaves, page }: SearchStages,
  { view, pace }: WhyNotReading,
  budget: TraceBudget,
): Promise<PageTraces | null> {
  if (rank === null || explain === undefined) return null;
  budget.spend(nodeCount(rank) * page.positions.length, explain.path);
  const onPage = await leavesOnPage(leaves, page.positions, pace);
  return new PageTraces({ rank, leaves: onPage, path: explain.path }, view, budget);
}

/** To be called before the read waits: positions are those of the newest snapshot. */
export function namedRecords(
  { explain }: Pick<Search, "explain">,
  index: CollectionIndex,
  { live }: IndexSnapshot,
): readonly NamedRecord[] | null {
  if (explain === undefined || explain.ids === null) return null;
  return explain.ids.map((id) => {
    const position = index.position(id);
    return { id, position: position !== null && live.has(position) ? position : null };
  });
}

export async function explained(
  search: Search,
  stages: SearchStages,
  named: readonly NamedRecord[] | null,
  { milliseconds, ...reading }: WhyNotReading & Pick<SearchPlan, "milliseconds">,
): Promise<Explained> {
  const { snapshot } = reading.view;
  const { rows, ranking, chosen, kept } = stages;
  const plan: SearchPlan = {
    records: snapshot.size,
    rows: snapshot.countOf(rows),
    ranked: ranking === null ? null : ranking.positions.length,
    diversified: search.mmr === undefined || chosen === null ? null : chosen.positions.length,
    grouped: kept === null ? null : kept.positions.length,
    leaves: leafPlans(search, stages.leaves),
    milliseconds,
  };
  return {
    plan,
    whyNot: named === null ? null : await whyNot(named, search, stages, searchedRows(search, rows, reading)),
  };
}

/** Of a search of a collection without records. */
export function explainedNothing(search: Search): Explained | null {
  const { rank, mmr, groupBy, explain } = search;
  if (explain === undefined) return null;
  const plan: SearchPlan = {
    ...{ records: 0, rows: 0, leaves: [], milliseconds: {} },
    ranked: rank === null ? null : 0,
    diversified: mmr === undefined ? null : 0,
    grouped: groupBy === null ? null : 0,
  };
  return { plan, whyNot: explain.ids?.map((id) => ({ id, reason: "absent" as const })) ?? null };
}

export function leafPlans({ rank }: Pick<Search, "rank">, found: readonly FoundLeaf[]): readonly LeafPlan[] {
  if (rank === null) return [];
  const knns = found.values();
  return Array.from(leafPaths(rank, "rank"), ({ leaf, path }) => {
    if (leaf.type === "knn") return knnPlan(knns.next().value!, path);
    const { type, key } = leaf;
    return { type, path, key, ...(leaf.type === "age" && { now: leaf.now }) };
  });
}

function knnPlan({ knn, nearest, dense, sparse }: FoundLeaf, path: string): LeafPlan {
  const { key, limit, query } = knn;
  const leaf = { path, key, limit, found: nearest.positions.length };
  if (dense !== null) return { type: "dense", ...leaf, ...dense };
  const totals = sparse?.weighed.totals ?? null;
  return {
    ...{ type: "sparse", ...leaf, exact: true },
    terms: query.type === "sparse" ? query.vector.indices.length : 0,
    ...(totals !== null && {
      documents: totals.documents,
      averageLength: totals.documents === 0 ? 0 : totals.length / totals.documents,
    }),
    postingBlocks: sparse?.blocks ?? 0,
    unpackedTails: sparse?.tails ?? 0,
  };
}
