/**
 * A clause of a `where` compiled to a function, but for regular expressions, which do not run in this thread. Rules: a missing key, and a value of another type, match no positive
 * operator and every negative one; numbers compare by exact value whatever their kind; a missing document is like a
 * missing key.
 */
import {
  type Comparison,
  type IntegerArray,
  type MetadataArray,
  type MetadataScalar,
  type MetadataValue,
  type Where,
  isIntegerArray,
  isSparseVector,
} from "@sheaf/protocol";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import { type ListKeys, keysOf } from "./list-keys.ts";

/** What a clause may look at; the document is read from the store when a clause asks for it. */
export interface FilterRow {
  readonly id: string;
  value(key: string): MetadataValue | undefined;
  /** UTF-8; others after the next row. */
  document(): Uint8Array | null;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

export type Predicate = (row: FilterRow) => boolean;

export type TestedClause = Exclude<Where, { type: "and" | "or" | "document_regex" }>;

export function compileClause(where: TestedClause, keys: ListKeys): Predicate {
  if (where.type === "document_contains") return compileContains(where);
  if (where.type === "id") {
    const ids = keys.get(where) ?? keysOf(where);
    return (row) => ids.has(row.id) !== where.negated;
  }
  return compileMetadata(where, keys);
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

function compileContains({ text, negated }: Extract<Where, { type: "document_contains" }>): Predicate {
  const bytes = Buffer.from(text);
  // A lone surrogate is in no text of UTF-8, and half of a character may be in one of UTF-16.
  const isWhole = !LONE_SURROGATE.test(text);
  return (row) => {
    const document = row.document();
    if (document === null) return negated;
    const buffer = Buffer.from(document.buffer, document.byteOffset, document.length);
    return (isWhole ? buffer.includes(bytes) : buffer.toString().includes(text)) !== negated;
  };
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

function isNumber(value: MetadataScalar): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

function isOfNumbers(values: MetadataArray): values is Exclude<IntegerArray, BigInt64Array> | Float64Array {
  return values instanceof Float64Array || (isIntegerArray(values) && !(values instanceof BigInt64Array));
}

function isArray(value: MetadataValue): value is MetadataArray {
  return typeof value === "object" && !isSparseVector(value);
}

function holds(values: MetadataArray, wanted: MetadataScalar): boolean {
  // Long arrays have no columns. A key that is a number stands for no other number.
  if (typeof wanted === "number" && isOfNumbers(values)) return values.includes(wanted);
  for (const value of values) if (scalarKey(value) === wanted) return true;
  return false;
}
