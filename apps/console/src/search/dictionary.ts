/**
 * A search as a form and as the dictionary that is sent. The dictionary is what counts: the form shows one that it can show
 * whole, and each of its changes makes another.
 */
import { type JsonObject, isObject } from "../parts/json-text.ts";

export interface Leaf {
  readonly key: string;
  readonly weight: number;
}

export interface SearchForm {
  readonly text: string;
  /** Vector indexes that are asked for the text; several are fused by their ranks. */
  readonly leaves: readonly Leaf[];
  /** Records that each of them finds. */
  readonly candidates: number;
  readonly where: JsonObject | null;
  /** Key of which one record is kept for each value; empty: none. */
  readonly groupBy: string;
  readonly limit: number;
  /** Members that it does not show, and leaves as they are. */
  readonly rest: JsonObject;
}

const RRF_K = 60;
const DEFAULT_LIMIT = 10;
const DEFAULT_CANDIDATES = 100;
export const EMPTY_FORM: SearchForm = {
  ...{ text: "", leaves: [], candidates: DEFAULT_CANDIDATES, where: null, groupBy: "", limit: DEFAULT_LIMIT },
  rest: {},
};

export function dictionaryOf({
  text,
  leaves,
  candidates,
  where,
  groupBy,
  limit,
  rest,
}: SearchForm): JsonObject {
  return {
    ...(where !== null && { where }),
    ...(text !== "" && leaves.length > 0 && { rank: rankOf(text, leaves, candidates) }),
    ...(groupBy !== "" && {
      group_by: { keys: [groupBy], aggregate: { $min_k: { keys: ["#score"], k: 1 } } },
    }),
    limit: { limit },
    ...rest,
  };
}

/** `null`: the dictionary has what the form does not show. */
export function formOf(dictionary: JsonObject): SearchForm | null {
  const { where = null, rank, group_by: groupBy, limit, ...rest } = dictionary;
  const form = {
    ...EMPTY_FORM,
    ...(rank === undefined ? {} : rankForm(rank)),
    where: isObject(where) ? where : null,
    rest,
    groupBy: groupKeyOf(groupBy),
    limit: isObject(limit) && typeof limit["limit"] === "number" ? limit["limit"] : DEFAULT_LIMIT,
  };
  return isSame(dictionaryOf(form), dictionary) ? form : null;
}

function rankOf(text: string, leaves: readonly Leaf[], limit: number): JsonObject {
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return { $knn: { query: text, key: only.key, limit } };
  const parts = leaves.map(({ key, weight }) => ({
    $div: {
      left: { $val: weight },
      right: {
        $sum: [{ $val: RRF_K }, { $knn: { query: text, key, limit, default: limit, return_rank: true } }],
      },
    },
  }));
  return { $mul: [{ $sum: parts }, { $val: -1 }] };
}

/** As far as it can be read; whether that is all of it shows when it is written again. */
function rankForm(rank: unknown): Partial<SearchForm> {
  const knns = leavesIn(rank, 1);
  const [first] = knns;
  if (first === undefined) return {};
  const { query, limit } = first.knn;
  return {
    text: typeof query === "string" ? query : "",
    candidates: typeof limit === "number" ? limit : DEFAULT_CANDIDATES,
    leaves: knns.map(({ knn, weight }) => ({
      key: typeof knn["key"] === "string" ? knn["key"] : "",
      weight,
    })),
  };
}

interface FoundLeaf {
  readonly knn: JsonObject;
  readonly weight: number;
}

function leavesIn(node: unknown, weight: number): readonly FoundLeaf[] {
  if (Array.isArray(node)) return node.flatMap((child) => leavesIn(child, weight));
  if (!isObject(node)) return [];
  const { $knn, $div } = node;
  if (isObject($knn)) return [{ knn: $knn, weight }];
  if (isObject($div)) {
    const { left, right } = $div;
    const value = isObject(left) ? left["$val"] : undefined;
    return leavesIn(right, typeof value === "number" ? value : weight);
  }
  return Object.values(node).flatMap((child) => leavesIn(child, weight));
}

function groupKeyOf(groupBy: unknown): string {
  const keys = isObject(groupBy) ? groupBy["keys"] : undefined;
  return Array.isArray(keys) && typeof keys[0] === "string" ? keys[0] : "";
}

/** Whatever the order of members. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** Members by name: their order says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
