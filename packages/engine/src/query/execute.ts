/**
 * The reads of a collection: each parses nothing, runs the stages on one snapshot of the index and returns plain
 * records. Every function throws `SheafError`: 400 for a regular expression or a vector that does not fit, and the
 * signal's reason (or `cancelled`) within some milliseconds of an abort.
 */
import {
  type CancelSignal,
  type GetRequest,
  LIMITS,
  type QueryRequest,
  type ResultRecord,
  type SearchRequest,
  type Selector,
  type Where,
  invalid,
} from "@sheaf/protocol";
import type { GetPage } from "../engine.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { RowSet } from "../index/row-set.ts";
import { candidateRows, filterRows } from "./filter.ts";
import { getStretch } from "./get-stretch.ts";
import { denseKnn } from "./knn.ts";
import { inInsertionOrder } from "./order.ts";
import { Pace } from "./pace.ts";
import { PatternCache } from "./pattern-cache.ts";
import type { QueryContext } from "./query-context.ts";
import { checkDimension, checkLeaves, runSearch } from "./search.ts";
import { fieldsOfInclude, readsContent, selectRecords } from "./select.ts";
import { readSnapshot } from "./snapshot-read.ts";
import { type Filter, planFilter } from "./where-plan.ts";

/** One list per search, each from a snapshot of its own. */
export async function executeSearch(
  context: QueryContext,
  request: SearchRequest,
  signal?: CancelSignal,
): Promise<ResultRecord[][]> {
  const pace = new Pace(signal);
  return withPatterns(async (patterns) => {
    const filters: (Filter | null)[] = [];
    for (const [i, search] of request.searches.entries()) {
      checkLeaves(context, search);
      filters.push(compile(search.where, `searches[${i}].where`, patterns));
      await pace.breathe();
    }
    if (context.dimension === null) return request.searches.map(() => []);
    const results: ResultRecord[][] = [];
    for (const [i, search] of request.searches.entries()) {
      const filter = filters[i] ?? null;
      results.push(await readSnapshot(context, (view) => runSearch(context, search, filter, { view, pace })));
    }
    return results;
  });
}

/** One list per query vector, nearest first; the score is the distance. */
export async function executeQuery(
  context: QueryContext,
  request: QueryRequest,
  signal?: CancelSignal,
): Promise<ResultRecord[][]> {
  const pace = new Pace(signal);
  const { times, index, scanPool } = context;
  const { embeddings } = request;
  embeddings.forEach((vector, i) => checkDimension(context, vector, `query_embeddings[${i}]`));
  const k = neighboursOf(request, index.size);
  return withPatterns(async (patterns) => {
    const filter = compile(request.where, "where", patterns);
    if (context.dimension === null || k === 0) return embeddings.map(() => []);
    return readSnapshot(context, async (view) => {
      const candidates = candidateRows(index, request.ids, request.where);
      const rows = await times.measure("filter", () => filterRows(filter, candidates, view, pace));
      const fields = fieldsOfInclude(request.include);
      const results: ResultRecord[][] = [];
      for (const vector of embeddings) {
        if (readsContent(fields)) view.readAhead(k);
        const query = { vector, space: context.plan.space, k, exact: false };
        times.scanned(view.snapshot.countOf(rows));
        const { positions, distances } = await times.measure("dense", () =>
          denseKnn(query, rows, view, { index, pace, scanPool }),
        );
        const page = { positions, scores: distances };
        results.push(await times.measure("select", () => selectRecords(page, fields, view, pace)));
      }
      return results;
    });
  });
}

/** How many neighbours a query vector gets: no more than there are records. Throws 400 where that is too many still. */
function neighboursOf({ limit, embeddings }: QueryRequest, records: number): number {
  const k = Math.min(limit, records);
  if (k > LIMITS.resultsPerQuery) throw invalid("n_results", `must be at most ${LIMITS.resultsPerQuery}`);
  if (k * embeddings.length > LIMITS.resultsPerCall) {
    throw invalid(
      "n_results",
      `${k} for each of ${embeddings.length} query embeddings are over ${LIMITS.resultsPerCall} in one call`,
    );
  }
  return k;
}

/** One stretch of the matching records in insertion order; `cursor` is the `next` of the stretch before. */
export async function executeGet(
  context: QueryContext,
  request: GetRequest,
  cursor: number | null,
  signal?: CancelSignal,
): Promise<GetPage> {
  const pace = new Pace(signal);
  return withPatterns(async (patterns) => {
    const filter = compile(request.where, "where", patterns);
    return readSnapshot(context, async (view) => {
      const candidates = candidateRows(context.index, request.ids, request.where);
      const rows = await context.times.measure("filter", () => filterRows(filter, candidates, view, pace));
      return context.times.measure("select", () => getStretch(rows, request, cursor, { view, pace }));
    });
  });
}

export async function executeCount(
  context: QueryContext,
  selector: Selector,
  signal?: CancelSignal,
): Promise<number> {
  if (selector.ids === null && selector.where === null) return context.index.size;
  return readRows(context, selector, signal, (rows, snapshot) => snapshot.countOf(rows));
}

/** Offsets of the matching records in insertion order, `limit` of them or all (`null`). */
export async function selectOffsets(
  context: QueryContext,
  selector: Selector,
  limit: number | null,
  signal?: CancelSignal,
): Promise<number[]> {
  return readRows(context, selector, signal, (rows, snapshot) => {
    const positions = inInsertionOrder(rows, snapshot, { from: 0, count: limit ?? Infinity });
    return positions.map((position) => snapshot.offset(position));
  });
}

/** A read of which rows match, without anything of the rows themselves. */
function readRows<T>(
  context: QueryContext,
  selector: Selector,
  signal: CancelSignal | undefined,
  use: (rows: RowSet, snapshot: IndexSnapshot) => T,
): Promise<T> {
  const pace = new Pace(signal);
  return withPatterns((patterns) => {
    const filter = compile(selector.where, "where", patterns);
    return readSnapshot(context, async (view) => {
      const candidates = candidateRows(context.index, selector.ids, selector.where);
      const rows = await context.times.measure("filter", () => filterRows(filter, candidates, view, pace));
      return use(rows, view.snapshot);
    });
  });
}

function compile(where: Where | null, path: string, patterns: PatternCache): Filter | null {
  return where === null ? null : planFilter(where, path, patterns);
}

async function withPatterns<T>(use: (patterns: PatternCache) => Promise<T>): Promise<T> {
  const patterns = new PatternCache();
  try {
    return await use(patterns);
  } finally {
    patterns.free();
  }
}
