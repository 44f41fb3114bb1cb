/**
 * `where` and `where_document`: the exemplar of how a body is read here. `unknown` comes in, a frozen tree of known
 * shape goes out or an error that begins with the JSON path; behind it nobody checks again.
 *
 * Every object has exactly one key, and under a metadata key exactly one operator. A number keeps the kind it was
 * written with (`bigint` or `number`); comparing is by exact value, so the kind only matters inside arrays.
 */
import { invalid } from "../errors.ts";
import {
  isNumberList,
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  membersOf,
  stringOf,
  type Refuse,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { isInt64 } from "../integer-array.ts";
import { metadataScalar } from "../metadata-parser.ts";
import type { MetadataScalar } from "../metadata.ts";
import type { Comparison, FilterValues, Where } from "./ast.ts";

const METADATA_OPERATORS = [
  "$eq",
  "$ne",
  "$gt",
  "$gte",
  "$lt",
  "$lte",
  "$in",
  "$nin",
  "$contains",
  "$not_contains",
] as const;
const ID_OPERATORS = ["$eq", "$ne", "$in", "$nin"] as const;
const DOCUMENT_OPERATORS = ["$contains", "$not_contains", "$regex", "$not_regex"] as const;

/** What is read so far of one `where`; `refuse` makes the error of a malformed clause. */
interface Reading {
  readonly refuse: Refuse;
  clauses: number;
}

/**
 * A `where` filter. Absent, `null` and (in a search) `{}` are the caller's to sort out.
 *
 * @param refuse `invalid` (400) for get, query and delete; `unprocessable` (422) inside a search.
 * @throws SheafError by `refuse` for a malformed clause, 400 for one out of bounds or of `#document` with an operator
 * that needs an index it has not.
 */
export function parseWhere(value: unknown, path: string, refuse: Refuse = invalid): Where {
  return parseClause(value, path, { refuse, clauses: 0 });
}

/** A `where_document` filter: operators on the document without the key. Errors as `parseWhere`. */
export function parseWhereDocument(value: unknown, path: string, refuse: Refuse = invalid): Where {
  return parseDocumentClause(value, path, { refuse, clauses: 0 });
}

/** Both filters of a body as one; `null` where neither is there. */
export function combineWhere(where: Where | null, whereDocument: Where | null): Where | null {
  if (where === null || whereDocument === null) return where ?? whereDocument;
  return freeze({ type: "and", children: Object.freeze([where, whereDocument]) });
}

function parseClause(value: unknown, path: string, reading: Reading): Where {
  const [key, operand] = onlyMember(value, path, reading);
  const at = memberPath(path, key);
  if (key === "$and" || key === "$or") return parseBranch(key, operand, { at, reading, parse: parseClause });
  if (key === "#document") return parseDocumentField(operand, at, reading);
  if (key === "#id") return parseId(operand, at, reading);
  if (key === "") throw reading.refuse(path, "must name a metadata field");
  if (key.startsWith("#")) throw reading.refuse(at, "is not a key of a filter; `#id` and `#document` are");
  if (key.startsWith("$")) throw reading.refuse(at, "is no operator here, expected `$and` or `$or`");
  return parseField(key, operand, at, reading);
}

interface Branch {
  readonly at: string;
  readonly reading: Reading;
  readonly parse: (value: unknown, path: string, reading: Reading) => Where;
}

/** `$and: []` holds for every record and `$or: []` for none. */
function parseBranch(key: "$and" | "$or", operand: unknown, { at, reading, parse }: Branch): Where {
  const clauses = itemsOf(operand, at, reading.refuse);
  const children = clauses.map((clause, index) => parse(clause, itemPath(at, index), reading));
  return freeze({ type: key === "$and" ? "and" : "or", children: Object.freeze(children) });
}

function parseField(key: string, operand: unknown, path: string, reading: Reading): Where {
  const [operator, value, at] = operation(operand, path, reading);
  switch (operator) {
    case "$in":
    case "$nin":
      return freeze({ type: "in", key, negated: operator === "$nin", values: parseList(value, at, reading) });
    case "$contains":
    case "$not_contains":
      return freeze({
        type: "contains",
        key,
        negated: operator === "$not_contains",
        value: parseScalar(value, at, reading),
      });
    case "$eq":
    case "$ne":
      return freeze({ type: "compare", key, operator, value: parseScalar(value, at, reading) });
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return parseOrder(key, operator, { value, at, reading });
    case "$regex":
    case "$not_regex":
      throw reading.refuse(at, "works on `#document` only");
    default:
      throw reading.refuse(at, `is unknown, expected ${listOf(METADATA_OPERATORS)}`);
  }
}

interface Operand {
  readonly value: unknown;
  readonly at: string;
  readonly reading: Reading;
}

function parseOrder(key: string, operator: Comparison, { value, at, reading }: Operand): Where {
  const bound = parseScalar(value, at, reading);
  if (typeof bound !== "number" && typeof bound !== "bigint") throw reading.refuse(at, "must be a number");
  return freeze({ type: "compare", key, operator, value: bound });
}

function parseId(operand: unknown, path: string, reading: Reading): Where {
  const [operator, value, at] = operation(operand, path, reading);
  switch (operator) {
    case "$eq":
    case "$ne":
      return idClause(operator === "$ne", [stringOf(value, at, reading.refuse)]);
    case "$in":
    case "$nin": {
      const ids = parseItems(value, at, reading).map((id, index) =>
        stringOf(id, itemPath(at, index), reading.refuse),
      );
      return idClause(operator === "$nin", ids);
    }
    default:
      throw reading.refuse(at, `does not work on \`#id\`, expected ${listOf(ID_OPERATORS)}`);
  }
}

function idClause(negated: boolean, ids: readonly string[]): Where {
  return freeze({ type: "id", negated, ids: Object.freeze(ids) });
}

/** `{"#document": {operator: text}}`. Comparing whole documents would need an index that no schema can have. */
function parseDocumentField(operand: unknown, path: string, reading: Reading): Where {
  const [operator, value, at] = operation(operand, path, reading);
  const clause = documentClause(operator, { value, at, reading });
  if (clause !== null) return clause;
  if (!METADATA_OPERATORS.some((known) => known === operator)) {
    throw reading.refuse(at, `is unknown, expected ${listOf(DOCUMENT_OPERATORS)}`);
  }
  throw invalid(
    at,
    "Cannot filter using metadata key '#document' with type 'Str' because indexing is disabled; " +
      `use ${listOf(DOCUMENT_OPERATORS)}`,
  );
}

function parseDocumentClause(value: unknown, path: string, reading: Reading): Where {
  const [key, operand] = onlyMember(value, path, reading);
  const at = memberPath(path, key);
  if (key === "$and" || key === "$or") {
    return parseBranch(key, operand, { at, reading, parse: parseDocumentClause });
  }
  const clause = documentClause(key, { value: operand, at, reading });
  if (clause === null) throw reading.refuse(at, `is unknown, expected ${listOf(DOCUMENT_OPERATORS)}`);
  return clause;
}

/** `null` if the operator is none of a document. */
function documentClause(operator: string, { value, at, reading }: Operand): Where | null {
  switch (operator) {
    case "$contains":
    case "$not_contains": {
      const text = stringOf(value, at, reading.refuse);
      if (text.length > LIMITS.containsCharacters) {
        throw invalid(at, `is over ${LIMITS.containsCharacters} characters, which no document has`);
      }
      return freeze({ type: "document_contains", negated: operator === "$not_contains", text });
    }
    case "$regex":
    case "$not_regex": {
      const pattern = stringOf(value, at, reading.refuse);
      if (pattern.length > LIMITS.regexCharacters) {
        throw invalid(at, `is over ${LIMITS.regexCharacters} characters`);
      }
      return freeze({ type: "document_regex", negated: operator === "$not_regex", pattern, path: at });
    }
    default:
      return null;
  }
}

/** Operator, operand and the operand's path; a bare scalar is `$eq`. */
function operation(
  operand: unknown,
  path: string,
  reading: Reading,
): readonly [operator: string, value: unknown, at: string] {
  if (metadataScalar(operand) !== null) return ["$eq", operand, path];
  const members = membersOf(operand, path, (at) =>
    reading.refuse(at, "must be a string, number, boolean or an object with one operator"),
  );
  const entries = Object.entries(members);
  const [entry] = entries;
  if (entry === undefined) throw reading.refuse(path, "must hold exactly one operator");
  if (entries.length > 1)
    throw reading.refuse(path, "must hold exactly one operator; combine several with `$and`");
  const [operator, value] = entry;
  return [operator, value, memberPath(path, operator)];
}

function onlyMember(value: unknown, path: string, reading: Reading): readonly [string, unknown] {
  reading.clauses += 1;
  if (reading.clauses > LIMITS.whereNodes) throw invalid(path, `is over ${LIMITS.whereNodes} clauses`);
  const entries = Object.entries(membersOf(value, path, reading.refuse));
  const [entry] = entries;
  if (entry === undefined) throw reading.refuse(path, "must hold exactly one key");
  if (entries.length > 1)
    throw reading.refuse(path, "must hold exactly one key; combine several with `$and` or `$or`");
  return entry;
}

function parseScalar(value: unknown, path: string, reading: Reading): MetadataScalar {
  const scalar = metadataScalar(value);
  if (scalar === null) throw reading.refuse(path, "must be a string, number or boolean");
  // As metadata such a literal is stored as a float; a filter that asked for it would silently mean another number.
  if (typeof value === "bigint" && !isInt64(value)) {
    throw reading.refuse(path, "must fit a signed 64-bit integer");
  }
  return scalar;
}

function parseItems(value: unknown, path: string, reading: Reading): readonly unknown[] {
  const items = itemsOf(value, path, reading.refuse);
  checkCount(items.length, path, reading);
  return items;
}

function checkCount(count: number, path: string, reading: Reading): void {
  if (count === 0) throw reading.refuse(path, "must hold at least 1 value");
  if (count > LIMITS.whereValues) throw invalid(path, `is over ${LIMITS.whereValues} values`);
}

/**
 * Values of one kind, the first deciding it: after a float integers may come, and keep their 64 bits; after an integer, no
 * float. What `readJson` gives as a typed array stays one.
 */
function parseList(value: unknown, path: string, reading: Reading): FilterValues {
  if (isNumberList(value)) {
    checkCount(value.length, path, reading);
    return value;
  }
  const items = parseItems(value, path, reading);
  const first = parseScalar(items[0], itemPath(path, 0), reading);
  const values = items.map((item, index) => {
    const scalar = parseScalar(item, itemPath(path, index), reading);
    const isIntegerAmongFloats = typeof first === "number" && typeof scalar === "bigint";
    if (typeof scalar !== typeof first && !isIntegerAmongFloats) {
      throw reading.refuse(itemPath(path, index), `must be ${kindOf(first)}, like the first value`);
    }
    return scalar;
  });
  return Object.freeze(values);
}

const KINDS = { bigint: "an integer", number: "a number", string: "a string", boolean: "a boolean" };

function kindOf(scalar: MetadataScalar): string {
  return KINDS[typeof scalar as keyof typeof KINDS];
}

function freeze(clause: Where): Where {
  return Object.freeze(clause);
}
