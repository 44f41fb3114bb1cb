/**
 * The reads of `execute.ts` of a collection in partitions: the same requests, answers and errors. Sparse scores, filters, and
 * dense searches that are certain are the same to the bit; others find what each partition finds.
 */
import {
  type CancelSignal,
  EMBEDDING_KEY,
  type Explained,
  type Facet,
  type FacetsRequest,
  type GetRequest,
  type QueryRequest,
  type Search,
  type SearchRequest,
  type Selector,
} from "@sheaf/protocol";
import {
  type StartedRead,
  beginRead,
  firstBatches,
  highlighterOf,
  neighboursOf,
  nothing,
  withDocument,
  withExplained,
} from "../execute.ts";
import { explainedNothing } from "../explain/explain-search.ts";
import { facetsOf } from "../facet/facets.ts";
import { Pace } from "../pace.ts";
import { pageEnd } from "../page.ts";
import type { QueryContext } from "../query-context.ts";
import { checkDimension, checkLeaves } from "../search.ts";
import { fieldsOfInclude, fieldsOfSelect } from "../select.ts";
import { PartitionedExplanations } from "./explain-partitioned.ts";
import { InsertionOrder } from "./insertion-order.ts";
import { type AskedIds, askedParts, chargeAsking } from "./asked-parts.ts";
import { openPartitions } from "./open-partitions.ts";
import type { ListQuestion, Partition, PartitionQuestion } from "./partition.ts";
import { PartitionedReader, type PartitionedList, knownRecords } from "./partitioned-reader.ts";
import { PartitionedRecords } from "./partitioned-records.ts";
import { searchPartitions, sortedPositions } from "./search-partitions.ts";
import { talliedPartitions } from "./tally-partitions.ts";

/** What a read of a collection in partitions needs. */
export interface PartitionedContext extends Pick<
  QueryContext,
  "plan" | "dimension" | "tenant" | "regexes" | "times"
> {
  readonly partitions: readonly Partition[];
  /** A state of the collection that a read has to see, or a later one; 0: those that the partitions begin with. */
  readonly state: number;
}

/** As `executeSearch`. */
export function searchOfPartitions(
  context: PartitionedContext,
  request: SearchRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, async (pace) => {
    const { searches } = request;
    for (const search of searches) checkLeaves(context, search);
    const question: PartitionQuestion = {
      filters: searches.map(({ where }, i) => ({ where, path: `searches[${i}].where` })),
      lists: searches.map((search, selection) => ({ selection, search: rankQuestion(search) })),
    };
    const isExplained = searches.some(({ explain }) => explain !== undefined);
    const records = await recordsFor(context, question, { ids: null }, pace);
    if (context.dimension === null) {
      records.close();
      const started = nothing(searches);
      return isExplained ? withExplained(started, searches.map(explainedNothing)) : started;
    }
    let explained: readonly (Explained | null)[] = [];
    const select = async (): Promise<PartitionedList[]> => {
      const explanations = isExplained ? new PartitionedExplanations(records, context.times) : null;
      const lists: PartitionedList[] = [];
      for (const [list, search] of searches.entries()) {
        const stages = await searchPartitions(search, list, { ...context, records, pace });
        const { positions, scores } = stages.page;
        const fields = withDocument(fieldsOfSelect(search.select), search.highlight);
        const traces = (await explanations?.traces(search, stages, pace)) ?? null;
        await explanations?.add(search, { list, stages }, pace);
        lists.push({
          ...{ list, fields, traces, ...knownRecords(positions) },
          scores: fields.score ? scores : null,
        });
        records.forget();
        await pace.breathe();
      }
      explained = explanations?.all ?? [];
      return lists;
    };
    const started = await startRead(context, pace, { records, select, highlighted: searches });
    return isExplained ? withExplained(started, explained) : started;
  });
}

function rankQuestion(search: Search): ListQuestion["search"] {
  const { rank, mmr, groupBy, explain } = search;
  return {
    ...{ rank, groupBy, end: pageEnd(search) },
    ...(mmr && { mmr }),
    ...(explain && { explain }),
  };
}

/** As `executeQuery`. */
export function queryOfPartitions(
  context: PartitionedContext,
  { ids, where, embeddings, limit, include }: QueryRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, async (pace) => {
    embeddings.forEach((vector, i) => checkDimension(context, vector, `query_embeddings[${i}]`));
    const searches = embeddings.map((vector, i) => nearestTo(vector, limit, `query_embeddings[${i}]`));
    const question: PartitionQuestion = {
      filters: [{ where, path: "where" }],
      lists: searches.map((search) => ({ selection: 0, search: { ...search, end: limit } })),
    };
    // How many records there are bounds the limit.
    const records = await recordsFor(context, question, { ids }, pace);
    const select = async (): Promise<PartitionedList[]> => {
      const k = neighboursOf({ limit, embeddings }, records.size);
      const fields = fieldsOfInclude(include);
      const lists: PartitionedList[] = [];
      if (context.dimension === null || k === 0) return lists;
      for (const [list, search] of searches.entries()) {
        const stages = await searchPartitions(search, list, { ...context, records, pace });
        const { positions, scores } = stages.chosen!;
        lists.push({
          list,
          fields,
          traces: null,
          ...knownRecords(positions),
          scores: fields.score ? scores : null,
        });
        records.forget();
      }
      return lists;
    };
    const started = await startRead(context, pace, { records, select, highlighted: [] });
    return started.first.lists.length === 0 && started.rest === null ? nothing(embeddings) : started;
  });
}

/** As `executeGet`. */
export function getOfPartitions(
  context: PartitionedContext,
  request: GetRequest,
  signal?: CancelSignal,
): Promise<StartedRead> {
  return beginRead(context, signal, async (pace) => {
    const { offset, limit, orderBy, include, highlight } = request;
    const records = await recordsSelected(context, request, pace);
    const select = async (): Promise<PartitionedList[]> => {
      const list = {
        ...{ list: 0, scores: null, traces: null },
        fields: withDocument(fieldsOfInclude(include), highlight),
      };
      const end = offset + (limit ?? Infinity);
      if (orderBy !== undefined) {
        const rows = await countOf(records);
        const page = { list: 0, rows, offset, end };
        const positions = await context.times.measure("sort", () =>
          sortedPositions(orderBy, page, { records, pace }),
        );
        records.forget();
        return [{ ...list, ...knownRecords(positions) }];
      }
      const order = new InsertionOrder(0, records);
      await order.skip(offset, pace);
      let left = end - offset;
      const next = async (count: number): Promise<Int32Array> => {
        const positions = await order.next(Math.min(count, left), pace);
        left -= positions.length;
        return positions;
      };
      return [{ ...list, next, heldBytes: 0 }];
    };
    return startRead(context, pace, { records, select, highlighted: [request] });
  });
}

/** As `executeCount`. */
export function countOfPartitions(
  context: PartitionedContext,
  selector: Selector,
  signal?: CancelSignal,
): Promise<number> {
  return reading(context, selector, signal, countOf);
}

/** As `executeFacets`. */
export function facetsOfPartitions(
  context: PartitionedContext,
  request: FacetsRequest,
  signal?: CancelSignal,
): Promise<readonly Facet[]> {
  return reading(context, request, signal, async (records, pace) => {
    const count = await countOf(records);
    const rows = talliedPartitions(0, count, records);
    return context.times.measure("facets", () => facetsOf(request, rows, { pace }));
  });
}

export interface SelectedRecords {
  /** Of the collection, when they were selected. */
  readonly state: number;
  readonly offsets: readonly number[];
}

/** As `selectOffsets`. */
export function offsetsOfPartitions(
  context: PartitionedContext,
  selector: Selector,
  limit: number | null,
  signal?: CancelSignal,
): Promise<SelectedRecords> {
  return reading(context, selector, signal, async (records, pace) => {
    const order = new InsertionOrder(0, records);
    return { state: records.state, offsets: await order.offsets(limit ?? Infinity, pace) };
  });
}

function nearestTo(vector: Float32Array, limit: number, path: string): Search {
  const query = { type: "dense", vector } as const;
  const options = { limit, default: null, returnRank: false, exact: false, path };
  return {
    ...{ where: null, groupBy: null, offset: 0, limit },
    rank: { type: "knn", query, key: EMBEDDING_KEY, ...options },
    select: { document: false, embedding: false, metadata: false, score: false, fields: [], keys: [] },
  };
}

function recordsSelected(
  context: PartitionedContext,
  { ids, where }: Selector,
  pace: Pace,
): Promise<PartitionedRecords> {
  const question: PartitionQuestion = {
    filters: [{ where, path: "where" }],
    lists: [{ selection: 0, search: null }],
  };
  return recordsFor(context, question, { ids, isUnsized: true }, pace);
}

async function countOf({ reads }: PartitionedRecords): Promise<number> {
  const surveys = await Promise.all(reads.map((read) => read.survey(0)));
  return surveys.reduce((sum, { count }) => sum + count, 0);
}

async function recordsFor(
  context: PartitionedContext,
  question: PartitionQuestion,
  asked: AskedIds,
  pace: Pace,
): Promise<PartitionedRecords> {
  const { state, tenant } = context;
  const parts = await askedParts(context, asked, pace);
  const { together, lease } = chargeAsking(parts, question, tenant);
  try {
    const opened = await openPartitions(parts, question, { least: state, signal: pace.signal, together });
    return new PartitionedRecords(opened, tenant);
  } finally {
    lease.release();
  }
}

/** A read that is over with its answer. */
async function reading<T>(
  context: PartitionedContext,
  selector: Selector,
  signal: CancelSignal | undefined,
  use: (records: PartitionedRecords, pace: Pace) => Promise<T>,
): Promise<T> {
  const pace = new Pace(signal, context.tenant);
  if (pace.isDue) await pace.breathe();
  const records = await recordsSelected(context, selector, pace);
  try {
    return await use(records, pace);
  } finally {
    records.close();
  }
}

interface Started {
  /** Closed with the read. */
  readonly records: PartitionedRecords;
  readonly select: () => Promise<PartitionedList[]>;
  readonly highlighted: Parameters<typeof highlighterOf>[1];
}

async function startRead(
  context: PartitionedContext,
  pace: Pace,
  { records, select, highlighted }: Started,
): Promise<StartedRead> {
  const { tenant, times } = context;
  let isOpen = false;
  try {
    const highlighter = highlighterOf(context, highlighted);
    const reader = new PartitionedReader(records, await select(), () => firstBatches.room(tenant));
    const batch = await times.measure("select", () => reader.nextBatch(pace));
    const first = highlighter === null ? batch : await highlighter.mark(batch, pace);
    isOpen = !reader.isDone;
    const ticket = { endedBy: null, close: () => records.close() };
    const rest = { reader, ticket, leastBytes: 0, requireStored: undefined, tenant, highlighter };
    return { first, rest: isOpen ? rest : null };
  } finally {
    if (!isOpen) records.close();
  }
}
