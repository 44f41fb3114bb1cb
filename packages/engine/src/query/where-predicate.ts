/**
 * A `where` compiled to one function per clause. Rules: a missing key, and a value of another type, match no positive
 * operator and every negative one; numbers compare by exact value whatever their kind; a missing document is like a
 * missing key.
 */
import {
  type Comparison,
  type MetadataArray,
  type MetadataScalar,
  type MetadataValue,
  type Where,
  isSparseVector,
} from "@sheaf/protocol";
import { scalarKey } from "../index/scalar-key.ts";
import { type ListKeys, keysOf } from "./list-keys.ts";
import type { PatternCache } from "./pattern-cache.ts";

/** What a clause may look at; the document is read from the store when a clause asks for it. */
export interface FilterRow {
  readonly id: string;
  value(key: string): MetadataValue | undefined;
  document(): string | null;
}

/** What a filter's clauses are compiled with. */
export interface FilterMeans {
  readonly patterns: PatternCache;
  readonly keys: ListKeys;
}

export type Predicate = (row: FilterRow) => boolean;

/** Throws 400 for a regular expression that is none; `path` leads to `where` in the body. */
export function compileWhere(where: Where, path: string, means: FilterMeans): Predicate {
  if (where.type === "and" || where.type === "or") return compileCombination(where, path, means);
  if (where.type === "document_contains" || where.type === "document_regex") {
    return compileDocument(where, path, means.patterns);
  }
  if (where.type === "id") {
    const ids = means.keys.get(where) ?? keysOf(where);
    return (row) => ids.has(row.id) !== where.negated;
  }
  return compileMetadata(where, means.keys);
}

/** The ids that every match is among, or `null` if the clauses name none. */
export function requiredIds(where: Where): readonly string[] | null {
  if (where.type === "id" && !where.negated) return where.ids;
  if (where.type !== "and") return null;
  const lists = where.children.map(requiredIds).filter((ids) => ids !== null);
  return lists.reduce<readonly string[] | null>(
    (best, ids) => (best === null || ids.length < best.length ? ids : best),
    null,
  );
}

function compileCombination(
  where: Extract<Where, { type: "and" | "or" }>,
  path: string,
  means: FilterMeans,
): Predicate {
  // Clauses that read documents come last: most rows are decided before.
  const children = where.children
    .map((child, index) => ({
      cost: cost(child),
      matches: compileWhere(child, `${path}.$${where.type}[${index}]`, means),
    }))
    .sort((a, b) => a.cost - b.cost)
    .map(({ matches }) => matches);
  return where.type === "and"
    ? (row) => children.every((matches) => matches(row))
    : (row) => children.some((matches) => matches(row));
}

function cost(where: Where): number {
  if (where.type === "document_regex") return 2;
  if (where.type === "document_contains") return 1;
  return where.type === "and" || where.type === "or" ? Math.max(0, ...where.children.map(cost)) : 0;
}

function compileDocument(
  where: Extract<Where, { type: "document_contains" | "document_regex" }>,
  path: string,
  patterns: PatternCache,
): Predicate {
  if (where.type === "document_contains") {
    return onDocument(where.negated, (document) => document.includes(where.text));
  }
  const pattern = patterns.compile(where.pattern, where.path ?? path);
  return onDocument(where.negated, (document) => pattern.isMatch(document));
}

function compileMetadata(
  where: Extract<Where, { type: "compare" | "in" | "contains" }>,
  keys: ListKeys,
): Predicate {
  const { key } = where;
  if (where.type === "in") {
    const wanted = keys.get(where) ?? keysOf(where);
    return onScalar(key, where.negated, (value) => wanted.has(scalarKey(value)));
  }
  const wanted = scalarKey(where.value);
  if (where.type === "contains") {
    return onValue(key, where.negated, (value) => isArray(value) && holds(value, wanted));
  }
  if (where.operator === "$eq" || where.operator === "$ne") {
    return onScalar(key, where.operator === "$ne", (value) => scalarKey(value) === wanted);
  }
  return onNumber(key, where.value, ORDER_TESTS[where.operator]);
}

type OrderTest = (value: bigint | number, bound: bigint | number) => boolean;

/** JavaScript compares a bigint with a number by exact value. */
const ORDER_TESTS: Record<Exclude<Comparison, "$eq" | "$ne">, OrderTest> = {
  $gt: (value, bound) => value > bound,
  $gte: (value, bound) => value >= bound,
  $lt: (value, bound) => value < bound,
  $lte: (value, bound) => value <= bound,
};

function onNumber(key: string, bound: MetadataScalar, test: OrderTest): Predicate {
  if (!isNumber(bound)) return () => false;
  return onScalar(key, false, (value) => isNumber(value) && test(value, bound));
}

function onScalar(key: string, negated: boolean, test: (value: MetadataScalar) => boolean): Predicate {
  return onValue(key, negated, (value) => typeof value !== "object" && test(value));
}

function onValue(key: string, negated: boolean, test: (value: MetadataValue) => boolean): Predicate {
  return (row) => {
    const value = row.value(key);
    return (value !== undefined && test(value)) !== negated;
  };
}

function onDocument(negated: boolean, test: (document: string) => boolean): Predicate {
  return (row) => {
    const document = row.document();
    return (document !== null && test(document)) !== negated;
  };
}

function isNumber(value: MetadataScalar): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

function isArray(value: MetadataValue): value is MetadataArray {
  return typeof value === "object" && !isSparseVector(value);
}

function holds(values: MetadataArray, wanted: MetadataScalar): boolean {
  for (const value of values) if (scalarKey(value) === wanted) return true;
  return false;
}
