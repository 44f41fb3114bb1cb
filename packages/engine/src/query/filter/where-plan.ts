/**
 * A `where` prepared for segments: clauses on metadata are looked up in columns, clauses on documents look only at
 * rows whose trigrams allow a match. Rows a column does not cover yet are tested one by one, by the rules of
 * `where-predicate.ts`. Regular expressions are only gathered here; another thread checks and runs them.
 */
import type { MetadataScalar, Where } from "@sheaf/protocol";
import type { ColumnQuery } from "../../segment/columns/metadata-column.ts";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import { type TrigramQuery, containing } from "../../segment/trigrams/trigram-query.ts";
import { type ListKeys, NO_LIST_KEYS, keysOf, longLists, makeListKeys } from "./list-keys.ts";
import { metadataIdentity } from "../metadata-order.ts";
import type { Pace } from "../pace.ts";
import type { RequestPatterns } from "../regex/request-patterns.ts";
import { type Predicate, compileClause } from "./where-predicate.ts";

export interface MetadataPlan {
  readonly type: "metadata";
  readonly key: string;
  /** `null`: no row matches the clause without its negation. */
  readonly query: ColumnQuery | null;
  readonly negated: boolean;
  /** Of the whole clause, negation included. */
  readonly matches: Predicate;
}

export interface ContainsPlan {
  readonly type: "contains";
  readonly required: TrigramQuery;
  readonly negated: boolean;
  readonly matches: Predicate;
}

export interface RegexPlan {
  readonly type: "regex";
  readonly pattern: string;
  readonly negated: boolean;
}

export type WherePlan =
  | { readonly type: "and" | "or"; readonly children: readonly WherePlan[]; readonly cost: number }
  | (MetadataPlan & { readonly cost: number })
  | (ContainsPlan & { readonly cost: number })
  | (RegexPlan & { readonly cost: number })
  /** Tested row by row. */
  | { readonly type: "rows"; readonly matches: Predicate; readonly cost: number };

/** A whole `where`. */
export interface Filter {
  readonly plan: (pace: Pace) => WherePlan | Promise<WherePlan>;
  /**
   * The same for filters that leave the same rows of a snapshot. `null`: what is left is not the snapshot's alone to say
   * (documents are in the store, which moves on), or the filter is too long to be worth remembering.
   */
  readonly key: string | null;
  /** Those of the request. */
  readonly patterns: RequestPatterns;
}

type MetadataClause = Extract<Where, { type: "compare" | "in" | "contains" }>;

/** What a clause costs beside others: a look into columns, a test per row, a document read per row. */
const COST = { column: 0, rows: 1, contains: 2, regex: 3 } as const;

/** Characters of a filter that is remembered. */
const MAX_KEY_LENGTH = 2_048;

/**
 * Throws 400 for too many regular expressions; `path` leads to `where` in the body. The patterns have to be checked before
 * the filter runs. What may be remembered, or has long lists, is planned only then.
 */
export function planFilter(where: Where, path: string, patterns: RequestPatterns): Filter {
  const key = keyOf(where);
  if (key !== null) return { plan: () => planWhere(where, NO_LIST_KEYS), key, patterns };
  gatherPatterns(where, path, patterns);
  const lists = longLists(where);
  if (lists.length === 0) {
    const plan = planWhere(where, NO_LIST_KEYS);
    return { plan: () => plan, key, patterns };
  }
  const plan = async (pace: Pace): Promise<WherePlan> => planWhere(where, await makeListKeys(lists, pace));
  return { plan, key, patterns };
}

function keyOf(where: Where): string | null {
  const key = clauseKey(where);
  return key === null || key.length > MAX_KEY_LENGTH ? null : key;
}

/** By hand, for `JSON.stringify` knows no integers; a search should not wait for its replacer. `null`: on documents. */
function clauseKey(where: Where): string | null {
  switch (where.type) {
    case "and":
    case "or": {
      let key: string = where.type;
      for (const child of where.children) {
        const part = clauseKey(child);
        if (part === null) return null;
        key += `(${part})`;
      }
      return key;
    }
    case "compare":
      return `${where.operator} ${JSON.stringify(where.key)} ${metadataIdentity(where.value)}`;
    case "in":
      return listKey(where);
    case "contains":
      return `${where.negated} has ${JSON.stringify(where.key)} ${metadataIdentity(where.value)}`;
    case "id":
      return where.ids.length > MAX_KEY_LENGTH ? null : `${where.negated} id ${JSON.stringify(where.ids)}`;
    case "document_contains":
    case "document_regex":
      break;
  }
  return null;
}

function listKey({ negated, key, values }: Extract<Where, { type: "in" }>): string | null {
  // Each identity has four characters at least.
  if (4 * values.length > MAX_KEY_LENGTH) return null;
  let list = "";
  for (const value of values) list += metadataIdentity(value);
  return `${negated} in ${JSON.stringify(key)} ${list}`;
}

function gatherPatterns(where: Where, path: string, patterns: RequestPatterns): void {
  if (where.type === "and" || where.type === "or") {
    for (const [i, child] of where.children.entries()) {
      gatherPatterns(child, `${path}.$${where.type}[${i}]`, patterns);
    }
  } else if (where.type === "document_regex") patterns.add(where.pattern, where.path ?? path);
}

function planWhere(where: Where, keys: ListKeys): WherePlan {
  if (where.type === "and" || where.type === "or") {
    const children = where.children.map((child) => planWhere(child, keys));
    return { type: where.type, children, cost: Math.max(0, ...children.map(({ cost }) => cost)) };
  }
  if (where.type === "document_regex") {
    return { type: "regex", pattern: where.pattern, negated: where.negated, cost: COST.regex };
  }
  const matches = compileClause(where, keys);
  if (where.type === "id") return { type: "rows", matches, cost: COST.rows };
  if (where.type === "document_contains") {
    const { text, negated } = where;
    return { type: "contains", required: containing(text), negated, matches, cost: COST.contains };
  }
  return {
    type: "metadata",
    key: where.key,
    query: columnQuery(where, keys),
    negated: where.type === "compare" ? where.operator === "$ne" : where.negated,
    matches,
    cost: COST.column,
  };
}

function columnQuery(where: MetadataClause, keys: ListKeys): ColumnQuery | null {
  if (where.type === "contains") return { type: "member", value: scalarKey(where.value) };
  if (where.type === "in") return { type: "equal", values: keys.get(where) ?? keysOf(where) };
  const { operator, value } = where;
  if (operator === "$eq" || operator === "$ne") {
    return { type: "equal", values: new Set<MetadataScalar>([scalarKey(value)]) };
  }
  return typeof value === "number" || typeof value === "bigint"
    ? { type: "range", operator, bound: value }
    : null;
}
