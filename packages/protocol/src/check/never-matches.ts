/** Filters that no record can pass, as far as the filter alone says so. May miss some, and is never wrong. */
import type { MetadataScalar } from "../metadata.ts";
import type { Where } from "../search/ast.ts";

type Condition = Extract<Where, { type: "compare" | "in" }>;

/** What is left of the values of one key. */
interface Range {
  least: number | bigint;
  most: number | bigint;
  /** The bounds themselves are out. */
  aboveLeast: boolean;
  belowMost: boolean;
  /** `undefined`: any. */
  only: readonly MetadataScalar[] | undefined;
}

/** Longer lists of values are not compared with each other. */
const MOST_VALUES = 100;

export function neverMatches(where: Where): boolean {
  if (where.type === "or") return where.children.every(neverMatches);
  if (where.type !== "and") return false;
  const clauses = flattened(where);
  return clauses.some(neverMatches) || contradicts(clauses);
}

/** The clauses of an `$and`, and of those in it. */
function flattened(where: Where): readonly Where[] {
  return where.type === "and" ? where.children.flatMap(flattened) : [where];
}

function contradicts(clauses: readonly Where[]): boolean {
  const ranges = new Map<string, Range>();
  for (const clause of clauses) {
    if (clause.type !== "compare" && clause.type !== "in") continue;
    const range = ranges.get(clause.key) ?? anything();
    ranges.set(clause.key, range);
    if (!narrow(range, clause)) return true;
  }
  return false;
}

function anything(): Range {
  return { least: -Infinity, most: Infinity, aboveLeast: false, belowMost: false, only: undefined };
}

/** `false`: nothing is left. */
function narrow(range: Range, clause: Condition): boolean {
  if (clause.type === "in") {
    if (clause.negated || clause.values.length > MOST_VALUES) return true;
    return keep(range, Array.from<MetadataScalar>(clause.values));
  }
  const { operator, value } = clause;
  if (operator === "$ne") return true;
  if (operator === "$eq") return keep(range, [value]);
  return isNumber(value) ? bound(range, operator, value) : true;
}

function keep(range: Range, values: readonly MetadataScalar[]): boolean {
  const { only } = range;
  range.only =
    only === undefined ? values : only.filter((value) => values.some((other) => same(value, other)));
  return anyLeft(range);
}

function bound(range: Range, operator: string, value: number | bigint): boolean {
  const excludes = operator === "$gt" || operator === "$lt";
  if (operator === "$gt" || operator === "$gte") {
    if (value > range.least || (value >= range.least && excludes)) {
      range.least = value;
      range.aboveLeast = excludes;
    }
  } else if (value < range.most || (value <= range.most && excludes)) {
    range.most = value;
    range.belowMost = excludes;
  }
  return anyLeft(range);
}

function anyLeft(range: Range): boolean {
  const { least, most, aboveLeast, belowMost, only } = range;
  const isBounded = least !== -Infinity || most !== Infinity;
  if (only !== undefined) {
    return only.some((value) => !isBounded || (isNumber(value) && isWithin(value, range)));
  }
  return aboveLeast || belowMost ? least < most : least <= most;
}

function isWithin(value: number | bigint, { least, most, aboveLeast, belowMost }: Range): boolean {
  return (aboveLeast ? value > least : value >= least) && (belowMost ? value < most : value <= most);
}

function isNumber(value: MetadataScalar): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Loose equality between a bigint and a number is exact in JavaScript. */
function same(a: MetadataScalar, b: MetadataScalar): boolean {
  // oxlint-disable-next-line eqeqeq
  return isNumber(a) && isNumber(b) ? a == b : a === b;
}
