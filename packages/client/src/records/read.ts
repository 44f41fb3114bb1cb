/** Parameters of reads and deletes by id, filter and vector, and of searches, and the bodies made of them. */
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { GroupBy, type GroupByInput } from "../search/group-by.ts";
import type { KeyInput, KeyName } from "../search/key.ts";
import { RankExpression, type RankInput } from "../search/rank.ts";
import { type AnySearch, type Mmr, Search } from "../search/search.ts";
import { CALL, type CallOptions } from "../transport.ts";
import { type ExplainParams, explainJson } from "./explained.ts";
import type { HighlightInput, Highlighted } from "./highlight.ts";
import type { Metadata } from "./metadata.ts";
import {
  type DefaultSearchKey,
  GET_KEYS,
  QUERY_KEYS,
  type Row,
  SEARCH_KEYS,
  type SearchKey,
  includeOf,
  namesOf,
} from "./row.ts";
import type { Where } from "./where-json.ts";

/** Which records: all that satisfy every member that is given. */
export interface Selector<M = Metadata> {
  readonly ids?: readonly string[] | undefined;
  /** A filter, as JSON (`{ year: { $gte: 1990 } }`) or made with `K`. */
  readonly where?: Where<M> | null | undefined;
  /** `{ $contains: "tide" }`. `K.DOCUMENT` in `where` does the same. */
  readonly whereDocument?: Readonly<Record<string, unknown>> | undefined;
}

/** Fields of the metadata, the first one first: `[{ price: "desc" }, { year: "asc" }]`. */
export type OrderBy<M = Metadata> = readonly {
  readonly [K in keyof M & string]: { readonly [P in K]: "asc" | "desc" };
}[keyof M & string][];

export interface DeleteParams<M = Metadata> extends Selector<M>, CallOptions {
  /** Only beside a filter. */
  readonly limit?: number | undefined;
}

export interface GetParams<S, M = Metadata> extends Selector<M>, CallOptions {
  /** In the order in which the records were made, if omitted. */
  readonly orderBy?: OrderBy<M> | undefined;
  /** All, if omitted. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Say where each document matches, and show part of it. */
  readonly highlight?: HighlightInput | undefined;
  /** Document and metadata if omitted. */
  readonly select?: S | undefined;
}

export interface QueryParams<S, M = Metadata> extends Selector<M>, CallOptions {
  readonly embeddings: readonly (readonly number[] | Float32Array)[];
  /** Neighbours of each embedding, 10 if omitted. */
  readonly limit?: number | undefined;
  /** Document, metadata and distance if omitted. */
  readonly select?: S | undefined;
}

export interface RecordsParams<S, M = Metadata> extends Selector<M>, CallOptions {
  /** In the order in which the records were made, if omitted. */
  readonly orderBy?: OrderBy<M> | undefined;
  /** Records in one request, 500 if omitted. */
  readonly pageSize?: number | undefined;
  readonly select?: S | undefined;
}

/** One search of several. */
export interface SearchInput<S = readonly KeyInput[], M = Metadata> {
  readonly where?: Where<M> | null | undefined;
  readonly rank?: RankInput | undefined;
  readonly mmr?: Mmr | undefined;
  readonly groupBy?: GroupByInput | undefined;
  /** Only without a `rank`. */
  readonly orderBy?: OrderBy<M> | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Say where each document matches, and show part of it. */
  readonly highlight?: HighlightInput | undefined;
  /** Built-in keys and fields of the metadata. Document, metadata and score if omitted. */
  readonly select?: S | undefined;
}

export interface SearchParams<S = readonly KeyInput[], M = Metadata> extends SearchInput<S, M>, CallOptions {}

/** What the answer to one search of `searchAll` is. */
export type SearchRow<M, P> =
  P extends Search<infer N, infer H>
    ? Row<M, N> & Highlighted<H>
    : SelectedRow<M, P> & (P extends { readonly highlight: infer H } ? Highlighted<H> : unknown);

type SelectedRow<M, P> = P extends { readonly select: infer S extends readonly KeyInput[] }
  ? Row<M, KeyName<S[number]>>
  : Row<M, DefaultSearchKey>;

/** Several searches, each in either form. */
export type Searches<M> = readonly (SearchInput<readonly KeyInput<SearchKey<M>>[], M> | AnySearch)[];

export interface SearchAllParams<P = readonly (SearchInput | AnySearch)[]> extends CallOptions {
  readonly searches: P;
}

export const SELECTOR: MembersOf<Selector> = { ids: true, where: true, whereDocument: true };
export const DELETE: MembersOf<DeleteParams> = { ...SELECTOR, limit: true, ...CALL };
export const GET: MembersOf<GetParams<unknown>> = {
  ...SELECTOR,
  orderBy: true,
  limit: true,
  offset: true,
  highlight: true,
  select: true,
  ...CALL,
};
export const RECORDS: MembersOf<RecordsParams<unknown>> = {
  ...SELECTOR,
  orderBy: true,
  pageSize: true,
  select: true,
  ...CALL,
};
export const SEARCH_ALL: MembersOf<SearchAllParams> = { searches: true, ...CALL };
const QUERY: MembersOf<QueryParams<unknown>> = {
  ...SELECTOR,
  embeddings: true,
  limit: true,
  select: true,
  ...CALL,
};
const SEARCH: MembersOf<SearchInput> = {
  where: true,
  rank: true,
  mmr: true,
  groupBy: true,
  orderBy: true,
  limit: true,
  offset: true,
  highlight: true,
  select: true,
};
const MMR: MembersOf<Mmr> = { lambda: true, limit: true };
/** Records that queries find for each that `mmr` keeps, and the most that it looks at. */
const CHOICE = 5;
const MMR_POOL = 1_000;
const SEARCH_ALONE: MembersOf<SearchParams> = { ...SEARCH, ...CALL };
const EXPLAIN: MembersOf<ExplainParams> = { ...SEARCH_ALONE, ids: true };

type Keys = Iterable<KeyInput>;

/** Parameters whose filters have been checked by the compiler. */
type Loose<P> = Omit<P, "where" | "select" | "orderBy"> & {
  readonly where?: object | null | undefined;
  readonly select?: Keys | undefined;
};
type Ordered<P> = Loose<P> & { readonly orderBy?: readonly object[] | undefined };
type AnyInput = Ordered<SearchInput> | AnySearch;

/** A body, and the keys that its answer becomes rows of. */
export interface Reading {
  readonly json: object;
  readonly names: readonly string[];
}

export function selectorJson({ ids, where, whereDocument }: Loose<Selector>): object {
  return { ids, where, where_document: whereDocument };
}

export function getReading(params: Ordered<GetParams<Keys>>): Reading {
  const { orderBy, limit, offset, highlight, select = GET_KEYS } = params;
  const names = namesOf(select);
  const include = includeOf(names, ["#id", "#uri", "#embedding", ...GET_KEYS]);
  const json = { ...selectorJson(params), order_by: orderBy, limit, offset, highlight, include };
  return { json, names };
}

export function queryReading(params: Loose<QueryParams<Keys>>): Reading {
  const { embeddings, limit, select = QUERY_KEYS } = requireKnown(params, QUERY, "params");
  const vectors = requireArray(embeddings, "params.embeddings").map((vector) => Array.from(vector));
  const names = namesOf(select);
  const include = includeOf(names, ["#id", "#uri", "#embedding", ...QUERY_KEYS]);
  return { json: { ...selectorJson(params), query_embeddings: vectors, n_results: limit, include }, names };
}

/** A search alone, which may hold what belongs to the call. */
export function searchReading(params: Ordered<SearchParams> | AnySearch): Reading {
  if (params instanceof Search) return partsReading(partsOf(params));
  const { signal: _, timeoutMs: __, ...search } = requireKnown(params, SEARCH_ALONE, "params");
  return partsReading(search);
}

/** The same, to be explained. */
export function explainReading(params: Ordered<ExplainParams> | AnySearch): Reading {
  if (params instanceof Search) {
    const { json, names } = searchReading(params);
    return { json: { ...json, explain: params.explainConfig ?? true }, names };
  }
  const { ids, ...search } = requireKnown(params, EXPLAIN, "params");
  const { json, names } = searchReading(search);
  return { json: { ...json, explain: explainJson(ids) }, names };
}

export function searchReadings(searches: readonly AnyInput[]): readonly Reading[] {
  return requireArray(searches, "params.searches").map((search, i) =>
    partsReading(
      search instanceof Search ? partsOf(search) : requireKnown(search, SEARCH, `params.searches[${i}]`),
    ),
  );
}

function partsOf(search: AnySearch): Ordered<SearchInput> {
  const { limit, offset } = search.limitConfig;
  return {
    where: search.whereClause,
    rank: search.rankExpression,
    groupBy: search.groupByConfig,
    limit,
    offset,
    select: search.selectConfig.values,
    orderBy: search.orderByConfig,
    mmr: search.mmrConfig,
    highlight: search.highlightConfig,
  };
}

function partsReading({
  where,
  rank,
  mmr,
  groupBy,
  orderBy,
  limit,
  offset = 0,
  highlight,
  select = SEARCH_KEYS,
}: Ordered<SearchInput>): Reading {
  const names = namesOf(select);
  // What is chosen from has to be more than what is chosen.
  const found = Math.max(offset + (limit ?? 0), Math.min((mmr?.limit ?? 0) * CHOICE, MMR_POOL));
  const json = {
    where,
    rank: rank === undefined ? undefined : RankExpression.jsonFor(rank, found),
    mmr: mmr && requireKnown(mmr, MMR, "mmr"),
    group_by: GroupBy.from(groupBy),
    order_by: orderBy,
    limit: { offset, limit },
    highlight,
    select: { keys: names },
  };
  return { json, names };
}
