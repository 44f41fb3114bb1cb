/** Parameters of reads and deletes by id, filter and vector, and of searches, and the bodies made of them. */
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { GroupBy, type GroupByInput } from "../search/group-by.ts";
import type { KeyInput } from "../search/key.ts";
import { RankExpression, type RankInput } from "../search/rank.ts";
import { Search } from "../search/search.ts";
import type { WhereInput } from "../search/where.ts";
import { CALL, type CallOptions } from "../transport.ts";
import { GET_KEYS, QUERY_KEYS, SEARCH_KEYS, includeOf, namesOf } from "./row.ts";

/** Which records: all that satisfy every member that is given. */
export interface Selector {
  readonly ids?: readonly string[] | undefined;
  /** A filter, as JSON (`{ year: { $gte: 1990 } }`) or made with `K`. */
  readonly where?: WhereInput;
  /** `{ $contains: "tide" }`. `K.DOCUMENT` in `where` does the same. */
  readonly whereDocument?: Readonly<Record<string, unknown>> | undefined;
}

export interface DeleteParams extends Selector, CallOptions {
  /** Only beside a filter. */
  readonly limit?: number | undefined;
}

export interface GetParams<S> extends Selector, CallOptions {
  /** All, if omitted. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Document and metadata if omitted. */
  readonly select?: S | undefined;
}

export interface QueryParams<S> extends Selector, CallOptions {
  readonly embeddings: readonly (readonly number[] | Float32Array)[];
  /** Neighbours of each embedding, 10 if omitted. */
  readonly limit?: number | undefined;
  /** Document, metadata and distance if omitted. */
  readonly select?: S | undefined;
}

export interface RecordsParams<S> extends Selector, CallOptions {
  /** Records in one request, 500 if omitted. */
  readonly pageSize?: number | undefined;
  readonly select?: S | undefined;
}

/** One search of several. */
export interface SearchInput<S = readonly KeyInput[]> {
  readonly where?: WhereInput;
  readonly rank?: RankInput | undefined;
  readonly groupBy?: GroupByInput | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Built-in keys and fields of the metadata. Document, metadata and score if omitted. */
  readonly select?: S | undefined;
}

export interface SearchParams<S = readonly KeyInput[]> extends SearchInput<S>, CallOptions {}

export interface SearchAllParams<P = readonly (SearchInput | Search<string>)[]> extends CallOptions {
  readonly searches: P;
}

const SELECTOR: MembersOf<Selector> = { ids: true, where: true, whereDocument: true };
export const DELETE: MembersOf<DeleteParams> = { ...SELECTOR, limit: true, ...CALL };
export const GET: MembersOf<GetParams<unknown>> = {
  ...SELECTOR,
  limit: true,
  offset: true,
  select: true,
  ...CALL,
};
export const RECORDS: MembersOf<RecordsParams<unknown>> = {
  ...SELECTOR,
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
  groupBy: true,
  limit: true,
  offset: true,
  select: true,
};
const SEARCH_ALONE: MembersOf<SearchParams> = { ...SEARCH, ...CALL };

type Keys = Iterable<KeyInput>;

/** A body, and the keys that its answer becomes rows of. */
export interface Reading {
  readonly json: object;
  readonly names: readonly string[];
}

export function selectorJson({ ids, where, whereDocument }: Selector): object {
  return { ids, where, where_document: whereDocument };
}

export function getReading(params: GetParams<Keys>): Reading {
  const { limit, offset, select = GET_KEYS } = params;
  const names = namesOf(select);
  const include = includeOf(names, ["#id", "#uri", "#embedding", ...GET_KEYS]);
  return { json: { ...selectorJson(params), limit, offset, include }, names };
}

export function queryReading(params: QueryParams<Keys>): Reading {
  const { embeddings, limit, select = QUERY_KEYS } = requireKnown(params, QUERY, "params");
  const vectors = requireArray(embeddings, "params.embeddings").map((vector) => Array.from(vector));
  const names = namesOf(select);
  const include = includeOf(names, ["#id", "#uri", "#embedding", ...QUERY_KEYS]);
  return { json: { ...selectorJson(params), query_embeddings: vectors, n_results: limit, include }, names };
}

/** A search alone, which may hold what belongs to the call. */
export function searchReading(params: SearchParams<Keys> | Search<string>): Reading {
  if (params instanceof Search) return partsReading(partsOf(params));
  const { signal: _, timeoutMs: __, ...search } = requireKnown(params, SEARCH_ALONE, "params");
  return partsReading(search);
}

export function searchReadings(
  searches: readonly (SearchInput<Keys> | Search<string>)[],
): readonly Reading[] {
  return requireArray(searches, "params.searches").map((search, i) =>
    partsReading(
      search instanceof Search ? partsOf(search) : requireKnown(search, SEARCH, `params.searches[${i}]`),
    ),
  );
}

function partsOf(search: Search<string>): SearchInput<Keys> {
  const { limit, offset } = search.limitConfig;
  return {
    where: search.whereClause,
    rank: search.rankExpression,
    groupBy: search.groupByConfig,
    limit,
    offset,
    select: search.selectConfig.values,
  };
}

function partsReading({
  where,
  rank,
  groupBy,
  limit,
  offset = 0,
  select = SEARCH_KEYS,
}: SearchInput<Keys>): Reading {
  const names = namesOf(select);
  const json = {
    where,
    rank: rank === undefined ? undefined : RankExpression.jsonFor(rank, offset + (limit ?? 0)),
    group_by: GroupBy.from(groupBy),
    limit: { offset, limit },
    select: { keys: names },
  };
  return { json, names };
}
