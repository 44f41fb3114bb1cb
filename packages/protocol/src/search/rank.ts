/**
 * `rank`: one operator per object, nested. Constants are rounded to f32 here, because the whole evaluation is f32.
 * Wrong types, missing members and unknown operators are 422; bounds, unknown members and an object without exactly
 * one operator are 400, texts over `LIMITS.textBytes` 413.
 */
import { SheafError, invalid, unprocessable } from "../errors.ts";
import {
  booleanOf,
  exceedsBytes,
  float32Of,
  float64Of,
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  membersOf,
  optional,
  positiveOf,
  refuseUnknown,
  required,
  stringOf,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { parseSparseVector } from "../metadata-sparse-vector.ts";
import { parseDenseVector } from "../dense-vector-parser.ts";
import { EMBEDDING_KEY } from "../system-keys.ts";
import type { FieldLeaf, Knn, KnnQuery, Rank } from "./ast.ts";

const OPERATORS = [
  ...["$abs", "$age", "$div", "$exp", "$key", "$knn", "$log"],
  ...["$max", "$min", "$mul", "$sub", "$sum", "$val"],
];
const KNN_MEMBERS = ["query", "key", "limit", "default", "return_rank", "exact"];
const SIDES = ["left", "right"];

const NO_EXPRESSION = 'must be an object such as {"$val": 2}';
const DEFAULT_KNN_LIMIT = 16;
const OPERANDS_MIN = 2;

const KEY_MEMBERS = ["key", "default"];
const AGE_MEMBERS = ["key", "half_life", "now", "default"];

interface Reading {
  /** Unix time in seconds, for leaves that do not say what now is. */
  readonly arrivedAt: number;
  nodes: number;
  leaves: number;
  fields: number;
}

/**
 * A rank expression. Whether a `$knn.key` exists, and of which kind it is, only the collection's schema can tell.
 *
 * @throws SheafError 422 or 400, as above.
 */
export function parseRank(value: unknown, path: string, arrivedAt: number): Rank {
  return parseExpression(value, path, { arrivedAt, nodes: 0, leaves: 0, fields: 0 });
}

function parseExpression(value: unknown, path: string, reading: Reading): Rank {
  reading.nodes += 1;
  if (reading.nodes > LIMITS.rankNodes) throw invalid(path, `is over ${LIMITS.rankNodes} operators`);
  const entries = Object.entries(membersOf(value, path, () => unprocessable(path, NO_EXPRESSION)));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) throw invalid(path, "must hold exactly one operator");
  const [operator, operand] = entry;
  const at = memberPath(path, operator);
  switch (operator) {
    case "$val":
      return Object.freeze({ type: "val", value: float32Of(operand, at) });
    case "$knn":
      return parseKnn(operand, at, reading);
    case "$key":
    case "$age":
      return parseField(operator, operand, { path: at, reading });
    case "$sum":
    case "$mul":
    case "$max":
    case "$min":
      return Object.freeze({ type: "nary", operator, operands: parseOperands(operand, at, reading) });
    case "$sub":
    case "$div":
      return Object.freeze({ type: "binary", operator, ...parseSides(operand, at, reading) });
    case "$abs":
    case "$exp":
    case "$log":
      return Object.freeze({ type: "unary", operator, operand: parseExpression(operand, at, reading) });
    default:
      throw unprocessable(at, `is unknown, expected ${listOf(OPERATORS)}`);
  }
}

function parseOperands(value: unknown, path: string, reading: Reading): readonly Rank[] {
  const operands = itemsOf(value, path);
  if (operands.length < OPERANDS_MIN) throw invalid(path, `needs at least ${OPERANDS_MIN} operands`);
  return Object.freeze(
    operands.map((operand, index) => parseExpression(operand, itemPath(path, index), reading)),
  );
}

/** `{left, right}`. A list of the two is taken too: the existing server reads its structs from lists as well. */
function parseSides(
  value: unknown,
  path: string,
  reading: Reading,
): { readonly left: Rank; readonly right: Rank } {
  if (Array.isArray(value)) {
    const sides: readonly unknown[] = value;
    if (sides.length !== SIDES.length) throw unprocessable(path, "must hold `left` and `right`");
    return {
      left: parseExpression(sides[0], itemPath(path, 0), reading),
      right: parseExpression(sides[1], itemPath(path, 1), reading),
    };
  }
  const members = membersOf(value, path);
  refuseUnknown(members, SIDES, path);
  return {
    left: parseExpression(required(members, "left", path), memberPath(path, "left"), reading),
    right: parseExpression(required(members, "right", path), memberPath(path, "right"), reading),
  };
}

function parseKnn(value: unknown, path: string, reading: Reading): Knn {
  reading.leaves += 1;
  if (reading.leaves > LIMITS.knnLeaves)
    throw invalid(path, `has over ${LIMITS.knnLeaves} \`$knn\` expressions`);
  const members = membersOf(value, path);
  refuseUnknown(members, KNN_MEMBERS, path);
  const fallback = optional(members, "default");
  return Object.freeze({
    type: "knn",
    query: parseQuery(required(members, "query", path), memberPath(path, "query")),
    key: parseKey(optional(members, "key"), memberPath(path, "key")),
    limit: parseKnnLimit(optional(members, "limit"), memberPath(path, "limit")),
    default: fallback === undefined ? null : float32Of(fallback, memberPath(path, "default")),
    returnRank: flag(members, "return_rank", path),
    exact: flag(members, "exact", path),
    path,
  });
}

function parseField(
  operator: "$key" | "$age",
  value: unknown,
  { path, reading }: { readonly path: string; readonly reading: Reading },
): FieldLeaf {
  reading.fields += 1;
  if (reading.fields > LIMITS.fieldLeaves)
    throw invalid(path, `makes over ${LIMITS.fieldLeaves} \`$key\` and \`$age\` expressions`);
  const example = operator === "$key" ? '{"key": "year"}' : '{"key": "created", "half_life": 86400}';
  const members = membersOf(value, path, () => unprocessable(path, `must be an object such as ${example}`));
  refuseUnknown(members, operator === "$key" ? KEY_MEMBERS : AGE_MEMBERS, path);
  const key = stringOf(required(members, "key", path), memberPath(path, "key"));
  if (key === "" || key.startsWith("#")) throw invalid(memberPath(path, "key"), "must be a metadata field");
  const fallback = optional(members, "default");
  const leaf = {
    key,
    default: fallback === undefined ? null : float32Of(fallback, memberPath(path, "default")),
  };
  if (operator === "$key") return Object.freeze({ type: "key", ...leaf });
  const halfLife = float64Of(required(members, "half_life", path), memberPath(path, "half_life"));
  if (!(halfLife > 0)) throw invalid(memberPath(path, "half_life"), "must be above 0");
  const now = optional(members, "now");
  return Object.freeze({
    ...{ type: "age", ...leaf, halfLife },
    now: now === undefined ? reading.arrivedAt : float64Of(now, memberPath(path, "now")),
  });
}

function parseQuery(value: unknown, path: string): KnnQuery {
  if (typeof value === "string") {
    if (exceedsBytes(value, LIMITS.textBytes))
      throw new SheafError("too_large", `${path}: is over ${LIMITS.textBytes} bytes`);
    return Object.freeze({ type: "text", text: value });
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return Object.freeze({ type: "dense", vector: parseDenseVector(value, path) });
  }
  const members = membersOf(value, path, () =>
    unprocessable(path, "must be a text, an array of numbers or a sparse vector"),
  );
  return Object.freeze({ type: "sparse", vector: parseSparseVector(members, path) });
}

function parseKey(value: unknown, path: string): string {
  if (value === undefined) return EMBEDDING_KEY;
  const key = stringOf(value, path);
  if (key === "" || (key.startsWith("#") && key !== EMBEDDING_KEY)) {
    throw invalid(path, `must be \`${EMBEDDING_KEY}\` or a metadata field with a sparse index`);
  }
  return key;
}

function parseKnnLimit(value: unknown, path: string): number {
  if (value === undefined) return DEFAULT_KNN_LIMIT;
  const limit = positiveOf(value, path);
  if (limit > LIMITS.knnLimit) throw invalid(path, `must be at most ${LIMITS.knnLimit}`);
  return limit;
}

function flag(members: Members, key: string, path: string): boolean {
  const value = optional(members, key);
  return value === undefined ? false : booleanOf(value, memberPath(path, key));
}
