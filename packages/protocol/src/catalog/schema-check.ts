/**
 * Requests against the schema of their collection. The engine answers every filter whether an index exists or not;
 * what a schema switched off is refused all the same, so that a client sees the same collection on every server.
 */
import { invalid } from "../errors.ts";
import { isIntegerArray } from "../integer-array.ts";
import { itemPath, memberPath, shownKey } from "../json/json-shape.ts";
import { type MetadataScalar, metadataKind } from "../metadata.ts";
import type { FilterValues, Knn, Rank, SearchRequest, Where } from "../search/ast.ts";
import { DOCUMENT_KEY, EMBEDDING_KEY } from "../system-keys.ts";
import type { JsonObject } from "./ast.ts";
import { sparseIndexOf } from "./index-plan.ts";
import { objectAt, valueAt } from "./plain-json.ts";

interface ScalarIndex {
  readonly valueType: string;
  readonly index: string;
  /** As messages have always called the type. */
  readonly shown: string;
}

const SCALAR_INDEXES: Readonly<Record<string, ScalarIndex>> = {
  bool: { valueType: "bool", index: "bool_inverted_index", shown: "Bool" },
  int: { valueType: "int", index: "int_inverted_index", shown: "Int" },
  float: { valueType: "float", index: "float_inverted_index", shown: "Float" },
  string: { valueType: "string", index: "string_inverted_index", shown: "Str" },
};

/**
 * @param path Of the filter in the body.
 * @throws SheafError 400 for a condition whose index the schema switched off, by the kind of its operand: with the
 * string index of `x` off, `{"x": 1}` passes still.
 */
export function checkWhereAgainstSchema(where: Where, schema: JsonObject, path: string): void {
  switch (where.type) {
    case "and":
    case "or": {
      const list = memberPath(path, where.type === "and" ? "$and" : "$or");
      for (const [i, child] of where.children.entries()) {
        checkWhereAgainstSchema(child, schema, itemPath(list, i));
      }
      return;
    }
    case "compare":
    case "contains":
      checkOperand(where.key, where.value, schema, path);
      return;
    case "in":
      // A list has one kind, but for integers behind a float.
      for (const value of firstOf(where.values)) checkOperand(where.key, value, schema, path);
      return;
    case "document_contains":
    case "document_regex":
      if (!isEnabled(schema, DOCUMENT_KEY, "string", "fts_index")) {
        throw invalid(path, "Cannot filter using full-text search because FTS indexing is disabled");
      }
      return;
    case "id":
      return;
  }
}

function firstOf(values: FilterValues): readonly MetadataScalar[] {
  const [first] = values;
  if (first === undefined) return [];
  return [isIntegerArray(values) ? BigInt(first) : first];
}

function checkOperand(key: string, value: MetadataScalar, schema: JsonObject, path: string): void {
  const scalar = SCALAR_INDEXES[metadataKind(value)];
  if (scalar === undefined || isEnabled(schema, key, scalar.valueType, scalar.index)) return;
  throw indexingDisabled(memberPath(path, key), key, scalar.shown);
}

function indexingDisabled(path: string, key: string, type: string): Error {
  return invalid(
    path,
    `Cannot filter using metadata key '${shownKey(key)}' with type '${type}' because indexing is disabled`,
  );
}

/** The key's own entry decides; where it has none for the type, the defaults do. */
function isEnabled(schema: JsonObject, key: string, valueType: string, index: string): boolean {
  const own = objectAt(schema, "keys", key, valueType, index);
  const entry = own ?? objectAt(schema, "defaults", valueType, index);
  return entry?.["enabled"] === true;
}

/**
 * Filters and `$knn` keys of all searches of a call.
 *
 * @throws SheafError 400 for a filter as `checkWhereAgainstSchema` refuses it, for a `$knn.key` that is no dense or
 * sparse index, and for a dense query on a sparse key or the reverse. A text fits both.
 */
export function checkSearchAgainstSchema(request: SearchRequest, schema: JsonObject): void {
  for (const [i, search] of request.searches.entries()) {
    const path = itemPath("searches", i);
    if (search.where !== null) checkWhereAgainstSchema(search.where, schema, memberPath(path, "where"));
    if (search.rank !== null) checkRank(search.rank, schema);
  }
}

function checkRank(rank: Rank, schema: JsonObject): void {
  switch (rank.type) {
    case "val":
    case "key":
    case "age":
      return;
    case "knn":
      checkKnn(rank, schema);
      return;
    case "nary":
      for (const operand of rank.operands) checkRank(operand, schema);
      return;
    case "binary":
      checkRank(rank.left, schema);
      checkRank(rank.right, schema);
      return;
    case "unary":
      checkRank(rank.operand, schema);
      return;
  }
}

/** One `$knn`, as `checkSearchAgainstSchema` does. */
export function checkKnn(knn: Knn, schema: JsonObject): void {
  const keyPath = memberPath(knn.path, "key");
  const queryPath = memberPath(knn.path, "query");
  if (knn.key === EMBEDDING_KEY) {
    if (knn.query.type === "sparse") throw invalid(queryPath, "must be dense for the key `#embedding`");
    return;
  }
  if (sparseIndexOf(schema, knn.key) !== null) {
    if (knn.query.type === "dense") {
      throw invalid(queryPath, `must be a sparse vector or a string for the sparse index '${knn.key}'`);
    }
    return;
  }
  const isListed = valueAt(schema, "keys", knn.key) !== undefined;
  if (knn.query.type === "sparse" && !knn.key.startsWith("#")) {
    throw indexingDisabled(keyPath, knn.key, "SparseVector");
  }
  throw invalid(
    keyPath,
    isListed
      ? `'${shownKey(knn.key)}' has no sparse index`
      : `'${shownKey(knn.key)}' is neither \`#embedding\` nor a sparse index${sparseIndexes(schema)}`,
  );
}

/** More would make a long message. */
const LISTED_KEYS = 10;

/** Those there are, as far as an error can list them. */
function sparseIndexes(schema: JsonObject): string {
  const keys = Object.keys(objectAt(schema, "keys") ?? {}).filter(
    (key) => sparseIndexOf(schema, key) !== null,
  );
  if (keys.length === 0) return " (there is none)";
  const listed = keys.slice(0, LISTED_KEYS).map((key) => `'${key}'`);
  return ` (there are ${[...listed, ...(keys.length > LISTED_KEYS ? ["…"] : [])].join(", ")})`;
}
