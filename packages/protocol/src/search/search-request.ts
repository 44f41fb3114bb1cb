/**
 * The body of a search: `{"searches": [dictionary, ...], "read_level"?}`. Inside a dictionary an unknown key is
 * refused, because a misspelt `where` that is ignored returns records it should have kept back.
 */
import { invalid, unprocessable } from "../errors.ts";
import {
  countOf,
  isMembers,
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  membersOf,
  optional,
  refuseUnknown,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { ReadLevel, Search, SearchRequest, Where } from "./ast.ts";
import { type ExplainedIds, parseExplain } from "./explain.ts";
import { parseGroupBy } from "./group-by.ts";
import { parseHighlight } from "./highlight.ts";
import { parseMmr } from "./mmr.ts";
import { parseOrderBy } from "./order-by.ts";
import { parseRank } from "./rank.ts";
import { parseSelect } from "./select.ts";
import { parseWhere } from "./where.ts";

const DICTIONARY = [
  "where",
  "filter",
  "rank",
  "mmr",
  "group_by",
  "order_by",
  "limit",
  "select",
  "highlight",
  "explain",
];
const READ_LEVELS: readonly ReadLevel[] = ["index_and_wal", "index_only", "index_and_bounded_wal"];

/**
 * The body of `POST .../search`.
 *
 * @param arrivedAt Unix time in seconds: what `$age` takes for now.
 * @throws SheafError 422 for wrong JSON types, missing members and an invalid filter; 400 for bounds, unknown keys,
 * and what the parts name.
 */
export function parseSearchRequest(body: unknown, arrivedAt = 0): SearchRequest {
  const members = membersOf(body, "");
  const reading: Reading = { arrivedAt, named: { count: 0 } };
  return Object.freeze({
    searches: Object.freeze(
      searchesOf(members).map((search, index) => parseSearch(search, itemPath("searches", index), reading)),
    ),
    readLevel: parseReadLevel(members["read_level"]),
  });
}

/** The dictionaries of a body. */
export function searchesOf(members: Members): readonly unknown[] {
  const listed = optional(members, "searches");
  if (listed === undefined)
    throw unprocessable("searches", 'is required: each search goes into it, {"searches": [{"rank": ...}]}');
  const searches = itemsOf(listed, "searches");
  if (searches.length > LIMITS.searchesPerCall) {
    throw invalid("searches", `must hold at most ${LIMITS.searchesPerCall} searches`);
  }
  return searches;
}

interface Reading {
  readonly arrivedAt: number;
  /** Of all searches together. */
  readonly named: ExplainedIds;
}

/** One dictionary. Errors as `parseSearchRequest`. */
export function parseSearch(value: unknown, path: string, { arrivedAt, named }: Reading): Search {
  const members = membersOf(value, path);
  refuseUnknown(members, DICTIONARY, path);
  const rank = optional(members, "rank");
  const groupBy = optional(members, "group_by");
  const group = groupBy === undefined ? null : parseGroupBy(groupBy, memberPath(path, "group_by"));
  if (group !== null && rank === undefined) {
    throw invalid(memberPath(path, "group_by"), "group_by requires rank expression to be specified");
  }
  const mmr = optional(members, "mmr");
  if (mmr !== undefined && rank === undefined) {
    throw invalid(memberPath(path, "mmr"), "needs a rank, whose best records it chooses from");
  }
  const order = optional(members, "order_by");
  const orderBy = order === undefined ? null : parseOrderBy(order, memberPath(path, "order_by"));
  if (orderBy !== null && rank !== undefined) {
    throw invalid(memberPath(path, "order_by"), "a search with a rank is ordered by its scores");
  }
  const highlight = parseHighlight(optional(members, "highlight"), memberPath(path, "highlight"));
  const explain = parseExplain(optional(members, "explain"), memberPath(path, "explain"), named);
  return Object.freeze({
    where: parseFilter(members, path),
    rank: rank === undefined ? null : parseRank(rank, memberPath(path, "rank"), arrivedAt),
    ...(mmr !== undefined && { mmr: parseMmr(mmr, memberPath(path, "mmr")) }),
    groupBy: group,
    ...(orderBy !== null && { orderBy }),
    ...parsePage(optional(members, "limit"), memberPath(path, "limit")),
    select: parseSelect(optional(members, "select"), memberPath(path, "select")),
    ...(highlight !== null && { highlight }),
    ...(explain !== null && { explain }),
  });
}

/** `where` of the interface and `filter` of existing clients are one thing under two names. */
function parseFilter(members: Members, path: string): Where | null {
  const where = parseFilterMember(members, "where", path);
  const filter = parseFilterMember(members, "filter", path);
  if (where !== null && filter !== null && canonical(where) !== canonical(filter)) {
    throw invalid(memberPath(path, "filter"), "contradicts `where`; send one of them");
  }
  return where ?? filter;
}

function parseFilterMember(members: Members, key: "where" | "filter", path: string): Where | null {
  const value = optional(members, key);
  if (value === undefined || (isMembers(value) && Object.keys(value).length === 0)) return null;
  return parseWhere(value, memberPath(path, key), unprocessable);
}

/** A text that is equal for equal filters, whatever their paths: members of a clause are made in one order. */
function canonical(where: Where): string {
  return JSON.stringify(where, (name, value: unknown) => {
    if (name === "path") return undefined;
    return typeof value === "bigint" ? { integer: `${value}` } : value;
  });
}

function parsePage(value: unknown, path: string): { readonly offset: number; readonly limit: number | null } {
  if (value === undefined) return { offset: 0, limit: null };
  const members = membersOf(value, path, (at) =>
    unprocessable(at, 'must be an object such as {"limit": 10}'),
  );
  refuseUnknown(members, ["limit", "offset"], path);
  const limit = countOf(optional(members, "limit") ?? 0, memberPath(path, "limit"));
  if (limit > LIMITS.resultsPerPage) {
    throw invalid(memberPath(path, "limit"), `must be at most ${LIMITS.resultsPerPage}`);
  }
  const offset = countOf(optional(members, "offset") ?? 0, memberPath(path, "offset"));
  return { offset, limit: limit === 0 ? null : limit };
}

/** `null` is refused with another status than an unknown word, as the existing server does. */
export function parseReadLevel(value: unknown): ReadLevel {
  if (value === undefined) return "index_and_wal";
  const expected = `must be ${listOf(READ_LEVELS)}`;
  if (value === null) throw invalid("read_level", expected);
  const level = READ_LEVELS.find((known) => known === value);
  if (level === undefined) throw unprocessable("read_level", expected);
  return level;
}
