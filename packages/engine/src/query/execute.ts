/**
 * The reads of a collection: each parses nothing, runs the stages on one snapshot of the index and returns plain
 * records, those that fit into a first batch at once and the others batch by batch. Every function throws `SheafError`:
 * 400 for a regular expression or a vector that does not fit, and the signal's reason (or `cancelled`) within some
 * milliseconds of an abort.
 */
import {
  type CancelSignal,
  type Explained,
  type Facet,
  type FacetsRequest,
  type GetRequest,
  type HighlightRequest,
  LIMITS,
  type QueryRequest,
  type SearchRequest,
  type Selector,
  invalid,
} from "@sheaf/protocol";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { RowSet } from "../index/row-set.ts";
import type { ResultBatch } from "../engine.ts";
import { withData } from "../storage/data-absent.ts";
import type { ReadTicket } from "../storage/version-history.ts";
import { explainedNothing } from "./explain/explain-search.ts";
import { Explanations } from "./explain/explanations.ts";
import { countFacets } from "./facet/facets.ts";
import { Highlighter } from "./highlight/highlighter.ts";
import { soughtClauses } from "./highlight/sought-clauses.ts";
import type { Reading } from "./group/member-order.ts";
import { denseKnn } from "./rank/knn.ts";
import { FirstBatches } from "./first-batches.ts";
import { inInsertionOrder, insertionOrder } from "./insertion-order.ts";
import { sortedPage } from "./metadata-sort.ts";
import { Pace } from "./pace.ts";
import type { QueryContext } from "./query-context.ts";
import { type RecordView, StaleSnapshot } from "./record-view.ts";
import { RequestPatterns } from "./regex/request-patterns.ts";
import {
  type BatchReader,
  type RecordBatch,
  ResultReader,
  type SelectedList,
  listOf,
} from "./result-reader.ts";
import { checkDimension, checkLeaves, runSearch } from "./search.ts";
import { planSelection, planWhere, selectedRows } from "./selection.ts";
import { type Fields, fieldsOfInclude, fieldsOfSelect, readsContent } from "./select.ts";
import { openSnapshot, overtaken, readSnapshot } from "./snapshot-read.ts";
import type { Filter } from "./filter/where-plan.ts";

export const firstBatches = new FirstBatches();

/** A read of which the first batch is made. */
export interface StartedRead {
  readonly first: RecordBatch & Pick<ResultBatch, "explained">;
  /** Hands out what is left; `null`: nothing is. */
  readonly rest: OpenRead | null;
}

/** What is left of a read, until it is closed. */
export interface OpenRead {
  /** About as many as it will hand out at least. */
  readonly leastBytes: number;
  readonly reader: BatchReader;
  /** Closed with the read. */
  readonly ticket: Pick<ReadTicket, "endedBy" | "close">;
  readonly requireStored: QueryContext["requireStored"];
  readonly tenant: string;
  /** `null`: no list asks for highlights. */
  readonly highlighter: Highlighter | null;
}

/** One list per search, all of one state. */
export function executeSearch(
  context: QueryContext,
  request: SearchRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, (pace) => startSearch(context, request, pace));
}

async function startSearch(context: QueryContext, request: SearchRequest, pace: Pace): Promise<StartedRead> {
  const { times } = context;
  const { signal } = pace;
  const patterns = new RequestPatterns(context.regexes, signal);
  const filters: (Filter | null)[] = [];
  for (const [i, search] of request.searches.entries()) {
    checkLeaves(context, search);
    filters.push(planWhere(search.where, `searches[${i}].where`, patterns));
    await pace.breathe();
  }
  if (!patterns.isEmpty) await patterns.check();
  const isExplained = request.searches.some(({ explain }) => explain !== undefined);
  if (context.dimension === null) {
    const started = nothing(request.searches);
    return isExplained ? withExplained(started, request.searches.map(explainedNothing)) : started;
  }
  let explained: readonly (Explained | null)[] = [];
  const select = async (view: RecordView, reader: ResultReader): Promise<void> => {
    const explanations = isExplained ? new Explanations(request, context, { view, pace, patterns }) : null;
    for (const [i, search] of request.searches.entries()) {
      const stages = await runSearch(context, search, filters[i] ?? null, { view, pace });
      const traces = await explanations?.traces(search, stages);
      const fields = withDocument(fieldsOfSelect(search.select), search.highlight);
      const list = listOf(stages.page, fields, traces);
      await times.measure("select", () => reader.add(list, pace));
      await explanations?.add(search, stages);
      await pace.breathe();
    }
    explained = explanations?.all ?? [];
  };
  const started = await startRead(context, pace, select, highlighterOf(context, request.searches));
  return isExplained ? withExplained(started, explained) : started;
}

export function withExplained(
  { first, rest }: StartedRead,
  explained: readonly (Explained | null)[],
): StartedRead {
  return { first: { ...first, explained }, rest };
}

/** One list per query vector, nearest first; the score is the distance. */
export function executeQuery(
  context: QueryContext,
  request: QueryRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, (pace) => startQuery(context, request, pace));
}

async function startQuery(context: QueryContext, request: QueryRequest, pace: Pace): Promise<StartedRead> {
  const { signal } = pace;
  const { times, index, scanPool } = context;
  const { embeddings } = request;
  embeddings.forEach((vector, i) => checkDimension(context, vector, `query_embeddings[${i}]`));
  const k = neighboursOf(request, index.size);
  const selection = await planSelection(context, request, signal);
  if (context.dimension === null || k === 0) return nothing(embeddings);
  return startRead(context, pace, async (view, reader) => {
    const rows = await times.measure("filter", () => selectedRows(context.index, selection, { view, pace }));
    const fields = fieldsOfInclude(request.include);
    for (const vector of embeddings) {
      if (readsContent(fields) && reader.hasRoom) view.readAhead(k);
      const query = { vector, space: context.plan.space, k, exact: false };
      times.scanned(view.snapshot.countOf(rows));
      const { positions, distances } = await times.measure("dense", () =>
        denseKnn(query, rows, view, { index, pace, scanPool }),
      );
      const list = listOf({ positions, scores: distances }, fields);
      await times.measure("select", () => reader.add(list, pace));
    }
  });
}

/** How many neighbours a query vector gets: no more than there are records. Throws 400 where that is too many still. */
export function neighboursOf(
  { limit, embeddings }: Pick<QueryRequest, "limit" | "embeddings">,
  records: number,
): number {
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

/** The matching records in insertion order. */
export function executeGet(
  context: QueryContext,
  request: GetRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, (pace) => startGet(context, request, pace));
}

async function startGet(context: QueryContext, request: GetRequest, pace: Pace): Promise<StartedRead> {
  const selection = await planSelection(context, request, pace.signal);
  const select = async (view: RecordView, reader: ResultReader): Promise<void> => {
    const rows = await context.times.measure("filter", () =>
      selectedRows(context.index, selection, { view, pace }),
    );
    const list = await context.times.measure("sort", () => listOfGet(rows, request, { view, pace }));
    await context.times.measure("select", () => reader.add(list, pace));
  };
  return startRead(context, pace, select, highlighterOf(context, [request]));
}

async function listOfGet(
  rows: RowSet,
  { include, offset, limit, orderBy, highlight }: GetRequest,
  reading: Reading,
): Promise<SelectedList> {
  const fields = withDocument(fieldsOfInclude(include), highlight);
  const end = offset + (limit ?? Infinity);
  if (orderBy !== undefined) {
    const known = await sortedPage(rows, orderBy, { offset, end }, reading);
    const { length: records, byteLength: heldBytes } = known;
    return { positions: known.values(), known, scores: null, fields, skip: 0, limit: records, heldBytes };
  }
  const positions = insertionOrder(rows, reading.view.snapshot);
  const heldBytes = rows.words.byteLength;
  return { positions, known: null, scores: null, fields, skip: offset, limit: limit ?? Infinity, heldBytes };
}

/** The next batch of a read that was started. Throws 429 or 503 where too much has changed to go on with it. */
export async function executeNext(
  { reader, ticket, requireStored, tenant, highlighter }: OpenRead,
  signal?: CancelSignal,
): Promise<RecordBatch> {
  try {
    const pace = new Pace(signal, tenant);
    if (pace.isDue) await pace.breathe();
    const batch = await withData(reader.source ?? {}, () => reader.nextBatch(pace), signal);
    return highlighter === null ? batch : await highlighter.mark(batch, pace);
  } catch (error) {
    if (!(error instanceof StaleSnapshot)) throw error;
    requireStored?.(error.id);
    throw overtaken(ticket.endedBy);
  }
}

export async function executeCount(
  context: QueryContext,
  selector: Selector,
  signal?: CancelSignal,
): Promise<number> {
  if (selector.ids === null && selector.where === null) return context.index.size;
  return readRows(context, selector, signal, (rows, snapshot) => snapshot.countOf(rows));
}

/** One facet for each key, of the matching records. */
export async function executeFacets(
  context: QueryContext,
  request: FacetsRequest,
  signal?: CancelSignal,
): Promise<readonly Facet[]> {
  const { kindsOf = () => undefined, times } = context;
  return readRows(context, request, signal, (rows, snapshot, pace) =>
    times.measure("facets", () => countFacets(request, rows, { snapshot, pace, kindsOf })),
  );
}

/** Offsets of the matching records in insertion order, `limit` of them or all (`null`). */
export async function selectOffsets(
  context: QueryContext,
  selector: Selector,
  limit: number | null,
  signal?: CancelSignal,
): Promise<number[]> {
  return readRows(context, selector, signal, async (rows, snapshot, pace) => {
    const positions = await inInsertionOrder(rows, snapshot, { count: limit ?? Infinity, pace });
    return positions.map((position) => snapshot.offset(position));
  });
}

/** A read of which rows match, without anything of the rows themselves. */
async function readRows<T>(
  context: QueryContext,
  selector: Selector,
  signal: CancelSignal | undefined,
  use: (rows: RowSet, snapshot: IndexSnapshot, pace: Pace) => T | Promise<T>,
): Promise<T> {
  const pace = new Pace(signal, context.tenant);
  if (pace.isDue) await pace.breathe();
  const selection = await planSelection(context, selector, signal);
  return readSnapshot(
    context,
    async (view) => {
      const rows = await context.times.measure("filter", () =>
        selectedRows(context.index, selection, { view, pace }),
      );
      return use(rows, view.snapshot, pace);
    },
    signal,
  );
}

/** Counts among the reads of its tenant until its first batch is made, also while it waits for its turn. */
export async function beginRead(
  context: Pick<QueryContext, "tenant">,
  signal: CancelSignal | undefined,
  start: (pace: Pace) => Promise<StartedRead>,
): Promise<StartedRead> {
  const pace = new Pace(signal, context.tenant);
  const leave = firstBatches.enter(context.tenant);
  try {
    if (pace.isDue) await pace.breathe();
    return await start(pace);
  } finally {
    leave();
  }
}

/** Runs `select`, which adds the lists of the read one after the other. */
async function startRead(
  context: QueryContext,
  pace: Pace,
  select: (view: RecordView, reader: ResultReader) => Promise<void>,
  highlighter: Highlighter | null = null,
): Promise<StartedRead> {
  const { result, ticket } = await openSnapshot(
    context,
    async (view) => {
      const reader = new ResultReader(view, () => firstBatches.room(context.tenant));
      await select(view, reader);
      return { reader, leastBytes: reader.isDone ? 0 : await reader.leastBytes(pace) };
    },
    ({ reader }) => !reader.isDone,
    pace.signal,
  );
  const batch = result.reader.firstBatch();
  try {
    const first = highlighter === null ? batch : await highlighter.mark(batch, pace);
    if (!result.reader.isDone && ticket !== null) {
      const { requireStored, tenant } = context;
      return { first, rest: { ...result, ticket, requireStored, tenant, highlighter } };
    }
    ticket?.close();
    return { first, rest: null };
  } catch (error) {
    ticket?.close();
    throw error;
  }
}

/** Documents are read to find highlights in them, whether they are shown or not. */
export function withDocument(fields: Fields, highlight: HighlightRequest | undefined): Fields {
  return highlight === undefined ? fields : { ...fields, document: true };
}

/** `null`: no list asks for highlights, or none has a filter that finds any. */
export function highlighterOf(
  { regexes }: Pick<QueryContext, "regexes">,
  lists: readonly Pick<GetRequest, "where" | "highlight">[],
): Highlighter | null {
  const clauses = lists.map(({ where, highlight }) => (highlight === undefined ? [] : soughtClauses(where)));
  return clauses.every(({ length }) => length === 0) ? null : new Highlighter(regexes, clauses);
}

export function nothing(lists: readonly unknown[]): StartedRead {
  return { first: { first: 0, lists: lists.map(() => []) }, rest: null };
}

/** The filter of a read that has one. */
